//! `cargo xtask test`: everything that must hold before a change lands, cheapest first.

use crate::{cargo, charts, kernels, tidy};
use anyhow::bail;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Leave clippy out.
    #[arg(long)]
    fast: bool,
}

/// What became of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepOutcome {
    Passed,
    Failed,
    /// Its tool is not installed; an error in CI, a remark elsewhere.
    Missing,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    outcome: StepOutcome,
    took: Duration,
}

/// Runs every step, also after a failed one, and fails at the end if any did.
///
/// No step but the one called `default` sets `RUSTFLAGS` or selects packages or features: any of that builds dependencies a second
/// time. That step makes sure of what a newcomer builds first, and only checks it.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let ci = in_ci(std::env::var("CI").ok().as_deref());
    let started = Instant::now();
    let mut steps = Vec::new();
    steps.push(step("format", || tool(root, "fmt", &["fmt", "--all", "--check"])));
    steps.push(step("tidy", || match tidy::command(root) {
        Ok(()) => StepOutcome::Passed,
        Err(error) => {
            println!("{error:#}");
            StepOutcome::Failed
        }
    }));
    if !options.fast {
        let lint = ["clippy", "--workspace", "--all-features", "--all-targets", "--", "-D", "warnings"];
        steps.push(step("clippy", || tool(root, "clippy", &lint)));
        steps.push(step("default", || without_warnings(root, &["check", "--package", "groundline-cli"])));
    }
    // Scenarios run the command, and this is the one with every role.
    let build = ["build", "--workspace", "--all-features", "--bins"];
    steps.push(step("build", || command(root, &build)));
    let nextest = has_tool(root, "nextest");
    let tests: &[&str] = match (nextest, ci) {
        (true, true) => &["nextest", "run", "--workspace", "--all-features", "--profile", "ci"],
        (true, false) => &["nextest", "run", "--workspace", "--all-features"],
        (false, _) => &["test", "--workspace", "--all-features", "--all-targets"],
    };
    steps.push(step("tests", || command(root, tests)));
    steps.push(step("doctests", || command(root, &["test", "--workspace", "--all-features", "--doc"])));
    if !options.fast {
        steps.push(step("charts", || charts(root)));
        steps.push(step("kernels-host", || judged(kernels::host(root, &kernels::HostOptions::default()))));
        steps.push(step("kernels", || judged(kernels::gate(root, &kernels::GateOptions::default()))));
    }
    if has_tool(root, "deny") {
        let deny = ["deny", "--offline", "check", "bans", "licenses", "sources"];
        steps.push(step("dependencies", || command(root, &deny)));
    }
    summarise(&steps, started.elapsed(), ci)
}

fn charts(root: &Path) -> StepOutcome {
    match charts::check(root) {
        Ok(()) => StepOutcome::Passed,
        Err(charts::Trouble::Tools(error)) => {
            println!("the chart is not checked: {error:#}; it takes python3 with venv, and a package index");
            StepOutcome::Missing
        }
        Err(charts::Trouble::Charts(error)) => {
            println!("{error:#}");
            StepOutcome::Failed
        }
    }
}

fn judged(checked: Result<(), kernels::Trouble>) -> StepOutcome {
    match checked {
        Ok(()) => StepOutcome::Passed,
        Err(kernels::Trouble::Tools(error)) => {
            println!("the kernels are not checked: {error:#}");
            StepOutcome::Missing
        }
        Err(kernels::Trouble::Kernels(error)) => {
            println!("{error:#}");
            StepOutcome::Failed
        }
    }
}

/// Whether a value of the variable `CI` means that this runs in continuous integration.
fn in_ci(value: Option<&str>) -> bool {
    !matches!(value, None | Some("" | "0" | "false"))
}

fn step(name: &'static str, body: impl FnOnce() -> StepOutcome) -> Step {
    println!("\n━━ {name} ━━");
    let started = Instant::now();
    let outcome = body();
    Step { name, outcome, took: started.elapsed() }
}

