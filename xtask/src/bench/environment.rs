//! What the benchmark needs around it: Python with the peers, the ONNX file, the machine's description.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instruction sets worth naming in a result.
const FEATURES: [&str; 7] = ["avx2", "fma", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "asimd"];

/// Cargo's target folder.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// Makes the Python environment of benches/requirements.txt where it is not there yet; its interpreter.
pub(crate) fn ensure(root: &Path) -> anyhow::Result<PathBuf> {
    let environment = target(root).join("bench-venv");
    let python = environment.join("bin/python");
    let wanted = root.join("benches/requirements.txt");
    let stamp = environment.join("installed-requirements.txt");
    let text = std::fs::read_to_string(&wanted).context("cannot read benches/requirements.txt")?;
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == text) {
        return Ok(python);
    }
    println!("installing PyTorch, transformers and onnxruntime: some minutes and about 6 GB, once");
    let venv = Command::new("python3").args(["-m", "venv"]).arg(&environment).status();
    if !venv.context("python3 is needed (3.10 or newer, with its venv module)")?.success() {
        bail!("python3 -m venv failed; is the package python3-venv installed?");
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    if !Command::new(&python).args(install).arg(&wanted).status()?.success() {
        bail!("pip could not install benches/requirements.txt");
    }
    std::fs::write(&stamp, text).context("cannot write into the Python environment")?;
    Ok(python)
}

/// Makes random weights of a layout and shape where that has not been done; their folder.
pub(super) fn ensure_random(
    root: &Path,
    python: &Path,
    layout: &str,
    shape: &str,
) -> anyhow::Result<PathBuf> {
    let folder = target(root).join("bench-models").join(format!("random-{layout}-{shape}"));
    // Written last, so that a folder that has it is whole.
    if folder.join("tokenizer.json").try_exists()? {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder)?;
    println!("making random weights: {layout}, {shape}");
    let tokenizer = root.join("models/groundline-mini/tokenizer.json");
    let mut command = Command::new(python);
    command.arg(root.join("benches/peers/layouts.py")).args([layout, shape]).arg(tokenizer).arg(&folder);
    let output = command.output()?;
    if !output.status.success() {
        bail!("no random weights:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(folder)
}

/// The last part of a model folder's path.
pub(crate) fn name(model: &Path) -> anyhow::Result<String> {
    Ok(model.canonicalize()?.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Exports the model to ONNX where that has not been done for these weights; the file.
pub(super) fn ensure_onnx(root: &Path, python: &Path, model: &Path) -> anyhow::Result<PathBuf> {
    let name = name(model)?;
    let folder = target(root).join("bench-onnx");
    std::fs::create_dir_all(&folder)?;
    let onnx = folder.join(format!("{name}-{}.onnx", fingerprint(model)?));
    if onnx.try_exists()? {
        return Ok(onnx);
    }
    let script = root.join("benches/peers/onnx_export.py");
    let output = Command::new(python).arg(script).arg(model).arg(&onnx).output()?;
    if !output.status.success() {
        // The exporter tells much; it matters only where it fails.
        bail!("the model could not be exported to ONNX:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(onnx)
}

/// Changes when the folder's configuration or weights do: sizes and times of change, which is enough for a cache of one
/// developer's machine.
fn fingerprint(model: &Path) -> anyhow::Result<String> {
    let mut sum = 0_u64;
    for entry in std::fs::read_dir(model).context("cannot read the model's folder")? {
        let metadata = entry?.metadata()?;
        let modified = metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // A sum, because the order of a folder is not fixed.
        sum = sum.wrapping_add(metadata.len().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ modified.as_secs());
    }
    Ok(format!("{sum:016x}"))
}

/// The machine and the day, without names or paths of it.
pub(crate) fn machine(python: &Path, ours: &Value) -> anyhow::Result<Value> {
    let script = "import datetime, platform; print(datetime.date.today(), platform.python_version())";
    let output = Command::new(python).args(["-c", script]).output().context("cannot start Python")?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let (date, python) = output.trim().split_once(' ').context("Python gave no date")?;
    let mut machine = hardware();
    machine["date"] = json!(date);
    machine["isa"] = ours["isa"].clone();
    machine["python"] = json!(python);
    Ok(machine)
}

/// The processor, without names or paths of the machine.
pub(crate) fn hardware() -> Value {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name| cpu_field(&info, name).unwrap_or("unknown");
    let flags = field("flags").split(' ').collect::<Vec<_>>();
    let features = FEATURES.iter().filter(|feature| flags.contains(*feature)).collect::<Vec<_>>();
    json!({
        "cpu": field("model name"),
        "cpu_family_model": format!("{}/{}", field("cpu family"), field("model")),
        "features": features,
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
    })
}

fn cpu_field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let of_line = |line: &'a str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    };
    info.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_cpuinfo_is_found_by_its_whole_name() {
        let info = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nflags\t: fpu avx2\n";
        assert_eq!(cpu_field(info, "model"), Some("1"));
        assert_eq!(cpu_field(info, "model name"), Some("AMD EPYC"));
        assert_eq!(cpu_field(info, "cache"), None);
    }
}
