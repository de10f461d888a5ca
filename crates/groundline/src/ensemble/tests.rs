use super::*;
use groundline_detectors::NliPremise;
use groundline_inference::Engine;
use groundline_testkit::{ToyEngine, ToyHooks};
use serde_json::json;

/// A profile for the toy engine.
fn profile(facts: &ModelFacts) -> Value {
    let binding = binding(&Config::default(), facts).unwrap();
    json!({
        "schema": "groundline.ensemble/1", "name": "toy", "binding": binding, "prior_log_odds": 0.0, "fitted_to": [],
        "groups": [{"name": "sources", "intercept": 0.0, "correlation": [[1.0]], "inputs": [
            {"name": "mean", "transform": "logit", "mean": 0.0, "scale": 1.0, "weight": 1.0}]}],
    })
}

fn named(file: &Path) -> Config {
    let mut config = Config::default();
    config.ensemble.profile = file.display().to_string();
    config
}

#[test]
fn a_profile_for_this_model_is_used_and_changes_the_hash_of_the_configuration() {
    let (engine, folder) = (ToyEngine::new(ToyHooks::default()), tempfile::tempdir().unwrap());
    let file = folder.path().join("p.json");
    std::fs::write(&file, profile(engine.facts()).to_string()).unwrap();
    let config = named(&file);
    let used = ensemble_named(&config, engine.facts()).unwrap();
    assert!(matches!(used, EnsembleUse::On(_)), "{used:?}");
    let hash = |ensemble| config_hash(&config, engine.facts(), &ensemble).unwrap();
    assert_ne!(hash(used), hash(EnsembleUse::Off));
}

#[test]
fn a_named_profile_of_another_model_or_of_other_settings_is_refused() {
    let (engine, folder) = (ToyEngine::new(ToyHooks::default()), tempfile::tempdir().unwrap());
    let file = folder.path().join("p.json");
    std::fs::write(&file, profile(engine.facts()).to_string()).unwrap();
    let other = engine.facts().clone();
    let other = ModelFacts { window_tokens: other.window_tokens + 1, ..other };
    let problem = ensemble_named(&named(&file), &other).unwrap_err();
    assert_eq!(problem.code, Code::ENSEMBLE_PROFILE);
    let mut config = named(&file);
    config.detectors.contradiction_neighbours += 1;
    let problem = ensemble_named(&config, engine.facts()).unwrap_err();
    assert!(problem.message.contains("detectors.contradiction_neighbours"), "{problem}");
    config = named(&file);
    config.detectors.candidate_sentences = 8;
    let refused = |config: &Config| ensemble_named(config, engine.facts()).unwrap_err().message;
    assert!(refused(&config).contains("detectors.candidate_sentences"));
    let mut older = profile(engine.facts());
    older["binding"]["detectors"].as_object_mut().unwrap().remove("candidate_sentences").unwrap();
    std::fs::write(&file, older.to_string()).unwrap();
    assert!(refused(&config).contains("detectors.candidate_sentences"), "it was fitted to all evidence");
    config.detectors.candidate_sentences = 0;
    let selfcheck = older["binding"]["detectors"]["selfcheck"].as_object_mut().unwrap();
    selfcheck.remove("nli_premise").unwrap();
    std::fs::write(&file, older.to_string()).unwrap();
    config.detectors.selfcheck.nli_premise = NliPremise::Sample;
    assert!(refused(&config).contains("detectors.selfcheck"), "it was fitted with the sentence as premise");
    config.detectors.selfcheck.nli_premise = NliPremise::Sentence;
    assert!(matches!(ensemble_named(&config, engine.facts()), Ok(EnsembleUse::On(_))));
    std::fs::write(&file, "{").unwrap();
    assert_eq!(ensemble_named(&named(&file), engine.facts()).unwrap_err().code, Code::ENSEMBLE_PROFILE);
    let missing = named(&folder.path().join("none.json"));
    assert_eq!(ensemble_named(&missing, engine.facts()).unwrap_err().code, Code::UNREADABLE_FILE);
}

#[test]
fn beside_a_model_an_unusable_profile_is_told_of_and_off_stays_off() {
    let (engine, folder) = (ToyEngine::new(ToyHooks::default()), tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("config.json"), "{}").unwrap();
    let mut config = Config::default();
    config.model.name = folder.path().display().to_string();
    config.ensemble.profile = PROFILE_AUTO.to_owned();
    assert_eq!(ensemble_of(&config, engine.facts()), Ok(EnsembleUse::Off));
    std::fs::write(folder.path().join(PROFILE_FILE), r#"{"schema": "groundline.ensemble/9"}"#).unwrap();
    let EnsembleUse::Refused(problem) = ensemble_of(&config, engine.facts()).unwrap() else { panic!("used") };
    assert_eq!(problem.code, Code::ENSEMBLE_PROFILE);
    std::fs::write(folder.path().join(PROFILE_FILE), profile(engine.facts()).to_string()).unwrap();
    assert!(matches!(ensemble_of(&config, engine.facts()), Ok(EnsembleUse::On(_))));
    config.ensemble.profile = PROFILE_OFF.to_owned();
    assert_eq!(ensemble_of(&config, engine.facts()), Ok(EnsembleUse::Off));
}

#[test]
fn the_weights_that_ship_fit_the_model_that_ships() {
    let mut config = Config::default();
    config.ensemble.profile = PROFILE_AUTO.to_owned();
    let facts = read_model_facts(&config).unwrap();
    let used = ensemble_of(&config, &facts).unwrap();
    assert!(matches!(used, EnsembleUse::On(_)), "{used:?}");
    assert_eq!(ensemble_of(&Config::default(), &facts), Ok(EnsembleUse::Off), "off by default");
}
