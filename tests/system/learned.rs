//! Learned detectors beside the model, from the configuration to the result.

use std::path::Path;
use system_tests::run;

const CHECK: [&str; 7] = [
    "check",
    "--source",
    "examples/curie/source.txt",
    "--response",
    "examples/curie/response.txt",
    "--json",
    "--methods",
];

/// A configuration with learned detectors on golden checkpoints, which have random weights.
fn configuration(folder: &Path, models: &[(&str, &str)]) -> String {
    let section = |(preset, checkpoint): &(&str, &str)| {
        format!(
            "[models.{preset}]\npreset = \"{preset}\"\npath = \"tests/golden/checkpoints/{checkpoint}\"\n"
        )
    };
    let path = folder.join("groundline.toml");
    std::fs::write(&path, models.iter().map(section).collect::<String>()).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn each_detector_scores_every_sentence_beside_the_default_methods() {
    let dir = tempfile::tempdir().unwrap();
    let models = [("factcc", "bert"), ("alignscore", "roberta"), ("true", "t5-gated"), ("hhem", "t5-token")];
    let config = configuration(dir.path(), &models);
    let ran = run(&[&CHECK[..], &["default,factcc,alignscore,true,hhem", "--config", &config]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let result = ran.json();
    for name in ["factcc", "alignscore", "true", "hhem"] {
        let method = &result["methods"][name];
        assert_eq!(method["status"], "scored", "{name}: {method}");
        let score = method["score"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&score), "{name}: {method}");
    }
    let plain = run(&[&CHECK[..], &["default"]].concat()).json();
    assert_eq!(result["sentences"], plain["sentences"], "the model answers as before");
    assert_ne!(result["model"]["revision"], plain["model"]["revision"]);
}

#[test]
fn a_detector_that_is_asked_alone_decides_and_the_better_of_two_does() {
    let dir = tempfile::tempdir().unwrap();
    let config = configuration(dir.path(), &[("factcc", "bert"), ("hhem", "t5-token")]);
    let support = |methods: &str| {
        let result = run(&[&CHECK[..], &[methods, "--config", &config]].concat()).json();
        let sentence = &result["sentences"][0];
        assert_eq!(sentence["status"], "scored", "{methods}: {sentence}");
        assert!(sentence["verdict"].is_string(), "{methods}: {sentence}");
        sentence["support_probability"].as_f64().unwrap()
    };
    let (factcc, hhem) = (support("factcc"), support("hhem"));
    assert_ne!(factcc, hhem);
    assert_eq!(support("factcc,hhem"), hhem);
}

/// Spans of a result, each with what stands there in the response; each lies within its sentence.
fn spans_of<'a>(result: &'a serde_json::Value, response: &str) -> Vec<(usize, &'a str)> {
    let place = |value: &serde_json::Value, name: &str| value[name].as_u64().unwrap() as usize;
    let spans = result["spans"].as_array().unwrap().iter();
    let checked = |span: &'a serde_json::Value| {
        let (start, end, index) = (place(span, "start"), place(span, "end"), place(span, "sentence"));
        let sentence = &result["sentences"][index];
        assert!(place(sentence, "start") <= start && start < end && end <= place(sentence, "end"), "{span}");
        assert_eq!(span["text"].as_str().unwrap(), &response[start..end]);
        let probability = span["hallucination_probability"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&probability), "{span}");
        (index, span["source"].as_str().unwrap())
    };
    spans.map(checked).collect()
}

#[test]
fn a_token_classifier_marks_the_parts_of_the_response_and_agrees_with_the_sentences_that_it_decides() {
    let dir = tempfile::tempdir().unwrap();
    let config = configuration(dir.path(), &[("lettucedetect", "modernbert-token")]);
    let response = "Marie Curie was born in **Warsaw** 🙂 in 1867. 東京 is a city &amp; more.\n\n- She won in **1903**.\n- She won in **1903** twice.\n";
    let path = dir.path().join("response.md");
    std::fs::write(&path, response).unwrap();
    let path = path.to_string_lossy().into_owned();
    let source = dir.path().join("source.txt");
    std::fs::write(
        &source,
        "Marie Curie was born in Warsaw in 1867. She won the Nobel Prize in Physics in 1903.",
    )
    .unwrap();
    let source = source.to_string_lossy().into_owned();
    let ask = |methods: &str, more: &[&str]| {
        let source = ["check", "--source", &source, "--response", &path, "--json"];
        let ran = run(&[&source[..], &["--config", &config, "--methods", methods], more].concat());
        assert!(ran.status <= 1, "{ran:?}");
        ran.json()
    };
    let result = ask("lettucedetect", &[]);
    assert_eq!(result["methods"]["lettucedetect"]["status"], "scored", "{result}");
    let spans = spans_of(&result, response);
    assert!(spans.iter().all(|(_, source)| *source == "tokens"), "{spans:?}");
    let sentences = result["sentences"].as_array().unwrap();
    assert_eq!(sentences.len(), 4, "{sentences:?}");
    for (index, sentence) in sentences.iter().enumerate() {
        assert_eq!(sentence["status"], "scored", "{sentence}");
        let has_span = spans.iter().any(|(of, _)| *of == index);
        assert_eq!(sentence["verdict"] == "supported", !has_span, "{sentence}");
    }
    assert!(!spans.is_empty(), "a checkpoint with random weights calls something hallucinated");
    let beside = ask("entailment,lettucedetect", &["--facts"]);
    assert_eq!(beside["spans"], result["spans"], "facts stand in only where there are no tokens");
    let facts = ask("entailment", &["--facts"]);
    let of_facts = spans_of(&facts, response);
    assert!(of_facts.iter().all(|(_, source)| *source == "facts"), "{of_facts:?}");
    assert!(ask("numeric", &[]).get("spans").is_none());
}

#[test]
fn a_model_without_a_head_for_tokens_is_refused_as_a_token_classifier() {
    let dir = tempfile::tempdir().unwrap();
    let config = configuration(dir.path(), &[("lettucedetect", "bert")]);
    let ran = run(&[&CHECK[..], &["lettucedetect", "--config", &config]].concat());
    assert!(ran.status > 1 && ran.stderr.contains("GL4003"), "{ran:?}");
    assert!(ran.stderr.contains("ForTokenClassification"), "{ran:?}");
    let ran = run(&[&CHECK[..], &["numeric,lettucedetect"]].concat());
    let method = ran.json()["methods"]["lettucedetect"].clone();
    assert!(method["status"] == "failed" && method.to_string().contains("GL4008"), "{method}");
}

#[test]
fn a_detector_without_a_model_fails_and_says_what_to_do() {
    let ran = run(&[&CHECK[..], &["default,factcc"]].concat());
    let method = ran.json()["methods"]["factcc"].clone();
    assert_eq!(method["status"], "failed", "{method}");
    assert!(
        method.to_string().contains("GL4008") && method.to_string().contains("[models.factcc]"),
        "{method}"
    );
}

#[test]
fn a_section_that_is_wrong_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("groundline.toml");
    let cases = [
        ("[models.a]\npreset = \"factc\"\npath = \"x\"\n", "factc"),
        ("[models.a]\npreset = \"factcc\"\npath = \"x\"\nwindow = 3\n", "models.a.window"),
        (
            "[models.a]\npreset = \"factcc\"\npath = \"x\"\n[models.b]\npreset = \"factcc\"\npath = \"y\"\n",
            "models.a and models.b",
        ),
    ];
    for (text, says) in cases {
        std::fs::write(&path, text).unwrap();
        let ran = run(&["config", "check", &path.to_string_lossy()]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains(says), "{ran:?}");
    }
}
