//! `groundline models convert`: pickled weights into safetensors, by a script that needs Python and nothing else.

use crate::failure::{EXIT_OK, Failure};
use crate::output::{Sink, one_line, push};
use groundline_types::{Code, PRESETS, Preset, Problem};
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("convert.py");

/// What to convert.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// The pickled weights.
    pub(crate) file: PathBuf,
    /// The folder to make.
    pub(crate) folder: PathBuf,
    /// The learned detector that they are.
    pub(crate) preset: Option<String>,
    /// Where a tokenizer.json and config.json are that they come without.
    pub(crate) base: Option<PathBuf>,
}

/// Converts, and says what was made.
pub(crate) fn run(conversion: &Conversion, sink: &mut Sink) -> Result<u8, Failure> {
    let preset = known_preset(conversion.preset.as_deref())?;
    if !conversion.file.is_file() {
        let message = format!("there is no file {}", conversion.file.display());
        return Err(Problem::new(Code::MODEL_NOT_FOUND, message).into());
    }
    let base = conversion.base.as_deref().unwrap_or(Path::new(""));
    // Isolated: no packages, no settings and no folder of the user's are read.
    let output = Command::new("python3")
        .args(["-I", "-c", SCRIPT])
        .args([&conversion.file, &conversion.folder])
        .arg(preset)
        .arg(base)
        .output()
        .map_err(|error| {
            let message = format!("cannot run python3, which reads pickled weights: {error}");
            Problem::new(Code::MODEL_UNSUPPORTED, message)
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("the script ended without a word");
        let message = format!("cannot convert {}: {last}", conversion.file.display());
        return Err(Problem::new(Code::MODEL_CORRUPT, message).into());
    }
    let mut text = String::new();
    let made = one_line(&conversion.folder.display().to_string());
    let said = String::from_utf8_lossy(&output.stdout);
    push(&mut text, format_args!("{made} has {}\n", one_line(said.trim())));
    push(&mut text, format_args!("    next  groundline models verify {made}\n"));
    sink.write(&text)?;
    Ok(EXIT_OK)
}

/// The name of a preset that there is; empty for none.
fn known_preset(name: Option<&str>) -> Result<&'static str, Failure> {
    let Some(name) = name else { return Ok("") };
    match Preset::from_name(name) {
        Some(preset) => Ok(preset.name()),
        None => Err(Failure::Usage(
            format!("there is no preset {}", one_line(name)),
            format!("those there are: {}", PRESETS.map(|info| info.name).join(", ")),
        )),
    }
}
