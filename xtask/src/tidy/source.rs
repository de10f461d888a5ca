//! The files that rules look at, with Rust text split into code and comments.

use crate::codegen;
use anyhow::{Context as _, bail};
use std::path::Path;
use std::process::Command;

/// One file of the repository.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// Size on disk in bytes.
    pub(crate) size_bytes: u64,
    /// Its text; empty for a file that is not text.
    pub(crate) text: String,
    /// `text` with comments and the inside of literals blanked; equal offsets. Empty unless the file is Rust.
    pub(crate) code: String,
    /// `text` with everything but comments blanked; equal offsets. Empty unless the file is Rust.
    pub(crate) comments: String,
}

impl SourceFile {
    /// A file with a text.
    pub(crate) fn new(path: &str, text: String) -> Self {
        let (code, comments) =
            if path.ends_with(".rs") { mask(&text) } else { (String::new(), String::new()) };
        Self { path: path.to_owned(), size_bytes: text.len() as u64, text, code, comments }
    }

    /// Whether the file is Rust.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the file is Rust that `cargo xtask codegen` writes.
    pub(crate) fn is_generated(&self) -> bool {
        codegen::is_generated(&self.path)
    }

    /// Line number, from 1, of a byte offset.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// Byte offset from which on the file is unit tests: 0 for a test file, the end where there are none.
    pub(crate) fn tests_start(&self) -> usize {
        let is_test_file = self.path.ends_with("/tests.rs")
            || self.path.contains("/tests/")
            || self.path.starts_with("tests/")
            || self.path.starts_with("crates/testkit/");
        if is_test_file { 0 } else { self.code.find("#[cfg(test)]").unwrap_or(self.code.len()) }
    }

    /// The string literal that starts at or after `offset` and before `end`, with its offset; escapes are left as they are.
    pub(crate) fn literal(&self, offset: usize, end: usize) -> Option<(usize, &str)> {
        let open = offset + self.code.get(offset..end)?.find('"')?;
        let close = open + 1 + self.code.get(open + 1..end)?.find('"')?;
        Some((open, &self.text[open + 1..close]))
    }

    /// Byte offset one past the bracket that closes the one at `open`.
    pub(crate) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (index, byte) in self.code.bytes().enumerate().skip(open) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
                _ => continue,
            }
            if depth == 0 {
                return Some(index + 1);
            }
        }
        None
    }
}

/// Offsets at which `word` stands in `code`, not as a part of a longer identifier.
pub(crate) fn find_words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let starts_as_word = part(word.as_bytes().first());
    let ends_as_word = part(word.as_bytes().last());
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let bytes = code.as_bytes();
        let glued_before = starts_as_word && at > 0 && part(bytes.get(at - 1));
        let glued_after = ends_as_word && part(bytes.get(at + word.len()));
        !glued_before && !glued_after
    })
}

/// Every file that git tracks or would track.
///
/// # Errors
/// Where git is missing or this is no clone.
pub(crate) fn load(root: &Path) -> anyhow::Result<Vec<SourceFile>> {
    // A clone owned by another user is fine: nothing of it is run here.
    let arguments =
        ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output =
        Command::new("git").args(arguments).current_dir(root).output().context("git is needed for tidy")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let listed = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut paths = listed.split('\0').filter(|path| !path.is_empty()).collect::<Vec<_>>();
    paths.sort_unstable();
    let files = paths.into_iter().map(|path| read(root, path));
    // A file deleted but not yet committed is listed and not there.
    files.filter_map(Result::transpose).collect()
}

fn read(root: &Path, path: &str) -> anyhow::Result<Option<SourceFile>> {
    let full = root.join(path);
    let Ok(metadata) = std::fs::symlink_metadata(&full) else { return Ok(None) };
    if !metadata.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
    let mut file = SourceFile::new(path, String::from_utf8(bytes).unwrap_or_default());
    file.size_bytes = metadata.len();
    Ok(Some(file))
}

