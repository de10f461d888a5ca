//! Length of functions.

use super::Finding;
use super::source::{SourceFile, find_words};

/// Longer functions are reported.
const WARN_LINES: usize = 70;
/// Longer functions fail.
const FAIL_LINES: usize = 100;

/// Reports long functions.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().filter(|file| file.is_rust()).flat_map(of_file).collect()
}

fn of_file(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for at in find_words(&file.code, "fn") {
        let Some((name, body)) = body_of(&file.code, at) else { continue };
        let Some(end) = file.closing(body) else { continue };
        let (first, last) = (file.line_of(at), file.line_of(end - 1));
        let lines = last - first + 1;
        let message = format!("`{name}` has {lines} lines; split it ({WARN_LINES} is the aim)");
        if lines > FAIL_LINES {
            findings.push(Finding::error(&file.path, first, "long-function", message));
        } else if lines > WARN_LINES {
            findings.push(Finding::warning(&file.path, first, "long-function", message));
        }
    }
    findings
}

/// Name and opening brace of the function whose keyword stands at `at`; `None` for a declaration or a function type.
fn body_of(code: &str, at: usize) -> Option<(&str, usize)> {
    let rest = &code[at + 2..];
    let name = rest.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    if name.is_empty() {
        return None;
    }
    let mut depth = 0_i32;
    for (index, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some((name, at + 2 + index)),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn function(lines: usize) -> SourceFile {
        let body = "    x();\n".repeat(lines - 2);
        file("a.rs", &format!("trait T {{ fn d(&self) -> [u8; 3]; }}\nfn f(a: fn(u8)) {{\n{body}}}\n"))
    }

    #[test]
    fn a_long_function_warns_and_a_very_long_one_fails() {
        assert!(check(&[function(70)]).is_empty());
        let warned = check(&[function(71)]);
        assert_eq!((warned.len(), warned[0].line, warned[0].warning), (1, 2, true));
        assert!(warned[0].message.contains("`f` has 71 lines"));
        assert!(check(&[function(100)])[0].warning);
        assert!(!check(&[function(101)])[0].warning);
    }
}
