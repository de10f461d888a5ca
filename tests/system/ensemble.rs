//! The weights of an ensemble, from labelled responses to a calibrated probability in a result.

use serde_json::{Value, json};
use std::path::Path;
use system_tests::{Ran, root, run};

/// Labelled responses of our own.
const ROWS: [(&str, &str, u8); 12] = [
    ("The bridge opened in 1937 after four years of work.", "The bridge opened in 1937.", 1),
    ("The bridge opened in 1937 after four years of work.", "The bridge opened in 1951.", 0),
    ("Marie Curie was born in Warsaw and worked in Paris.", "Marie Curie was born in Warsaw.", 1),
    ("Marie Curie was born in Warsaw and worked in Paris.", "Marie Curie was born in London.", 0),
    ("The river is 300 km long and flows into the sea.", "The river flows into the sea.", 1),
    ("The river is 300 km long and flows into the sea.", "The river is 900 km long.", 0),
    ("Water boils at 100 degrees at sea level.", "At sea level water boils at 100 degrees.", 1),
    ("Water boils at 100 degrees at sea level.", "Water never boils at sea level.", 0),
    ("The museum is closed on Mondays.", "On Mondays the museum is closed.", 1),
    ("The museum is closed on Mondays.", "The museum sells tickets for children.", 0),
    ("The team won the final by two goals.", "The final was won by the team.", 1),
    ("The team won the final by two goals.", "The team lost the final.", 0),
];

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn write(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    text(&path)
}

/// A configuration that says where the weights are.
fn configuration(folder: &Path, name: &str, profile: &str) -> String {
    write(folder, name, &format!("[ensemble]\nprofile = {profile:?}\n"))
}

fn check_curie(config: &str, more: &[&str]) -> Ran {
    let files = ["--source", "examples/curie/source.txt", "--response", "examples/curie/response.txt"];
    run(&[&["check", "--config", config][..], &files, more].concat())
}

