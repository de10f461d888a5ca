//! Models: the shipped one, a user's own, and broken ones.

use std::path::Path;
use system_tests::{root, run, run_with_input};

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
fn a_gpu_that_is_not_there_is_an_error_where_it_is_named_and_a_warning_where_any_device_will_do() {
    let ran = run(&[&CHECK[..], &["--device", "cuda:99"]].concat());
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL4011"), "{ran:?}");
    let ran = run(&[&CHECK[..], &["--device", "gpu"]].concat());
    assert!(ran.status == 2 && ran.stderr.contains("cuda:0"), "{ran:?}");
    let ran = run(&[&CHECK[..], &["--device", "auto", "--json"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let engine = ran.json()["model"]["engine"].as_str().unwrap_or_default().to_owned();
    assert!(engine.starts_with("cuda-") || ran.stderr.contains("the processor computes"), "{ran:?}");
}

#[test]
fn a_checkpoint_of_each_family_agrees_with_its_reference() {
    for name in ["deberta-v1", "roberta"] {
        let ran = run(&["models", "verify", &format!("tests/golden/checkpoints/{name}")]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.stdout.contains("verdict    fine"), "{ran:?}");
    }
}

#[test]
fn a_baseline_of_unrelated_sentences_is_measured_and_samples_are_rescaled_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let model = copy_model(dir.path(), &[]);
    let request = serde_json::json!({
        "response": "Marie Curie was born in Warsaw.",
        "samples": ["Marie Curie was born in Warsaw.", "It rained all week in the valley."],
        "methods": ["selfcheck_bertscore"],
    });
    let check = || {
        let ran =
            run_with_input(&["check", "-", "--json", "--model", &model], request.to_string().as_bytes());
        assert_eq!(ran.status, 0, "{ran:?}");
        let result = ran.json();
        assert_eq!(result["methods"]["selfcheck_bertscore"]["status"], "scored", "{result}");
        let is_noted = result["notes"].to_string().contains("GL4013");
        (result["methods"]["selfcheck_bertscore"]["score"].as_f64().unwrap(), is_noted)
    };
    let (plain, is_noted) = check();
    assert!(is_noted && (0.0..0.5).contains(&plain), "one of two samples says the same: {plain}");
    let texts =
        system_tests::file(dir.path(), "passages.txt", "Cats sleep all day.\nRain fell on the hills.\n");
    let ran = run(&["models", "baseline", &model, &texts, "--pairs", "10"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.contains("10 pairs of 2 sentences in passages.txt"), "{ran:?}");
    let baseline = std::fs::read_to_string(Path::new(&model).join("similarity_baseline.json")).unwrap();
    let baseline: serde_json::Value = serde_json::from_str(&baseline).unwrap();
    let (rescaled, is_noted) = check();
    assert!(!is_noted);
    // Rescaling is linear in F1.
    let f1 = baseline["f1"].as_f64().unwrap();
    assert!((rescaled - plain / (1.0 - f1)).abs() < 1e-4, "{rescaled} of {plain} with {f1}");
}

#[test]
fn the_shipped_model_has_a_baseline_of_its_own() {
    let request = serde_json::json!({
        "response": "Marie Curie was born in Warsaw. She kept forty horses in Vienna.",
        "samples": [
            "Marie Curie was born in Warsaw. She won two Nobel Prizes.",
            "Curie was born in the city of Warsaw. She studied physics in Paris.",
        ],
        "methods": ["selfcheck_bertscore"],
    });
    let ran = run_with_input(&["check", "-", "--json"], request.to_string().as_bytes());
    assert_eq!(ran.status, 0, "{ran:?}");
    let result = ran.json();
    assert!(!result["notes"].to_string().contains("GL4013"), "{result}");
    let sentences = &result["methods"]["selfcheck_bertscore"]["sentences"];
    let score = |at: usize| sentences[at]["score"].as_f64().unwrap();
    assert!(score(0) < 0.3 && score(1) > 0.5, "{sentences}");
    assert_eq!(result["verdict"], serde_json::Value::Null, "agreement is no support by a source");
}

#[test]
fn a_kind_of_model_that_does_not_run_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let model = copy_model(dir.path(), &[]);
    let config = Path::new(&model).join("config.json");
    let text = std::fs::read_to_string(&config).unwrap().replace("\"deberta-v2\"", "\"distilbert\"");
    std::fs::write(&config, text).unwrap();
    let ran = run(&[&CHECK[..], &["--model", &model]].concat());
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL4003") && ran.stderr.contains("distilbert"), "{ran:?}");
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

/// Pickles the weights of a golden checkpoint into `folder`, beside the files that a checkpoint comes with.
fn pickled(folder: &Path, golden: &str, form: &str, beside: &[&str]) -> String {
    let from = root().join("tests/golden/checkpoints").join(golden);
    for name in beside {
        std::fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    let file = folder.join("checkpoint.bin");
    let script = root().join("tests/system/pickle_checkpoint.py");
    let arguments = [script, from.join("model.safetensors"), file.clone()];
    let status = std::process::Command::new("python3").arg("-I").args(arguments).arg(form).status().unwrap();
    assert!(status.success());
    file.to_string_lossy().into_owned()
}

#[test]
fn a_pickled_checkpoint_becomes_a_model_that_computes_the_same() {
    for form in ["old", "zip"] {
        let dir = tempfile::tempdir().unwrap();
        let beside = ["config.json", "tokenizer.json"];
        let file = pickled(dir.path(), "bert", form, &beside);
        let made = dir.path().join("made").to_string_lossy().into_owned();
        let ran = run(&["models", "convert", &file, &made, "--preset", "factcc"]);
        assert_eq!(ran.status, 0, "{form}: {ran:?}");
        let golden = root().join("tests/golden/checkpoints/bert/golden.json");
        std::fs::copy(golden, Path::new(&made).join("golden.json")).unwrap();
        let ran = run(&["models", "verify", &made]);
        assert_eq!(ran.status, 0, "{form}: {ran:?}");
        assert!(ran.stdout.contains("verdict    fine"), "{form}: {ran:?}");
    }
}

#[test]
fn a_checkpoint_of_alignscore_is_converted_and_none_of_its_code_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = pickled(dir.path(), "roberta", "lightning", &[]);
    let made = dir.path().join("made").to_string_lossy().into_owned();
    let without = run(&["models", "convert", &file, &made, "--preset", "alignscore"]);
    assert_eq!(without.status, 2, "{without:?}");
    assert!(without.stderr.contains("--base"), "{without:?}");
    let base = "tests/golden/checkpoints/roberta";
    let ran = run(&["models", "convert", &file, &made, "--preset", "alignscore", "--base", base]);
    assert_eq!(ran.status, 0, "{ran:?}");
    std::fs::copy(root().join(base).join("golden.json"), Path::new(&made).join("golden.json")).unwrap();
    let ran = run(&["models", "verify", &made]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let json = run(&[&CHECK[..], &["--json", "--model", &made, "--methods", "support"]].concat());
    assert_eq!(json.status, 0, "{json:?}");
}

#[test]
fn what_is_no_pickled_checkpoint_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("weights.bin");
    std::fs::write(&file, "neither a zip nor a pickle").unwrap();
    let (file, made) = (file.to_string_lossy(), dir.path().join("made").to_string_lossy().into_owned());
    let ran = run(&["models", "convert", &file, &made]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("no checkpoint of PyTorch"), "{ran:?}");
    let ran = run(&["models", "convert", &file, &made, "--preset", "fact"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("factcc"), "{ran:?}");
}

/// Writes a checkpoint that means harm into `folder` and converts it.
fn convert_hostile(folder: &Path, case: &str) -> system_tests::Ran {
    for name in ["config.json", "tokenizer.json"] {
        let from = root().join("tests/golden/checkpoints/bert").join(name);
        std::fs::copy(from, folder.join(name)).unwrap();
    }
    let (file, trap) = (folder.join("checkpoint.bin"), folder.join("trap"));
    let script = root().join("tests/system/hostile_checkpoint.py");
    let mut python = std::process::Command::new("python3");
    let status = python.arg("-I").arg(script).arg(&file).arg(case).arg(&trap).status().unwrap();
    assert!(status.success(), "{case}");
    let made = folder.join("made");
    let ran = run(&["models", "convert", &file.to_string_lossy(), &made.to_string_lossy()]);
    assert!(!trap.try_exists().unwrap(), "{case}: code of the checkpoint was run");
    assert_eq!(made.try_exists().unwrap(), ran.status == 0, "{case}: what is refused leaves nothing behind");
    ran
}

#[test]
fn a_checkpoint_that_is_broken_or_means_harm_is_refused_with_what_is_wrong() {
    let cases = [
        ("code-as-the-table", "no table of weights"),
        ("code-as-the-numbers", "a tensor that cannot be read"),
        ("code-by-a-dotted-name", "no table of weights"),
        ("memory", "2 GiB of memory"),
        ("long-text", "damaged"),
        ("expanded", "more numbers than the checkpoint holds"),
        ("outside", "more numbers than the checkpoint holds"),
        ("negative", "impossible size"),
        ("shared", "many times its size"),
        ("many-dimensions", "a tensor that cannot be read"),
        ("key", "numbers that cannot be found"),
        ("no-numbers", "lacks the numbers of tensor 't0'"),
        ("compressed", "compressed"),
        ("flipped", "damaged"),
        ("cut", "no checkpoint of PyTorch"),
        ("old-cut", "ends too early"),
        ("old-endless", "ends too early"),
        ("old-negative", "ends too early"),
        ("no-line", "no checkpoint of PyTorch"),
    ];
    for (case, says) in cases {
        let dir = tempfile::tempdir().unwrap();
        let ran = convert_hostile(dir.path(), case);
        assert_eq!(ran.status, 2, "{case}: {ran:?}");
        assert!(ran.stderr.contains("GL4002") && ran.stderr.contains(says), "{case}: {ran:?}");
    }
}

#[test]
fn code_and_states_beside_the_weights_change_nothing() {
    for case in ["code", "state"] {
        let dir = tempfile::tempdir().unwrap();
        let ran = convert_hostile(dir.path(), case);
        assert_eq!(ran.status, 0, "{case}: {ran:?}");
        let weights = std::fs::read(dir.path().join("made/model.safetensors")).unwrap();
        let header = String::from_utf8_lossy(&weights);
        assert!(
            header.contains(r#""t0": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}"#),
            "{case}"
        );
        assert!(weights.ends_with(&(0..64).collect::<Vec<u8>>()), "{case}");
    }
}
