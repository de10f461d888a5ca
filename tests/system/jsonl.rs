//! Many responses in one file.

use serde_json::Value;
use system_tests::{file, run, run_with_input};

#[test]
fn results_come_in_the_order_of_the_input() {
    let ran = run(&["check", "examples/curie/claims.jsonl", "--json", "--jobs", "4"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let ids: Vec<String> =
        ran.json_lines().iter().map(|result| result["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, ["warsaw", "france", "1903", "1905", "only-woman"]);
}

#[test]
fn a_broken_line_is_reported_with_its_number_and_the_rest_goes_on() {
    let input = "{\"source\":\"A cat sat.\",\"response\":\"A cat sat.\"}\n{broken\n\n\
                 {\"source\":\"A cat sat.\"}\n{\"source\":\"A dog ran.\",\"response\":\"A dog ran.\"}\n";
    let ran = run_with_input(&["check", "-", "--json"], input.as_bytes());
    assert_eq!(ran.status, 2, "{ran:?}");
    let lines = ran.json_lines();
    assert_eq!(lines.len(), 4, "an empty line is no request: {lines:?}");
    let error = |line: &Value| (line["line"].as_u64(), line["code"].as_str().map(str::to_owned));
    assert_eq!(lines[0]["schema"], "groundline.check/1");
    assert_eq!(error(&lines[1]), (Some(2), Some("GL1006".into())));
    assert_eq!(error(&lines[2]), (Some(4), Some("GL1007".into())));
    assert_eq!(lines[3]["verdict"], "supported");
}

#[test]
fn a_ten_megabyte_line_is_refused_by_its_number_and_the_rest_goes_on() {
    let mut input = Vec::from(&b"{\"source\":\"A cat sat.\",\"response\":\""[..]);
    input.resize(10 << 20, b'x');
    input.extend_from_slice(b"\"}\n{\"source\":\"A cat sat.\",\"response\":\"A cat sat.\"}\n");
    let ran = run_with_input(&["check", "-", "--json"], &input);
    let lines = ran.json_lines();
    assert_eq!((ran.status, lines.len()), (2, 2), "{}", ran.stderr);
    assert_eq!(lines[0]["code"], "GL1005");
    assert_eq!(lines[1]["verdict"], "supported");
}

#[test]
fn invalid_utf8_and_nul_bytes_break_only_their_lines() {
    let input =
        b"{\"source\":\"A cat sat.\",\"response\":\"\xff\"}\n{\"source\":\"A\\u0000\",\"response\":\"A.\"}\n\
                  {\"source\":\"A cat sat.\",\"response\":\"A cat sat.\"}\n";
    let ran = run_with_input(&["check", "-", "--json"], input);
    let lines = ran.json_lines();
    assert_eq!((ran.status, lines.len()), (2, 3));
    assert_eq!((lines[0]["code"].as_str(), lines[1]["code"].as_str()), (Some("GL1003"), Some("GL1004")));
    assert_eq!(lines[2]["status"], "scored");
}

#[test]
fn a_file_that_is_closed_early_ends_quietly() {
    let dir = tempfile::tempdir().unwrap();
    let line = "{\"source\":\"A cat sat.\",\"response\":\"A cat sat.\"}\n";
    let path = file(dir.path(), "many.jsonl", line.repeat(200));
    let mut child = system_tests::spawn(&["check", &path, "--json"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
}
