use super::super::tests::{brief, file};
use super::*;

const MODULE: &str = "crates/bus/src/memory.rs";

fn rules(path: &str, text: &str) -> Vec<&'static str> {
    check(&[file(path, text)]).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn banned_macros_and_attributes_are_found_in_code_only() {
    let (todo, ignored) = (concat!("todo", "!()"), concat!("#[", "ignore]"));
    let bad = format!(
        "#[allow(dead_code)]\nfn f() {{ {todo} }}\n{ignored}\nfn g() {{ {}; dbg!(1); }}\n",
        concat!("unimplemented", "!()")
    );
    assert_eq!(rules(MODULE, &bad), ["allow", "stub", "stub", "ignored-test", "dbg"]);
    let good = format!(
        "#[expect(dead_code, reason = \"x\")]\n// {todo} is banned\nfn f() {{ g(\"dbg!(1) {ignored}\") }}\n"
    );
    assert!(rules(MODULE, &good).is_empty());
}

#[test]
fn a_finding_points_at_its_line() {
    assert_eq!(brief(&check(&[file(MODULE, "fn f() {\n    dbg!()\n}\n")])), [format!("{MODULE}:2: dbg")]);
}

#[test]
fn clocks_are_read_in_their_places_and_in_tests_only() {
    let std_clock = "use std::time::Instant;\nfn f() { Instant::now(); }\n";
    assert_eq!(rules(MODULE, std_clock), ["clock"]);
    assert_eq!(rules(MODULE, "fn f() { std::time::Instant::now(); }\n"), ["clock"]);
    assert_eq!(rules(MODULE, "fn f() { SystemTime::now(); }\n"), ["wall-clock"]);
    assert!(rules("crates/cli/src/progress.rs", std_clock).is_empty());
    assert!(rules("crates/bus/src/memory/tests.rs", std_clock).is_empty());
    assert!(rules(MODULE, "#[cfg(test)]\nmod tests { fn f() { Instant::now(); } }\n").is_empty());
    assert!(rules(MODULE, "use tokio::time::{Duration, Instant};\nfn f() { Instant::now(); }\n").is_empty());
    assert!(rules(MODULE, "fn f() { tokio::time::Instant::now(); }\n").is_empty());
    assert!(rules(MODULE, "use tokio::time;\nfn f() { time::Instant::now(); }\n").is_empty());
}

#[test]
fn tasks_are_spawned_by_the_actors_crate_only() {
    assert_eq!(rules(MODULE, "fn f() { tokio::spawn(x); }\n"), ["anonymous-task"]);
    assert!(rules("crates/actors/src/task.rs", "fn f() { tokio::spawn(x); }\n").is_empty());
    assert!(rules(MODULE, "fn f() { spawn_task(kind, x); tokio::task::spawn_blocking(x); }\n").is_empty());
}

#[test]
fn unsafe_stands_in_its_places_with_a_reason() {
    assert_eq!(rules(MODULE, "fn f() { unsafe { x() } }\n"), ["unsafe"]);
    assert!(rules(MODULE, "// unsafe is banned\nfn f() { unsafe_name() }\n").is_empty());
    let kernel = "crates/inference/src/cpu/gemm.rs";
    assert_eq!(rules(kernel, "fn f() {\n    unsafe { x() }\n}\n"), ["safety-comment"]);
    assert!(
        rules(kernel, "fn f() {\n    // SAFETY: lengths were checked.\n    unsafe { x() }\n}\n").is_empty()
    );
    assert!(rules(kernel, "unsafe fn f() {}\n").is_empty());
}

#[test]
fn every_crate_but_inference_forbids_unsafe_in_its_root() {
    assert_eq!(rules("crates/bus/src/lib.rs", "//! Bus.\n"), ["forbid-unsafe"]);
    assert!(rules("crates/bus/src/lib.rs", "//! Bus.\n#![forbid(unsafe_code)]\n").is_empty());
    assert!(rules("crates/inference/src/lib.rs", "//! Inference.\n").is_empty());
}
