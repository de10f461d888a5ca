//! Files of text that a model is measured with.

use groundline_types::{Code, Problem};
use std::path::Path;

/// The whole file.
///
/// # Errors
/// [`Code::UNREADABLE_FILE`] and [`Code::INVALID_UTF8`].
pub(super) fn read_text(path: &Path) -> Result<String, Problem> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Problem::new(Code::UNREADABLE_FILE, format!("cannot read {shown}: {error}")))?;
    String::from_utf8(bytes)
        .map_err(|_| Problem::new(Code::INVALID_UTF8, format!("{shown} is not valid UTF-8")))
}

/// The name of a file without its folder, for a record: it names no path of a machine.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
