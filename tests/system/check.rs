//! The main job on the examples, through the command.

use serde_json::Value;
use system_tests::{file, run, run_with_input};

const CURIE: [&str; 5] =
    ["check", "--source", "examples/curie/source.txt", "--response", "examples/curie/response.txt"];

fn sentences(result: &Value) -> &Vec<Value> {
    result["sentences"].as_array().expect("sentences")
}

fn verdicts(result: &Value) -> Vec<&str> {
    sentences(result).iter().map(|sentence| sentence["verdict"].as_str().unwrap_or("-")).collect()
}

#[test]
fn the_textbook_example_gets_each_verdict_with_its_evidence() {
    let ran = run(&[&CURIE[..], &["--json"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let result = ran.json();
    assert_eq!(result["schema"], "groundline.check/1");
    assert_eq!(result["status"], "scored");
    let verdicts = verdicts(&result);
    assert_eq!(verdicts[0], "supported", "born in Warsaw in 1867");
    assert_eq!(verdicts[1], "contradicted", "1905 for 1903");
    assert_eq!(verdicts[2], "contradicted", "born in France");
    assert_eq!(verdicts[4], "not_mentioned", "nothing is said of cycling");
    assert_eq!(result["verdict"], "contradicted");
    assert_eq!(result["alert"], true);
    let source = std::fs::read_to_string(system_tests::root().join("examples/curie/source.txt")).unwrap();
    let best = &sentences(&result)[0]["evidence"][0];
    let (start, end) = (best["start"].as_u64().unwrap() as usize, best["end"].as_u64().unwrap() as usize);
    assert!(source[start..end].contains("Warsaw"), "{best}");
}

#[test]
fn every_span_slices_the_original_response() {
    let response =
        std::fs::read_to_string(system_tests::root().join("examples/markdown/response.md")).unwrap();
    let ran = run(&[
        "check",
        "--source",
        "examples/markdown/source.md",
        "--response",
        "examples/markdown/response.md",
        "--json",
    ]);
    let result = ran.json();
    for sentence in sentences(&result) {
        let (start, end) =
            (sentence["start"].as_u64().unwrap() as usize, sentence["end"].as_u64().unwrap() as usize);
        assert!(response.get(start..end).is_some(), "{sentence}");
    }
    let wrong = sentences(&result).iter().find(|s| s["text"].as_str().unwrap().contains("999")).unwrap();
    assert_eq!(wrong["text"], "The default cache size is now 999 MB.");
    assert_eq!(wrong["verdict"], "contradicted", "{wrong}");
    assert_eq!(wrong["reason"], "numeric", "{wrong}");
    let unchecked: Vec<_> = sentences(&result).iter().filter(|s| s["status"] == "abstained").collect();
    assert!(unchecked.len() >= 3, "heading, code and question make no claim: {unchecked:?}");
}

#[test]
fn two_sources_are_kept_apart_and_the_right_one_is_quoted() {
    let result = run(&["check", "examples/rag/request.json", "--json"]).json();
    let all = sentences(&result);
    assert_eq!(result["id"], "rag-returns");
    assert_eq!(all[0]["verdict"], "supported");
    assert_eq!(all[0]["evidence"][0]["source"], "policy");
    assert_eq!(all[2]["verdict"], "contradicted", "9.95 for 4.95 euros: {}", all[2]);
    assert_ne!(all[3]["verdict"], "supported", "the discount is invented");
}

#[test]
fn a_number_that_is_only_written_differently_is_no_conflict() {
    let args =
        ["check", "--source", "examples/summary/source.txt", "--response", "examples/summary/response.txt"];
    let result = run(&[&args[..], &["--json"]].concat()).json();
    let all = sentences(&result);
    assert_eq!(
        (all[0]["verdict"].as_str(), all[0]["reason"].as_str()),
        (Some("contradicted"), Some("numeric"))
    );
    for sentence in &all[1..] {
        assert_ne!(sentence["reason"], "numeric", "{sentence}");
    }
}

#[test]
fn the_terminal_output_shows_sentence_verdict_and_evidence() {
    let ran = run(&CURIE);
    assert_eq!(ran.status, 0, "{ran:?}");
    for expected in ["supported", "contradicted", "born in Warsaw", "1903"] {
        assert!(ran.stdout.contains(expected), "{expected} is missing:\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "NO_COLOR was set:\n{}", ran.stdout);
}

#[test]
fn fail_under_decides_the_exit_status() {
    assert_eq!(run(&[&CURIE[..], &["--fail-under", "0.5"]].concat()).status, 1);
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "s.txt", "Marie Curie was born in Warsaw.");
    let response = file(dir.path(), "r.txt", "Marie Curie was born in Warsaw.");
    let args = ["check", "--source", &source, "--response", &response, "--fail-under", "0.5"];
    assert_eq!(run(&args).status, 0);
    let greeting = file(dir.path(), "g.txt", "Hello! How are you?");
    let args = ["check", "--source", &source, "--response", &greeting, "--fail-under", "0.5"];
    assert_eq!(run(&args).status, 1, "no claim is never a pass");
}

#[test]
fn a_response_without_a_claim_abstains() {
    let dir = tempfile::tempdir().unwrap();
    let source = file(dir.path(), "s.txt", "Marie Curie was born in Warsaw.");
    let response = file(dir.path(), "r.txt", "Hello! How are you?");
    let result = run(&["check", "--source", &source, "--response", &response, "--json"]).json();
    assert_eq!((result["status"].as_str(), result["verdict"].as_str()), (Some("abstained"), None));
    assert!(result["scores"]["min"].is_null());
    assert_eq!(result["notes"][0]["code"], "GL1008");
}

#[test]
fn a_response_comes_from_standard_input() {
    let ran = run_with_input(
        &["check", "--source", "examples/curie/source.txt", "--response", "-", "--json"],
        b"Marie Curie was born in Warsaw.",
    );
    assert_eq!(ran.json()["verdict"], "supported");
}

#[test]
fn offsets_are_reported_in_the_unit_asked_for() {
    let request =
        r#"{"source":"Zoë was born in Warsaw.","response":"😀 Zoë was born in Warsaw.","offsets":"UNIT"}"#;
    let start = |unit: &str| {
        let ran = run_with_input(&["check", "-", "--json"], request.replace("UNIT", unit).as_bytes());
        ran.json()["sentences"][0]["end"].as_u64().unwrap()
    };
    assert_eq!((start("bytes"), start("chars"), start("utf16")), (29, 25, 26));
}

#[test]
fn facts_are_scored_where_they_are_asked_for() {
    let request = r#"{"source":"Ada was born in Oslo. She studied law in Bergen.",
        "response":"Ada was born in Oslo and won a medal in Bergen.","facts":true}"#;
    let result = run_with_input(&["check", "-", "--json"], request.as_bytes()).json();
    let facts = result["sentences"][0]["facts"].as_array().unwrap();
    assert_eq!(facts.len(), 2, "{facts:?}");
    assert_eq!(facts[0]["verdict"], "supported", "{facts:?}");
    assert_ne!(facts[1]["verdict"], "supported", "{facts:?}");
}

#[test]
fn the_matrix_holds_a_number_for_every_pair_of_sentences() {
    let result = run(&[&CURIE[..], &["--json", "--matrix"]].concat()).json();
    let matrix = &result["matrix"];
    let (rows, columns) = (matrix["rows"].as_array().unwrap(), matrix["columns"].as_array().unwrap());
    assert_eq!((rows.len(), columns.len()), (8, 5));
    let entailment = matrix["entailment"].as_array().unwrap();
    assert!(entailment.iter().all(|row| row.as_array().unwrap().iter().all(Value::is_f64)));
    let drawn = run(&[&CURIE[..], &["--matrix"]].concat());
    assert!(drawn.stdout.contains("S8") && drawn.stdout.contains("R5"), "{}", drawn.stdout);
}
