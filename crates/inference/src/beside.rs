//! What was measured of a model, as files of JSON in its folder. They are not among the files that its revision is made of.

use crate::mapped::read_file;
use groundline_types::{Code, Problem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a file of a model's folder; `None` where there is none. `fault` says what a record has that cannot be, and `command` what makes
/// it anew.
///
/// # Errors
/// [`Code::MODEL_CORRUPT`] where the file cannot be read, is malformed, or has such a fault.
pub(crate) fn read<T: DeserializeOwned>(
    folder: &Path,
    file: &str,
    command: &str,
    fault: impl Fn(&T) -> Option<&'static str>,
) -> Result<Option<T>, Problem> {
    let Some(bytes) = read_file(&folder.join(file))? else { return Ok(None) };
    let corrupt = |what: &str| {
        let message = format!("{file} of the model {what}; remove it and make it anew with `{command}`");
        Problem::new(Code::MODEL_CORRUPT, message)
    };
    let record: T = serde_json::from_slice(&bytes).map_err(|_| corrupt("is malformed"))?;
    match fault(&record) {
        Some(what) => Err(corrupt(what)),
        None => Ok(Some(record)),
    }
}

/// Writes a file into a model's folder.
///
/// # Errors
/// [`Code::UNWRITABLE_OUTPUT`] where it cannot be written.
pub(crate) fn write(record: &impl Serialize, folder: &Path, file: &str) -> Result<(), Problem> {
    let path = folder.join(file);
    let failed = |error: String| {
        Problem::new(Code::UNWRITABLE_OUTPUT, format!("cannot write {}: {error}", path.display()))
    };
    let text = serde_json::to_string_pretty(record).map_err(|error| failed(error.to_string()))?;
    std::fs::write(&path, text + "\n").map_err(|error| failed(error.to_string()))
}
