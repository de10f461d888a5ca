//! `cargo xtask kernels`: NVIDIA's compiler over the kernels, without a GPU.
//!
//! `compile.py` compiles them for every target, looks at what came out (registers, spills, local memory, tensor core
//! instructions), and compares with what is committed in kernels/gen. It needs python3 with venv, and a package index the first
//! time.

use super::Trouble;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do with what was compiled.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Write kernels/gen instead of comparing with it
    #[arg(long)]
    write: bool,
}

/// What is installed from PyPI. CUDA 13.0, so that its PTX 9.0 runs on every driver of CUDA 13; of the disassemblers there is no
/// package of 13.0, and these read its output.
const PACKAGES: [&str; 3] =
    ["nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-cuobjdump==13.2.86", "nvidia-cuda-nvdisasm==13.2.86"];
const COMPILE: &str = include_str!("compile.py");

/// Compiles, and compares or writes.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), Trouble> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let python = environment(&target.join("kernels-venv")).map_err(Trouble::Tools)?;
    let mut command = Command::new(python);
    command.args(["-c", COMPILE]).arg(root.join("kernels"));
    if options.write {
        command.arg("--write");
    }
    start(&mut command).map_err(Trouble::Kernels)
}

/// The interpreter of an environment that has the packages.
fn environment(folder: &Path) -> anyhow::Result<PathBuf> {
    let python = folder.join("bin").join("python");
    let marker = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    if !cfg!(target_os = "linux") {
        bail!("the compiler's packages are for Linux");
    }
    start(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    start(Command::new(&python).args(pip).args(PACKAGES))?;
    std::fs::write(&marker, wanted)?;
    Ok(python)
}

fn start(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} failed ({status})");
    }
    Ok(())
}
