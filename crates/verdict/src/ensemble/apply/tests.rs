use super::super::inputs::tests::result;
use super::super::{Binding, ENSEMBLE_SCHEMA, EnsembleProfile, GroupProfile, InputProfile, Transform};
use super::*;
use serde_json::json;

fn on() -> EnsembleUse {
    let input = InputProfile {
        name: "summac".to_owned(),
        transform: Transform::Logit,
        mean: 0.0,
        scale: 1.0,
        weight: 1.0,
    };
    let group = GroupProfile {
        name: "sources".to_owned(),
        intercept: 0.0,
        inputs: vec![input],
        correlation: vec![vec![1.0]],
    };
    let profile = EnsembleProfile {
        schema: ENSEMBLE_SCHEMA.to_owned(),
        name: "test".to_owned(),
        binding: Binding {
            model: "n".to_owned(),
            revision: "r".to_owned(),
            window_tokens: 96,
            detectors: serde_json::Map::new(),
        },
        prior_log_odds: 0.0,
        groups: vec![group],
        fitted_to: Vec::new(),
    };
    EnsembleUse::On(Arc::new(Ensemble::new(profile).unwrap()))
}

fn applied(ensemble: &EnsembleUse, result: serde_json::Value, excluded: &[&str]) -> CheckResult {
    let mut result = serde_json::from_value(result).unwrap();
    apply(ensemble, &mut result, excluded);
    result
}

#[test]
fn the_score_and_its_account_are_filled_in_and_nothing_else_changes() {
    let mut filled = applied(&on(), result(), &[]);
    assert_eq!(filled.scores.ensemble.unwrap().get(), 0.5);
    assert_eq!(filled.ensemble.take().unwrap().inputs[0].value, Some(0.5));
    filled.scores.ensemble = None;
    assert_eq!(filled, serde_json::from_value(result()).unwrap());
}

#[test]
fn where_its_methods_gave_nothing_a_note_says_so() {
    let mut failed = result();
    failed["methods"]["summac"]["status"] = json!("failed");
    let silent = applied(&on(), failed, &[]);
    assert_eq!((silent.scores.ensemble, &silent.ensemble), (None, &None));
    assert_eq!(silent.notes[0].code, Code::ENSEMBLE_SILENT);
}

#[test]
fn where_none_of_its_methods_was_asked_there_is_nothing_to_say() {
    let mut other = result();
    other["methods"].as_object_mut().unwrap().remove("summac");
    assert!(applied(&on(), other.clone(), &[]).notes.is_empty());
    other["methods"]["summac"] =
        json!({"status": "skipped", "score": null, "polarity": "higher_is_supported", "work_items": 0});
    assert!(applied(&on(), other, &[]).notes.is_empty());
    assert!(applied(&on(), result(), &["summac"]).notes.is_empty());
    assert!(applied(&EnsembleUse::Off, result(), &[]).notes.is_empty());
}

#[test]
fn a_profile_that_cannot_be_used_is_named_in_each_result_and_gives_no_number() {
    let refused = EnsembleUse::Refused(Problem::new(Code::ENSEMBLE_PROFILE, "the ensemble is off: why"));
    let result = applied(&refused, result(), &[]);
    assert_eq!((result.scores.ensemble, result.ensemble), (None, None));
    assert_eq!(
        (result.notes[0].code, result.notes[0].message.as_str()),
        (Code::ENSEMBLE_PROFILE, "the ensemble is off: why")
    );
}
