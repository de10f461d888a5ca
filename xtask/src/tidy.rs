//! `cargo xtask tidy`: the house rules of docs/style.md as a program. It also runs as a unit test.

mod dead;
mod edges;
mod functions;
mod layout;
mod pages;
mod source;
mod texts;
mod usage;

use crate::cargo;
use anyhow::{Context as _, bail};
use source::SourceFile;
use std::path::Path;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Where, from the root of the repository.
    path: String,
    /// Line, from 1.
    line: usize,
    /// Name of the rule.
    rule: &'static str,
    /// What to do.
    message: String,
    /// Whether it only warns.
    warning: bool,
}

impl Finding {
    fn error(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, message: message.into(), warning: false }
    }

    fn warning(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::error(path, line, rule, message) }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.warning { " (warning)" } else { "" };
        write!(f, "{}:{}: {}{word}: {}", self.path, self.line, self.rule, self.message)
    }
}

/// Prints every finding and fails where one is an error.
pub(crate) fn command(root: &Path) -> anyhow::Result<()> {
    let findings = check(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| !finding.warning).count();
    println!("tidy: {errors} errors, {} warnings", findings.len() - errors);
    if errors > 0 {
        bail!("the repository is not tidy; the rules and their reasons are in docs/style.md");
    }
    Ok(())
}

/// Applies every rule to the repository at `root`.
fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let files = source::load(root)?;
    let metadata = cargo_metadata(root)?;
    let mut findings = layout::check(&files);
    findings.extend(functions::check(&files));
    findings.extend(usage::check(&files));
    findings.extend(texts::check(&files));
    findings.retain(|finding| !is_matter_of_style(finding, &files));
    findings.extend(edges::check(&metadata, &files)?);
    let mut roots = dead::roots(&metadata, root)?;
    roots.extend(dead::roots_outside(&files));
    findings.extend(dead::check(&roots, &files));
    findings.extend(pages::check(&files));
    findings.sort();
    Ok(findings)
}

/// Whether a finding is about how Rust is written that nobody writes: a test holds such a file to what its generator says.
fn is_matter_of_style(finding: &Finding, files: &[SourceFile]) -> bool {
    finding.rule != "file-size" && files.iter().any(|file| file.path == finding.path && file.is_generated())
}

/// The workspace's own packages, without resolving dependencies: works offline.
fn cargo_metadata(root: &Path) -> anyhow::Result<serde_json::Value> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let output = cargo(root).args(arguments).output().context("cannot start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata gave no JSON")
}

#[cfg(test)]
mod tests;
