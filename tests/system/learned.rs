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
