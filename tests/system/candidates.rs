//! Fewer pairs for long sources, and what they change.

use serde_json::{Value, json};
use system_tests::{file, run, run_with_input};

/// A source of twelve sentences, and a response whose sentences it supports.
fn request() -> Value {
    let ports = ["Lisbon", "Genoa", "Athens", "Tunis", "Malta", "Cadiz", "Naples", "Oran", "Split", "Haifa"];
    let calls = ports
        .iter()
        .map(|port| format!("In spring the ship called at {port} for two days. "))
        .collect::<String>();
    json!({
        "id": "voyage",
        "source": format!("{calls}The captain was born in Bergen. Marie Curie was born in Warsaw."),
        "response": "The captain was born in Bergen. Marie Curie was born in Warsaw.",
        "methods": ["entailment", "numeric"],
    })
}

fn check(more: &[&str]) -> Value {
    let ran = run_with_input(&[&["check", "-", "--json"], more].concat(), request().to_string().as_bytes());
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.json()
}

fn note(result: &Value) -> Option<&str> {
    let notes = result["notes"].as_array().unwrap();
    notes.iter().find(|note| note["code"] == "GL1019").and_then(|note| note["message"].as_str())
}

#[test]
fn candidates_save_pairs_and_the_result_says_so() {
    let all = check(&[]);
    let few = check(&["--candidates", "3"]);
    let pairs = |result: &Value| result["usage"]["pairs"].as_u64().unwrap();
    assert!(pairs(&few) < pairs(&all) && note(&all).is_none(), "{few}");
    let told = note(&few).unwrap();
    assert!(told.starts_with("compared each claim with the 3 nearest of 12 sentences: "), "{told}");
    assert!(!told.contains("Bergen") && few["config_hash"] != all["config_hash"]);
    for sentence in 0..2 {
        assert_eq!(few["sentences"][sentence]["verdict"], "supported", "{few}");
    }
    let same = check(&["--candidates", "12"]);
    assert_eq!(same["sentences"], all["sentences"]);
    assert_eq!((same["usage"].clone(), note(&same)), (all["usage"].clone(), None));
}

#[test]
fn fewer_candidates_than_may_contradict_are_refused() {
    let ran = run_with_input(&["check", "-", "--candidates", "2"], request().to_string().as_bytes());
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL1013") && ran.stderr.contains("candidate_sentences is 2"), "{ran:?}");
}

#[test]
fn what_candidates_save_and_change_is_measured_on_requests() {
    let dir = tempfile::tempdir().unwrap();
    let other = json!({"source": "Cats sleep.", "response": "Cats sleep.", "methods": ["entailment"]});
    let requests = file(dir.path(), "requests.jsonl", format!("{}\n{other}\n", request()));
    let ran = run(&["models", "candidates", &requests, "--candidates", "3,12", "--json"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["requests"], &report["model"]["name"]), (&json!(2), &json!("groundline-mini")));
    let [few, same] = [&report["measured"][0], &report["measured"][1]];
    assert_eq!((&few["candidate_sentences"], &few["limited_requests"]), (&json!(3), &json!(1)));
    assert_eq!((&few["compared_sentences"], &few["changed_sentences"]), (&json!(3), &json!(0)));
    assert!(few["saved_pairs"].as_f64().unwrap() > 0.3, "{few}");
    assert_eq!((&same["limited_requests"], &same["saved_pairs"]), (&json!(0), &json!(0.0)));
    assert_eq!((&same["pairs"], &same["changes"]), (&report["all"]["pairs"], &json!([])));
    assert_eq!(same["largest_support_drift"], 0.0);

    let ran = run(&["models", "candidates", &requests, "--candidates", "4", "--methods", "default"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.contains("2 requests with groundline-mini") && ran.stdout.contains("none changes"));
    assert!(ran.stderr.contains("summac and summac_conv read every pair"), "{ran:?}");
}

#[test]
fn requests_that_cannot_be_read_end_the_measurement_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let broken = file(dir.path(), "broken.jsonl", format!("{}\n{{\"response\": 3}}\n", request()));
    let ran = run(&["models", "candidates", &broken]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("GL1007") && ran.stderr.contains("line 2"), "{ran:?}");
    let good = file(dir.path(), "good.jsonl", request().to_string());
    for numbers in ["2", "0"] {
        let ran = run(&["models", "candidates", &good, "--candidates", numbers]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains("GL1013"), "{ran:?}");
    }
    let missing = dir.path().join("none.jsonl");
    let ran = run(&["models", "candidates", &missing.to_string_lossy()]);
    assert!(ran.status == 2 && ran.stderr.contains("GL1010"), "{ran:?}");
}
