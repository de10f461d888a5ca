//! Calls and attributes that the house rules ban.

use super::Finding;
use super::source::{SourceFile, find_words};

/// Banned anywhere: what stands in the code, the rule's name, what to do. Some are put together, so that a search for what they ban finds
/// only what is banned.
const BANNED: [(&str, &str, &str); 7] = [
    ("#[allow(", "allow", "use `#[expect(…, reason = \"…\")]`, which fails once it is not needed"),
    ("#![allow(", "allow", "use `#![expect(…, reason = \"…\")]`, which fails once it is not needed"),
    (concat!("todo", "!("), "stub", "write it or leave it out"),
    (concat!("unimplemented", "!("), "stub", "write it or leave it out"),
    (concat!("#[", "ignore"), "ignored-test", "make it quick enough to run, or delete it"),
    ("dbg!(", "dbg", "remove it"),
    ("SystemTime::now", "wall-clock", "take the time from the event or from tokio::time"),
];
/// Where a real clock is read, and why.
const CLOCK_ALLOWED: [(&str, &str); 7] = [
    ("crates/bus/src/clock.rs", "stamps what people and other machines read"),
    ("crates/cli/", "shows progress to a person"),
    ("crates/testkit/", "waits for real processes"),
    ("crates/inference/src/cpu/bench.rs", "measures the machine"),
    ("crates/inference/src/cpu/phases.rs", "measures where the time goes, where that is asked for"),
    ("benches/", "measures"),
    ("xtask/", "reports how long a step took"),
];
/// Where `unsafe` is allowed, and why.
const UNSAFE_ALLOWED: [(&str, &str); 4] = [
    ("crates/inference/src/cpu/", "SIMD kernels"),
    ("crates/inference/src/cuda/device", "calls NVIDIA's driver and libraries"),
    ("crates/inference/src/cuda/host.rs", "calls the GPU kernels as a library of the host"),
    ("crates/inference/src/mapped.rs", "maps a weight file into memory"),
];
/// The crate that has the places above; every other forbids `unsafe` in its root.
const UNSAFE_CRATE: &str = "crates/inference/";
/// Lines above an `unsafe` block within which its `SAFETY:` comment must stand.
const SAFETY_LINES: usize = 8;

/// Reports banned calls, clocks, anonymous tasks and `unsafe` in the wrong place.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let rules = [banned, clock, spawn, unsafe_code, forbids_unsafe];
    let rust = files.iter().filter(|file| file.is_rust());
    rust.flat_map(|file| rules.iter().flat_map(move |rule| rule(file))).collect()
}

fn is_allowed(file: &SourceFile, places: &[(&str, &str)]) -> bool {
    places.iter().any(|(prefix, _)| file.path.starts_with(prefix))
}

fn banned(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (text, rule, what) in BANNED {
        if rule == "wall-clock" && is_allowed(file, &CLOCK_ALLOWED) {
            continue;
        }
        let places = find_words(&file.code, text);
        findings.extend(places.map(|at| Finding::error(&file.path, file.line_of(at), rule, what)));
    }
    findings
}

/// `std::time::Instant::now` in logic. tokio's can be paused in tests and is fine.
fn clock(file: &SourceFile) -> Vec<Finding> {
    if is_allowed(file, &CLOCK_ALLOWED) || imports_tokio_instant(&file.code) {
        return Vec::new();
    }
    let logic = &file.code[..file.tests_start()];
    let places = find_words(logic, "Instant::now").filter(|at| {
        let before = &logic[..*at];
        !(before.ends_with("tokio::time::")
            || before.ends_with("time::") && logic.contains("use tokio::time;"))
    });
    let what = "take the time from the event or from tokio::time, which tests can pause";
    places.map(|at| Finding::error(&file.path, file.line_of(at), "clock", what)).collect()
}

fn imports_tokio_instant(code: &str) -> bool {
    let imports = code.match_indices("use tokio::").map(|(at, _)| &code[at..]);
    imports.filter_map(|rest| rest.split(';').next()).any(|import| {
        import.contains("time::Instant") || (import.contains("time::{") && import.contains("Instant"))
    })
}

fn spawn(file: &SourceFile) -> Vec<Finding> {
    if file.path.starts_with("crates/actors/") {
        return Vec::new();
    }
    let what = "a task needs an owner and a name: use groundline_actors::spawn_task";
    let places = find_words(&file.code, "tokio::spawn");
    places.map(|at| Finding::error(&file.path, file.line_of(at), "anonymous-task", what)).collect()
}

fn unsafe_code(file: &SourceFile) -> Vec<Finding> {
    let allowed = is_allowed(file, &UNSAFE_ALLOWED);
    let mut findings = Vec::new();
    for at in find_words(&file.code, "unsafe") {
        let line = file.line_of(at);
        if !allowed {
            let what =
                "allowed in the CPU kernels, the calls of CUDA and the file map of crates/inference only";
            findings.push(Finding::error(&file.path, line, "unsafe", what));
        } else if file.code[at + "unsafe".len()..].trim_start().starts_with('{') && !has_safety(file, line) {
            let what = "say in a `// SAFETY:` comment above it why it is sound";
            findings.push(Finding::error(&file.path, line, "safety-comment", what));
        }
    }
    findings
}

fn has_safety(file: &SourceFile, line: usize) -> bool {
    let first = line.saturating_sub(SAFETY_LINES + 1);
    file.comments.lines().skip(first).take(line - first).any(|comment| comment.contains("SAFETY:"))
}

/// Roots of crates outside inference carry the attribute, so that the compiler enforces what this file only greps for.
fn forbids_unsafe(file: &SourceFile) -> Vec<Finding> {
    let is_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    if !is_root || file.path.starts_with(UNSAFE_CRATE) || file.code.contains("#![forbid(unsafe_code)]") {
        return Vec::new();
    }
    let what = "add `#![forbid(unsafe_code)]` below the crate's documentation";
    vec![Finding::error(&file.path, 1, "forbid-unsafe", what)]
}

#[cfg(test)]
mod tests;
