//! Models: the shipped one, a user's own, and broken ones.

use std::path::Path;
use system_tests::{root, run};

fn copy_model(into: &Path, leave_out: &[&str]) -> String {
    let to = into.join("model");
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(root().join("tests/golden/checkpoints/deberta-v3-like")).unwrap() {
        let entry = entry.unwrap();
        if !leave_out.iter().any(|name| entry.file_name() == *name) {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    to.to_string_lossy().into_owned()
}

const CHECK: [&str; 5] =
    ["check", "--source", "examples/curie/source.txt", "--response", "examples/curie/response.txt"];

#[test]
fn the_shipped_model_agrees_with_its_reference_logits() {
    let ran = run(&["models", "verify", "groundline-mini"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.contains("groundline-mini"), "{ran:?}");
}

#[test]
fn models_lists_the_shipped_model() {
    let ran = run(&["models"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.contains("groundline-mini"), "{ran:?}");
}

#[test]
fn a_folder_of_the_users_own_is_a_model() {
    let ran = run(&[&CHECK[..], &["--json", "--model", "tests/golden/checkpoints/deberta-v3-like"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_ne!(ran.json()["model"]["name"], "groundline-mini");
}

#[test]
fn a_missing_model_says_where_it_was_looked_for() {
    let ran = run(&[&CHECK[..], &["--model", "no-such-model"]].concat());
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL4001") && ran.stderr.contains("no-such-model"), "{ran:?}");
}

#[test]
fn deberta_v1_is_refused_by_name() {
    let ran = run(&[&CHECK[..], &["--model", "tests/golden/checkpoints/deberta-v1"]].concat());
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL4003") && ran.stderr.contains("DeBERTa-v2"), "{ran:?}");
}

#[test]
fn missing_and_truncated_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let model = copy_model(dir.path(), &["model.safetensors"]);
    let ran = run(&["models", "verify", &model]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL400") && ran.stderr.contains("safetensors"), "{ran:?}");

    let dir = tempfile::tempdir().unwrap();
    let model = copy_model(dir.path(), &[]);
    let weights = Path::new(&model).join("model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    let ran = run(&["models", "verify", &model]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL4002"), "{ran:?}");

    let dir = tempfile::tempdir().unwrap();
    let model = copy_model(dir.path(), &["tokenizer.json"]);
    let ran = run(&["models", "verify", &model]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL4005"), "{ran:?}");
}
