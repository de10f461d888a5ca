use super::*;
use crate::config::{IsaChoice, default_toml};

fn load(text: &str) -> Result<Config, String> {
    ConfigLayers::default().toml(text).load().map_err(|problem| {
        assert_eq!(problem.code, Code::INVALID_CONFIG);
        problem.message
    })
}

fn variables<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn the_printed_defaults_are_the_defaults() {
    assert_eq!(load(&default_toml()), Ok(Config::default()));
    assert_eq!(load(""), Ok(Config::default()));
}

#[test]
fn an_unknown_key_is_refused_and_the_nearest_is_named() {
    let message = load("[engine]\nthread = 2").unwrap_err();
    assert_eq!(message, "the configuration: unknown key `engine.thread`; did you mean `engine.threads`?");
    let message = load("[model]\nthreads = 2").unwrap_err();
    assert!(message.ends_with("did you mean `engine.threads`?"), "{message}");
    let message = load("[colours]\nblue = 2").unwrap_err();
    assert!(message.contains("`colours.blue`; `groundline config default`"), "{message}");
}

#[test]
fn errors_of_syntax_and_type_say_where() {
    let message = load("[engine]\nthreads = = 2").unwrap_err();
    assert!(message.starts_with("the configuration, line 2: "), "{message}");
    let message = load("[engine]\nthreads = \"many\"").unwrap_err();
    assert!(message.contains("engine.threads"), "{message}");
    let message = load("[engine]\nthreads = -1").unwrap_err();
    assert!(message.contains("engine.threads"), "{message}");
    let message = load("[engine]\nthreads = 99999999").unwrap_err();
    assert_eq!(message, "engine.threads is 99999999, at most 1024 are started; 0 is one for each core");
    assert_eq!(load("[engine]\nthreads = 1024").unwrap().engine.threads, 1024);
    let message = load("[nats]\nreplicas = 2").unwrap_err();
    assert!(message.contains("replicas must be"), "{message}");
    let message = load("[output]\nevidence = 4").unwrap_err();
    assert!(message.contains("output.evidence"), "{message}");
}

#[test]
fn later_layers_win() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groundline.toml");
    std::fs::write(&path, "[engine]\nthreads = 1\nisa = \"avx2\"\n[output]\nevidence = 0").unwrap();
    let config = ConfigLayers::default()
        .file(&path)
        .environment(variables([("GROUNDLINE_ENGINE_THREADS", "2"), ("GROUNDLINE_OUTPUT_EVIDENCE", "3")]))
        .set("output.evidence", 2)
        .load()
        .unwrap();
    let engine = config.engine;
    assert_eq!((engine.threads, engine.isa, config.output.evidence), (2, IsaChoice::Avx2, 2));
}

#[test]
fn a_word_that_a_setting_does_not_take_is_told_with_those_it_takes() {
    let told = |text: &str| load(text).unwrap_err();
    assert_eq!(
        told("[engine]\nisa = \"sse9\""),
        "engine.isa is \"sse9\", it must be auto, avx512-bf16, avx512, avx2, neon-bf16, neon or portable"
    );
    assert_eq!(
        told("[engine]\nprecision = \"fp16\""),
        "engine.precision is \"fp16\", it must be f32, auto, bf16 or int8"
    );
    assert!(told("[detectors.selfcheck]\nnli_premise = \"x\"").contains("it must be sentence or sample"));
    assert!(told("[reward]\nprofile = \"x\"").contains("ternary or binary_contradiction"));
}

#[test]
fn an_instruction_set_is_named_as_the_engine_names_it() {
    for isa in groundline_inference::cpu::Isa::ALL {
        let config = ConfigLayers::default().environment(variables([("GROUNDLINE_ISA", isa.name())])).load();
        assert_eq!(config.unwrap().engine.isa.cap(), Some(isa));
    }
}

#[test]
fn variables_have_shortcuts_and_lists_and_strangers_are_left_alone() {
    let config = ConfigLayers::default()
        .environment(variables([
            ("GROUNDLINE_MODEL", "my-model"),
            ("GROUNDLINE_MODEL_LABELS", "entailment, contradiction"),
            ("GROUNDLINE_PORT", "tcp://10.0.0.1:80"),
            ("GROUNDLINE_SERVICE_HOST", "10.0.0.1"),
            ("HOME", "/"),
        ]))
        .load()
        .unwrap();
    assert_eq!(config.model.name, "my-model");
    assert_eq!(config.model.labels, ["entailment", "contradiction"]);
    let layers = ConfigLayers::default().environment(variables([("GROUNDLINE_THREADS", "many")]));
    assert_eq!(layers.load().unwrap_err().code, Code::INVALID_CONFIG);
}

#[test]
fn a_missing_file_is_unreadable() {
    let layers = ConfigLayers::default().file("/nonexistent/groundline.toml");
    assert_eq!(layers.load().unwrap_err().code, Code::UNREADABLE_FILE);
}

#[test]
fn policies_are_sections_with_names_of_ones_own() {
    let load = |text: &str| ConfigLayers::default().toml(text).load();
    let text = "[policies.fast]\nalways = [\"entailment\"]\n[policies.fast.grey_zone]\nmethods = [\"summac\"]\nsupport_to = 0.6";
    let config = load(text).unwrap();
    let zone = config.policies["fast"].grey_zone.clone().unwrap();
    assert_eq!((zone.support_from, zone.support_to), (0.3, 0.6));
    for (text, expected) in [
        ("[policies.fast]\nallways = [\"entailment\"]", "did you mean `policies.fast.always`?"),
        (
            "[policies.fast]\nalways = [\"entailment\"]\naudit = { method = [], rate = 1 }",
            "`policies.fast.audit.methods`?",
        ),
        ("[policies.fast]\nalways = [\"entailmant\"]", "policies.fast: unknown method"),
        ("[policies.fast]\nalways = []", "policies.fast: `policy.always` is empty"),
        ("[reward]\nnot_mentioned_reward = 0.5", "reward.not_mentioned_reward is 0.5"),
    ] {
        let problem = load(text).unwrap_err();
        assert_eq!(problem.code, Code::INVALID_CONFIG, "{text}");
        assert!(problem.message.contains(expected), "{problem}");
    }
}
