//! Reading requests: from text files, from options, from JSON and JSONL.

mod lines;
mod records;
mod texts;

pub(crate) use records::{Record, spawn_reader};
pub(crate) use texts::{InputLimits, read_text};

use std::path::Path;

/// Where in the input something stands, for messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The file, where there is one.
    pub(crate) file: Option<String>,
    /// The line of a JSONL file, from 1.
    pub(crate) line: Option<usize>,
    /// The item of a JSON list, from 1.
    pub(crate) item: Option<usize>,
}

impl Position {
    /// `answers.jsonl, line 3`; `None` where there is nothing to name.
    pub(crate) fn describe(&self) -> Option<String> {
        let line = self.line.map(|line| format!("line {line}"));
        let item = self.item.map(|item| format!("item {item}"));
        let parts = [self.file.clone(), line, item].into_iter().flatten().collect::<Vec<_>>();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The id of a request that has none: its place.
    pub(crate) fn made_id(&self) -> String {
        match (self.line, self.item) {
            (Some(line), _) => format!("line-{line}"),
            (None, Some(item)) => format!("item-{item}"),
            (None, None) => "response".to_owned(),
        }
    }
}

/// Whether a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of an input for messages.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Whether two paths lead to one regular file, by whatever name: a link, another spelling, or standard input that a file was
/// redirected to. Paths that lead nowhere are no file.
pub(crate) fn is_same_file(input: &Path, output: &Path) -> bool {
    let input = if is_stdin(input) { Path::new("/dev/stdin") } else { input };
    let is_file = |path: &Path| std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file(input) && is_file(output) && identity(input).is_some_and(|one| Some(one) == identity(output))
}

/// Device and number of a file.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The one true spelling of a path.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::path::PathBuf> {
    path.canonicalize().ok()
}
