//! Texts that people read: errors, logs, comments, and paths that only one machine has.

use super::Finding;
use super::source::{SourceFile, find_words};

/// Calls whose first literal is an error text.
const ERROR_CALLS: [&str; 3] = ["#[error(", "Problem::new(", "Reason::new("];
/// Calls whose last literal is a log text.
const LOG_CALLS: [&str; 5] = ["error!(", "warn!(", "info!(", "debug!(", "trace!("];
/// Names that are written with a capital where they begin a text.
const NAMES: [&str; 2] = ["Groundline", "Python"];
/// Files that are data or generated, whose content nobody here wrote.
const DATA: [&str; 3] = [".json", ".jsonl", ".lock"];

/// Reports error and log texts of another style, em dashes in comments, and paths of one machine.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let rules = [error_texts, em_dashes, machine_paths];
    files.iter().flat_map(|file| rules.iter().flat_map(move |rule| rule(file))).collect()
}

fn error_texts(file: &SourceFile) -> Vec<Finding> {
    let logic = &file.code[..file.tests_start()];
    let mut findings = Vec::new();
    for call in ERROR_CALLS.iter().chain(&LOG_CALLS) {
        for at in find_words(logic, call) {
            let open = at + call.len() - 1;
            let Some(end) = file.closing(open) else { continue };
            let text = if LOG_CALLS.contains(call) {
                last_literal(file, open, end)
            } else {
                file.literal(open, end)
            };
            if let Some((offset, message)) = text.and_then(|(at, text)| Some((at, complaint(text)?))) {
                findings.push(Finding::error(&file.path, file.line_of(offset), "error-text", message));
            }
        }
    }
    findings
}

fn last_literal(file: &SourceFile, open: usize, end: usize) -> Option<(usize, &str)> {
    let mut last = None;
    let mut from = open;
    while let Some((at, text)) = file.literal(from, end) {
        last = Some((at, text));
        from = at + text.len() + 2;
    }
    last
}

/// What is wrong with an error or log text. It reads after "failed to" or a path, inside a sentence.
fn complaint(text: &str) -> Option<&'static str> {
    let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mut letters = first.chars();
    let capital = letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase);
    if capital && first.len() > 1 && !NAMES.contains(&first) {
        return Some("start it with a small letter: it reads inside a sentence");
    }
    if text.ends_with('.') && !text.ends_with("...") {
        return Some("leave the full stop out: it reads inside a sentence");
    }
    None
}

fn em_dashes(file: &SourceFile) -> Vec<Finding> {
    let places = file.comments.match_indices('—');
    let what = "use a colon, a comma or two sentences";
    places.map(|(at, _)| Finding::error(&file.path, file.line_of(at), "em-dash", what)).collect()
}

/// Absolute paths of one machine. Put together here, so that this file does not hold them.
fn machine_paths(file: &SourceFile) -> Vec<Finding> {
    if DATA.iter().any(|end| file.path.ends_with(end)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (path, absolute) in [(["/wo", "rk/"], true), (["/ro", "ot/"], true), (["../sh", "ared"], false)] {
        for (at, _) in file.text.match_indices(&path.concat()) {
            let glued = file.text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~/}".contains(c));
            if !(absolute && glued) {
                let what = "nobody else has this path; make it relative to the repository or an option";
                findings.push(Finding::error(&file.path, file.line_of(at), "machine-path", what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