/// Runs a cargo subcommand that a toolchain may lack.
fn tool(root: &Path, name: &str, arguments: &[&str]) -> StepOutcome {
    if has_tool(root, name) {
        return command(root, arguments);
    }
    println!("`cargo {name}` is not installed; add it with `rustup component add` or leave it to CI");
    StepOutcome::Missing
}

fn has_tool(root: &Path, name: &str) -> bool {
    let asked = cargo(root).args([name, "--version"]).output();
    asked.is_ok_and(|output| output.status.success())
}

/// Runs a cargo subcommand, and counts a warning as a failure: it would be the first thing that a newcomer reads.
fn without_warnings(root: &Path, arguments: &[&str]) -> StepOutcome {
    println!("$ cargo {}", arguments.join(" "));
    let Ok(output) = cargo(root).args(arguments).output() else { return StepOutcome::Failed };
    let told = String::from_utf8_lossy(&output.stderr);
    println!("{told}");
    if output.status.success() && !warns(&told) { StepOutcome::Passed } else { StepOutcome::Failed }
}

/// Whether a compiler's output has a warning.
fn warns(told: &str) -> bool {
    told.lines().any(|line| line.starts_with("warning"))
}

fn command(root: &Path, arguments: &[&str]) -> StepOutcome {
    println!("$ cargo {}", arguments.join(" "));
    match cargo(root).args(arguments).env("GROUNDLINE_BIN", built_command(root)).status() {
        Ok(status) if status.success() => StepOutcome::Passed,
        Ok(_) => StepOutcome::Failed,
        Err(error) => {
            println!("cannot start cargo: {error}");
            StepOutcome::Failed
        }
    }
}

/// The `groundline` command of the step `build`.
fn built_command(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    std::path::absolute(target).unwrap_or_else(|_| root.join("target")).join("debug/groundline")
}

fn summarise(steps: &[Step], took: Duration, ci: bool) -> anyhow::Result<()> {
    println!("\n━━ summary ━━");
    for step in steps {
        let word = match step.outcome {
            StepOutcome::Passed => "passed",
            StepOutcome::Failed => "FAILED",
            StepOutcome::Missing if ci => "FAILED (not installed)",
            StepOutcome::Missing => "not installed, skipped",
        };
        println!("{:<14}{:>7.1} s  {word}", step.name, step.took.as_secs_f64());
    }
    println!("{:<14}{:>7.1} s", "total", took.as_secs_f64());
    let failed = failed_steps(steps, ci);
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn failed_steps(steps: &[Step], ci: bool) -> Vec<&'static str> {
    let fails = |outcome| outcome == StepOutcome::Failed || (ci && outcome == StepOutcome::Missing);
    steps.iter().filter(|step| fails(step.outcome)).map(|step| step.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_or_false_ci_variable_is_not_ci() {
        assert!(in_ci(Some("true")) && in_ci(Some("1")));
        assert!(!in_ci(None) && !in_ci(Some("")) && !in_ci(Some("false")) && !in_ci(Some("0")));
    }

    #[test]
    fn a_warning_is_seen_where_a_line_begins_with_it() {
        assert!(warns("   Compiling a v1\nwarning: unused import: `b`\n"));
        assert!(!warns("   Compiling warnings v1\n    Finished `dev`\n"));
    }

    #[test]
    fn a_missing_tool_fails_in_ci_only() {
        let step = |outcome| Step { name: "format", outcome, took: Duration::ZERO };
        assert_eq!(failed_steps(&[step(StepOutcome::Missing)], true), ["format"]);
        assert!(failed_steps(&[step(StepOutcome::Missing)], false).is_empty());
        assert_eq!(failed_steps(&[step(StepOutcome::Failed)], false), ["format"]);
        assert!(failed_steps(&[step(StepOutcome::Passed)], true).is_empty());
    }
}
