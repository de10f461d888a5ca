//! Reading whole text files, bounded.

use super::{display_name, is_stdin};
use crate::failure::io_reason;
use groundline_types::{Code, Limits, Problem};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// What is refused as too large.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputLimits {
    /// Limits of a request.
    pub(crate) request: Limits,
    /// Longest line of a JSONL file, and largest JSON document, in bytes.
    pub(crate) line_bytes: usize,
}

/// Opens a file or standard input.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>, Problem> {
    if is_stdin(path) {
        return Ok(Box::new(io::stdin()));
    }
    File::open(path)
        .map(|file| Box::new(file) as Box<dyn Read + Send>)
        .map_err(|error| unreadable(path, &error))
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(Code::UNREADABLE_FILE, format!("cannot read {}: {}", display_name(path), io_reason(error)))
}

/// Reads a text of at most `limit_bytes`; no more than that is ever held. A byte order mark stays: offsets count in the file.
pub(crate) fn read_text(path: &Path, limit_bytes: usize) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(limit_bytes).unwrap_or(u64::MAX).saturating_add(1);
    open(path)?.take(bound).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    let name = display_name(path);
    if bytes.len() > limit_bytes {
        return Err(Problem::new(
            Code::TOO_LARGE,
            format!("{name} has more than {limit_bytes} bytes, the limit"),
        ));
    }
    utf8(bytes).map_err(|problem| Problem::new(problem.code, format!("{name}: {}", problem.message)))
}

/// The text of bytes: valid UTF-8 without NUL.
pub(super) fn utf8(bytes: Vec<u8>) -> Result<String, Problem> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let message = format!("a NUL byte at byte {at}; is it a binary file?");
        return Err(Problem::new(Code::NUL_BYTE, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::new(Code::INVALID_UTF8, format!("not valid UTF-8: the byte at {at} begins no character"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn code_of(bytes: &[u8], limit: usize) -> Result<String, Code> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.txt");
        fs::write(&path, bytes).unwrap();
        read_text(&path, limit).map_err(|problem| {
            assert!(problem.message.contains("text.txt"), "{}", problem.message);
            problem.code
        })
    }

    #[test]
    fn each_kind_of_bad_file_has_its_code() {
        assert_eq!(code_of(b"caf\xe9", 100), Err(Code::INVALID_UTF8));
        assert_eq!(code_of(b"a\0b", 100), Err(Code::NUL_BYTE));
        assert_eq!(code_of(b"12345", 4), Err(Code::TOO_LARGE));
        assert_eq!(code_of(b"1234", 4).as_deref(), Ok("1234"));
        assert_eq!(code_of("\u{feff}a".as_bytes(), 10).as_deref(), Ok("\u{feff}a"));
    }

    #[test]
    fn a_missing_file_and_a_folder_are_unreadable() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_text(&folder.path().join("none"), 9).unwrap_err().code, Code::UNREADABLE_FILE);
        assert_eq!(read_text(folder.path(), 9).unwrap_err().code, Code::UNREADABLE_FILE);
    }
}
