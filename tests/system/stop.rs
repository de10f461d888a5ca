//! Stopping in the middle: what is done is printed, and it is valid.

use std::io::Read;
use std::process::Command;
use std::time::Duration;
use system_tests::{file, spawn};

fn interrupt(pid: u32) {
    let status = Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn an_interrupt_prints_the_partial_result_as_valid_json() {
    let dir = tempfile::tempdir().unwrap();
    let sentence = |i: usize| {
        format!("The committee met {i} times in the year {} to discuss the harbour. ", 1900 + i % 90)
    };
    let source = file(dir.path(), "s.txt", (0..1200).map(sentence).collect::<String>());
    let response = file(dir.path(), "r.txt", (0..40).map(sentence).collect::<String>());
    let mut child = spawn(&["check", "--source", &source, "--response", &response, "--json"]);
    drop(child.stdin.take());
    std::thread::sleep(Duration::from_secs(4));
    interrupt(child.id());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{stdout}");
    let result: serde_json::Value = serde_json::from_str(stdout.trim()).expect("one valid object");
    assert!(["partial", "failed"].contains(&result["status"].as_str().unwrap()), "{}", result["status"]);
    let sentences = result["sentences"].as_array().unwrap();
    assert_eq!(sentences.len(), 40);
    assert!(sentences.iter().any(|s| s["status"] == "failed" && s["support_probability"].is_null()));
    assert!(result["coverage"].as_f64().unwrap() < 1.0);
}

#[test]
fn an_interrupt_keeps_the_lines_that_are_done() {
    let dir = tempfile::tempdir().unwrap();
    let line = |i: usize| {
        let text = format!("The harbour was opened in {}. ", 1700 + i);
        serde_json::json!({"id": i.to_string(), "source": text.repeat(3), "response": text}).to_string()
            + "\n"
    };
    let path = file(dir.path(), "many.jsonl", (0..5000).map(line).collect::<String>());
    let mut child = spawn(&["check", &path, "--json"]);
    drop(child.stdin.take());
    std::thread::sleep(Duration::from_secs(3));
    interrupt(child.id());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut done = 0;
    for (index, line) in stdout.lines().enumerate() {
        let result: serde_json::Value = serde_json::from_str(line).expect("every line is whole");
        assert_eq!(result["id"], index.to_string(), "in order, without gaps");
        done += 1;
    }
    assert!((1..5000).contains(&done), "{done} lines");
}
