//! Sizes of files and of the tree, and white space.

use super::Finding;
use super::source::SourceFile;

/// Longer Rust files are reported.
const WARN_LINES: usize = 400;
/// Longer Rust files fail.
const FAIL_LINES: usize = 600;
/// Larger files fail, but for those under [`LARGE_FILES`].
const FILE_BYTES: u64 = 1 << 20;
/// Everything together, each file in whole blocks, as it lies on a disk.
const TREE_BYTES: u64 = 60 << 20;
const BLOCK_BYTES: u64 = 4096;
/// Where files may be large, and why.
const LARGE_FILES: [(&str, &str); 3] = [
    ("models/", "the shipped model's weights"),
    ("tests/golden/checkpoints/", "tiny checkpoints with reference logits"),
    ("benches/data/", "pairs for the benchmark"),
];
/// Files that people write, by the end of their name.
const WRITTEN: [&str; 8] = [".rs", ".md", ".toml", ".py", ".sh", ".yaml", ".yml", ".ci/run"];
/// Inputs whose odd white space may be the point of them.
const INPUTS: [&str; 2] = ["examples/", "tests/data/"];

/// Reports large files, a large tree, tabs, trailing white space and missing final newlines.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = files.iter().flat_map(of_file).collect::<Vec<_>>();
    let total: u64 = files.iter().map(|file| file.size_bytes.next_multiple_of(BLOCK_BYTES)).sum();
    if total > TREE_BYTES {
        let message = format!("the tree takes {total} bytes, the limit is {TREE_BYTES}; take something out");
        findings.push(Finding::error(".", 1, "tree-size", message));
    }
    findings
}

fn of_file(file: &SourceFile) -> Vec<Finding> {
    let path = file.path.as_str();
    let mut findings = Vec::new();
    if file.size_bytes > FILE_BYTES && !LARGE_FILES.iter().any(|(prefix, _)| path.starts_with(prefix)) {
        let message =
            format!("{} bytes, the limit is {FILE_BYTES}; keep it out of the tree", file.size_bytes);
        findings.push(Finding::error(path, 1, "file-size", message));
    }
    if file.is_rust() {
        findings.extend(length(file));
    }
    if WRITTEN.iter().any(|end| path.ends_with(end)) && !INPUTS.iter().any(|prefix| path.starts_with(prefix))
    {
        findings.extend(white_space(file));
    }
    findings
}

fn length(file: &SourceFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    let message =
        format!("{lines} lines; split it by concept ({WARN_LINES} is the aim, {FAIL_LINES} the limit)");
    if lines > FAIL_LINES {
        Some(Finding::error(&file.path, 1, "long-file", message))
    } else if lines > WARN_LINES {
        Some(Finding::warning(&file.path, 1, "long-file", message))
    } else {
        None
    }
}

fn white_space(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.split('\n').enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(Finding::error(&file.path, index + 1, "trailing-space", "remove it"));
        }
        if file.is_rust() && line.contains('\t') {
            findings.push(Finding::error(&file.path, index + 1, "tab", "use spaces, and \\t in literals"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let last = file.text.lines().count();
        findings.push(Finding::error(&file.path, last, "final-newline", "end the file with a newline"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::{brief, file};
    use super::*;

    #[test]
    fn white_space_that_nobody_sees_is_reported() {
        let bad = [file("a.rs", "x \n\ty"), file("b.md", "x\r\n")];
        assert_eq!(
            brief(&check(&bad)),
            ["a.rs:1: trailing-space", "a.rs:2: tab", "a.rs:2: final-newline", "b.md:1: trailing-space"]
        );
        let good = [file("a.rs", "x\n"), file("data.txt", "x \n"), file("examples/windows.md", "x\r\n")];
        assert!(check(&good).is_empty());
    }

    #[test]
    fn a_file_over_400_lines_warns_and_over_600_fails() {
        let rust = |lines: usize| check(&[file("a.rs", &"x\n".repeat(lines))]);
        assert!(rust(400).is_empty());
        assert!(rust(401)[0].warning && rust(600)[0].warning);
        assert!(!rust(601)[0].warning);
        assert!(check(&[file("a.md", &"x\n".repeat(700))]).is_empty());
    }

    #[test]
    fn large_files_are_refused_outside_their_places() {
        let sized = |path: &str, size_bytes| SourceFile { size_bytes, ..file(path, "") };
        assert_eq!(brief(&check(&[sized("docs/film.bin", (1 << 20) + 1)])), ["docs/film.bin:1: file-size"]);
        assert!(check(&[sized("docs/film.bin", 1 << 20), sized("models/m/w", 50 << 20)]).is_empty());
        let heavy = [sized("models/a", 31 << 20), sized("models/b", 31 << 20)];
        assert_eq!(brief(&check(&heavy)), [".:1: tree-size"]);
        let mut full = vec![sized("models/a", (60 << 20) - 4096), sized("b.txt", 1)];
        assert!(check(&full).is_empty());
        full.push(sized("c.txt", 1));
        assert_eq!(brief(&check(&full)), [".:1: tree-size"], "a byte takes a block");
    }
}