/// Fits weights in `folder` and answers with the profile's file.
fn fitted(folder: &Path) -> String {
    let row = |(source, claim, label): &(&str, &str, u8)| {
        json!({"source": source, "claim": claim, "label": label}).to_string()
    };
    let rows = write(folder, "ours.jsonl", &ROWS.iter().map(row).collect::<Vec<_>>().join("\n"));
    let [requests, results, profile] =
        ["requests.jsonl", "results.jsonl", "profile.json"].map(|name| text(&folder.join(name)));
    let prepared = run(&["ensemble", "prepare", &rows, "--output", &requests]);
    assert_eq!(prepared.status, 0, "{prepared:?}");
    assert!(prepared.stderr.contains("ours: 12 of 12 usable rows"), "{prepared:?}");
    let off = configuration(folder, "off.toml", "off");
    let checked = run(&["check", &requests, "--json", "--output", &results, "--config", &off]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let steps = ["ensemble", "fit", "--requests", &requests, "--results", &results, "--output", &profile];
    let fitted = run(&[&steps[..], &["--config", &off]].concat());
    assert_eq!(fitted.status, 0, "{fitted:?}");
    profile
}

#[test]
fn weights_fitted_to_labelled_responses_give_a_probability_with_its_account() {
    let dir = tempfile::tempdir().unwrap();
    let profile = fitted(dir.path());
    let config = configuration(dir.path(), "on.toml", &profile);
    let result = check_curie(&config, &["--json"]).json();
    let probability = result["scores"]["ensemble"].as_f64().unwrap();
    let account = &result["ensemble"];
    let inputs = account["inputs"].as_array().unwrap();
    let sum: f64 = inputs.iter().filter_map(|input| input["contribution"].as_f64()).sum();
    let log_odds = account["baseline"].as_f64().unwrap() + sum;
    assert!((account["log_odds"].as_f64().unwrap() - log_odds).abs() < 1e-9, "{account}");
    assert!((probability - 1.0 / (1.0 + (-log_odds).exp())).abs() < 1e-6, "{account}");

    let shown = check_curie(&config, &[]);
    assert!(shown.stdout.contains("ensemble 0.") && shown.stdout.contains("adds"), "{shown:?}");
    let plain = check_curie(&configuration(dir.path(), "off.toml", "off"), &["--json"]).json();
    assert_eq!(plain["sentences"], result["sentences"], "verdicts are what they were");
    assert_eq!(plain["scores"]["ensemble"], Value::Null);
    assert_ne!(plain["config_hash"], result["config_hash"]);

    let alone = check_curie(&config, &["--json", "--methods", "entailment"]).json();
    assert!(alone["scores"]["ensemble"].is_number(), "{alone}");
    let hidden = check_curie(&config, &["--json", "--methods", "numeric"]).json();
    let numeric = inputs.iter().any(|input| input["name"] == "numeric");
    assert_eq!(hidden["scores"]["ensemble"].is_number(), numeric, "{hidden}");
}

#[test]
fn weights_of_another_model_are_refused_and_never_used() {
    let dir = tempfile::tempdir().unwrap();
    let mut profile: Value =
        serde_json::from_str(&std::fs::read_to_string(fitted(dir.path())).unwrap()).unwrap();
    profile["binding"]["revision"] = json!("0123456789abcdef");
    let foreign = write(dir.path(), "foreign.json", &profile.to_string());
    let refused = check_curie(&configuration(dir.path(), "foreign.toml", &foreign), &["--json"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("GL4014") && refused.stderr.contains("0123456789abcdef"), "{refused:?}");
    assert!(refused.stdout.is_empty(), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn a_foreign_profile_beside_the_model_is_told_of_and_the_rest_stands() {
    let dir = tempfile::tempdir().unwrap();
    let mut profile: Value =
        serde_json::from_str(&std::fs::read_to_string(fitted(dir.path())).unwrap()).unwrap();
    let model = dir.path().join("model");
    std::fs::create_dir(&model).unwrap();
    for entry in std::fs::read_dir(root().join("models/groundline-mini")).unwrap() {
        let path = std::fs::canonicalize(entry.unwrap().path()).unwrap();
        std::os::unix::fs::symlink(&path, model.join(path.file_name().unwrap())).unwrap();
    }
    let beside = model.join("ensemble.json");
    let _ = std::fs::remove_file(&beside);
    let auto = configuration(dir.path(), "auto.toml", "auto");
    let check = || check_curie(&auto, &["--json", "--model", &text(&model)]).json();

    assert_eq!(check()["scores"]["ensemble"], Value::Null, "there is no profile");
    std::fs::write(&beside, profile.to_string()).unwrap();
    assert!(check()["scores"]["ensemble"].is_number(), "the profile is of this model");
    profile["binding"]["window_tokens"] = json!(350);
    std::fs::write(&beside, profile.to_string()).unwrap();
    let result = check();
    assert_eq!(result["scores"]["ensemble"], Value::Null);
    let notes = result["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["code"] == "GL4014"), "{result}");
    assert_eq!(result["verdict"], "contradicted");
}

#[test]
fn results_of_other_settings_are_not_fitted_to() {
    let dir = tempfile::tempdir().unwrap();
    fitted(dir.path());
    let other = write(dir.path(), "other.toml", "[detectors]\ncontradiction_neighbours = 5\n");
    let [requests, results] = ["requests.jsonl", "results.jsonl"].map(|name| text(&dir.path().join(name)));
    let steps = ["ensemble", "fit", "--requests", &requests, "--results", &results, "--config", &other];
    let refused = run(&steps);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("GL4014") && refused.stderr.contains("other settings"), "{refused:?}");
}

#[test]
fn a_set_without_a_usable_row_is_an_error_and_brings_no_hint_on_requests() {
    let folder = tempfile::tempdir().unwrap();
    let output = text(&folder.path().join("requests.jsonl"));
    for rows in
        ["", "{\"source\": \"a\", \"claim\": \"b\"}\n{\"source\": \"a\", \"claim\": \"b\", \"label\": 2}\n"]
    {
        let set = write(folder.path(), "set.jsonl", rows);
        let ran = run(&["ensemble", "prepare", &set, "--output", &output]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains("error[GL1007]") && ran.stderr.contains("no usable row"), "{ran:?}");
        assert!(!ran.stderr.contains("a request looks like"), "{ran:?}");
        assert!(!Path::new(&output).try_exists().unwrap(), "nothing is written");
    }
}
