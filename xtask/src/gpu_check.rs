//! `cargo xtask gpu-check`: what a machine with a GPU is asked, once there is one.
//!
//! Everything is built and packed into one folder first, so that a machine that is there for minutes only runs: the program
//! `gpu-check` (benches/src/bin/gpu_check) with the engine in it, the kernels' host twins as a library, groundline-mini, pairs, and
//! the peers' script. Without a GPU it says so and fails.

use crate::cargo;
use crate::kernels::library;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Say what would be run; build and run nothing
    #[arg(long)]
    plan: bool,
    /// Build and pack, and run nothing: the folder is for another machine
    #[arg(long)]
    pack: bool,
    /// The number of the GPU
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: usize,
}

/// What fits through a narrow door.
const MOST_BYTES: u64 = 64 << 20;
const PROGRAM: &str = "gpu-check";
/// Files that are packed as they are.
const FILES: [(&str, &str); 2] =
    [("benches/data/pairs.jsonl.gz", "pairs.jsonl.gz"), ("benches/peers/gpu_torch.py", "gpu_torch.py")];
const MODEL: &str = "models/groundline-mini";

/// The parts, for `--plan`: a test of the program holds them to this.
const PLAN: &str = "\
1. build the program gpu-check and the kernels' host twins, and pack them with groundline-mini and pairs into a folder below 64 MiB
2. on a machine with a GPU, at most six minutes:
   conformance each wrapper of an instruction, alone, against its host twin
   kernels     every kernel of the module, alone, in every variant, against f64
   steps       every kernel and product of a pass, each alone, against the kernels' host twins
   gelu        which GELU the epilogue of cublasLt computes
   model       groundline-mini on the GPU against the CPU engine, 500 pairs
   attention   time of each kind of step, v3-large, 64 to 512 tokens
   throughput  pairs a second of v3-large, base, small, xsmall and groundline-mini, and their share of the roofline
   peers       the same in this machine's PyTorch with transformers, fp16, where it is there
3. hold it against what is wanted (three times transformers, a share of the roofline), and write what was found to benches/results/gpu-check.json";

/// Packs, and runs where there is a GPU.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    if options.plan {
        println!("{PLAN}");
        return Ok(());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join(PROGRAM);
    pack(root, &target, &folder)?;
    let bytes = size_of_folder(&folder)?;
    println!("packed {:.1} MiB into {}", bytes as f64 / f64::from(1 << 20), folder.display());
    if bytes > MOST_BYTES {
        bail!("that is more than {} MiB", MOST_BYTES >> 20);
    }
    if options.pack {
        println!("on a machine with a GPU: ./{PROGRAM} --folder . --output gpu-check.json");
        return Ok(());
    }
    let output = root.join("benches/results/gpu-check.json");
    let mut command = Command::new(folder.join(PROGRAM));
    command.arg("--folder").arg(&folder).arg("--output").arg(output);
    let status = command.arg("--device").arg(options.device.to_string()).status()?;
    if !status.success() {
        bail!("the GPU was not checked, or is not right ({status}); see above");
    }
    Ok(())
}

fn pack(root: &Path, target: &Path, folder: &Path) -> anyhow::Result<()> {
    if folder.try_exists()? {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder.join("model"))?;
    let mut build = cargo(root);
    build.args(["build", "--release", "--package", "benches", "--features", "cuda", "--bin", PROGRAM]);
    if !build.status().context("cannot start cargo")?.success() {
        bail!("{PROGRAM} does not build");
    }
    std::fs::copy(target.join("release").join(PROGRAM), folder.join(PROGRAM))?;
    strip(&folder.join(PROGRAM))?;
    library(root, &folder.join("kernels.so"))?;
    for (from, to) in FILES {
        std::fs::copy(root.join(from), folder.join(to)).with_context(|| format!("copy {from}"))?;
    }
    for entry in std::fs::read_dir(root.join(MODEL))? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            std::fs::copy(&path, folder.join("model").join(name))?;
        }
    }
    Ok(())
}

/// Takes what is only for debuggers out of a program: five sixths of it, without which it would not fit.
fn strip(program: &Path) -> anyhow::Result<()> {
    let status = Command::new("strip").arg("--strip-all").arg(program).status();
    let status = status.context("cannot start strip, which comes with the C++ compiler's binutils")?;
    if !status.success() {
        bail!("strip failed ({status})");
    }
    Ok(())
}

fn size_of_folder(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        bytes += if path.is_dir() { size_of_folder(&path)? } else { path.metadata()?.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_names_every_part_of_the_program_and_what_is_packed_is_there() {
        let root = crate::repository_root().unwrap();
        let parts = std::fs::read_to_string(root.join("benches/src/bin/gpu_check/parts.rs")).unwrap();
        let names: Vec<&str> = parts
            .split("Part {\n        name: \"")
            .skip(1)
            .map(|part| part.split('"').next().unwrap())
            .collect();
        assert_eq!(names.len(), 8);
        for name in names {
            assert!(PLAN.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
        }
        for (file, _) in FILES {
            assert!(root.join(file).is_file(), "{file}");
        }
    }

    /// Program and library are some 9 MiB; building them for this test would take minutes.
    #[test]
    fn what_is_packed_as_it_is_leaves_room_for_the_program() {
        const PROGRAM_BYTES: u64 = 16 << 20;
        let root = crate::repository_root().unwrap();
        let files: u64 = FILES.iter().map(|(file, _)| root.join(file).metadata().unwrap().len()).sum();
        let bytes = files + size_of_folder(&root.join(MODEL)).unwrap();
        assert!(bytes + PROGRAM_BYTES < MOST_BYTES, "{bytes} bytes");
    }

    #[test]
    fn a_program_that_was_stripped_is_smaller_and_still_runs() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("main.rs"), folder.path().join("program"));
        std::fs::write(&source, "fn main() { std::process::exit(7) }").unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let built = Command::new(rustc).args(["-g", "-o"]).arg(&program).arg(&source).status().unwrap();
        assert!(built.success());
        let before = program.metadata().unwrap().len();
        strip(&program).unwrap();
        assert!(program.metadata().unwrap().len() < before);
        assert_eq!(Command::new(&program).status().unwrap().code(), Some(7));
    }
}
