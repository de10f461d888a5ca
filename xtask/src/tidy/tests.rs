use super::source::SourceFile;
use super::*;

/// `path:line: rule` of each finding.
pub(super) fn brief(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.rule)).collect()
}

/// One file with a text.
pub(super) fn file(path: &str, text: &str) -> SourceFile {
    SourceFile::new(path, text.to_owned())
}

#[test]
fn the_repository_is_tidy() {
    let root = crate::repository_root().unwrap();
    let errors = check(&root).unwrap().into_iter().filter(|finding| !finding.warning).collect::<Vec<_>>();
    let shown = errors.iter().map(Finding::to_string).collect::<Vec<_>>().join("\n");
    assert!(errors.is_empty(), "{} errors:\n{shown}", errors.len());
}

#[test]
fn a_finding_reads_as_path_line_rule_and_what_to_do() {
    let error = Finding::error("a.rs", 3, "tab", "use spaces");
    assert_eq!(error.to_string(), "a.rs:3: tab: use spaces");
    assert_eq!(Finding::warning("a.rs", 3, "tab", "x").to_string(), "a.rs:3: tab (warning): x");
}