/// Splits Rust text into (code, comments), each as long as `text` with the other part blanked.
fn mask(text: &str) -> (String, String) {
    let bytes = text.as_bytes();
    let blank = || bytes.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }).collect::<Vec<u8>>();
    let (mut code, mut comments) = (blank(), blank());
    let mut at = 0;
    while at < bytes.len() {
        let (end, kind) = token(bytes, at);
        match kind {
            Token::Code => code[at..end].copy_from_slice(&bytes[at..end]),
            Token::Comment => comments[at..end].copy_from_slice(&bytes[at..end]),
            // The quotes stay, so that a rule can find the literal.
            Token::Literal { open, close } => {
                code[at..=open].copy_from_slice(&bytes[at..=open]);
                code[close..end].copy_from_slice(&bytes[close..end]);
            }
        }
        at = end;
    }
    let text_of = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text_of(code), text_of(comments))
}

enum Token {
    Code,
    Comment,
    /// `open` and `close` are the offsets of the quotes.
    Literal {
        open: usize,
        close: usize,
    },
}

/// The token that starts at `at`: its end and its kind.
fn token(bytes: &[u8], at: usize) -> (usize, Token) {
    let rest = &bytes[at..];
    let after_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if rest.starts_with(b"//") {
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        return (at + length, Token::Comment);
    }
    if rest.starts_with(b"/*") {
        return (block_comment_end(bytes, at), Token::Comment);
    }
    if rest[0] == b'r' && (!after_word || matches!(bytes[at - 1], b'b' | b'c')) {
        let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            return raw_literal(bytes, at, hashes);
        }
    }
    if rest[0] == b'"' {
        return quoted(bytes, at, b'"');
    }
    if rest[0] == b'\'' && is_char_literal(rest) {
        return quoted(bytes, at, b'\'');
    }
    (at + 1, Token::Code)
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if bytes[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn raw_literal(bytes: &[u8], at: usize, hashes: usize) -> (usize, Token) {
    let open = at + 1 + hashes;
    let mut close = open + 1;
    while close < bytes.len() {
        let tail = &bytes[close + 1..];
        if bytes[close] == b'"' && tail.len() >= hashes && tail[..hashes].iter().all(|byte| *byte == b'#') {
            return (close + 1 + hashes, Token::Literal { open, close });
        }
        close += 1;
    }
    (bytes.len(), Token::Comment)
}

fn quoted(bytes: &[u8], at: usize, quote: u8) -> (usize, Token) {
    let mut close = at + 1;
    while close < bytes.len() {
        match bytes[close] {
            b'\\' => close += 1,
            byte if byte == quote => return (close + 1, Token::Literal { open: at, close }),
            _ => {}
        }
        close += 1;
    }
    (bytes.len(), Token::Comment)
}

/// `'a'` and `'\n'` are literals, `'a` is a lifetime.
fn is_char_literal(rest: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(&rest[1..rest.len().min(8)])
        .or_else(|error| std::str::from_utf8(&rest[1..1 + error.valid_up_to()]))
    else {
        return false;
    };
    let mut chars = text.chars();
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_comments_are_told_apart_at_equal_offsets() {
        let text = "let a = \"wrong!(\\\"x\\\")\"; // dbg!\nlet b = r#\"// \"no\" \"#; /* /* x */ y */ c('\"', 'é', '\\'');\nfn f<'a>(x: &'a str) {}\n";
        let file = SourceFile::new("a.rs", text.to_owned());
        assert_eq!(file.code.len(), text.len());
        assert_eq!(file.comments.len(), text.len());
        assert!(!file.code.contains("wrong") && !file.code.contains("dbg") && !file.code.contains("no"));
        assert!(file.code.contains("fn f<'a>(x: &'a str) {}"), "{}", file.code);
        assert!(file.comments.contains("// dbg!") && file.comments.contains("/* /* x */ y */"));
        assert!(!file.comments.contains("wrong"));
        assert_eq!(file.line_of(text.find("fn f").unwrap()), 3);
    }

    #[test]
    fn words_are_found_whole() {
        let found = |code, word| find_words(code, word).collect::<Vec<_>>();
        assert_eq!(found("unsafe_code unsafe { }", "unsafe"), [12]);
        assert_eq!(found("a.unsafe_", "unsafe"), [0_usize; 0]);
        assert_eq!(found("xdbg!(1) dbg!(2)", "dbg!("), [9]);
    }

    #[test]
    fn brackets_inside_literals_do_not_count() {
        let file = SourceFile::new("a.rs", "f(\")\", ')', (1)) + 2".to_owned());
        assert_eq!(file.closing(1), Some(16));
        assert_eq!(file.literal(1, 16), Some((2, ")")));
    }
}
