use super::*;
use serde_json::{Value, json};

/// A result in which every method of the default set gave a number.
pub(in crate::ensemble) fn result() -> Value {
    let sentence = |support: f64, contradiction: f64| {
        json!({
            "text": "t", "start": 0, "end": 1, "status": "scored", "verdict": "supported", "support_probability": support,
            "contradiction_probability": contradiction, "neutral_probability": 0.1, "weight": 1.0, "tags": [],
            "reason": "entailed", "evidence": [], "facts": [],
        })
    };
    let method = |score: f64| json!({"status": "scored", "score": score, "polarity": "higher_is_supported", "work_items": 1});
    json!({
        "id": "i", "schema": "groundline.check/1", "status": "scored", "verdict": "supported", "action": "accept",
        "alert": false, "coverage": 1.0, "calibrated": false, "config_hash": "h",
        "scores": {"min": 0.5, "mean": 0.75, "weighted": 0.625, "summac": 0.5, "summac_zs": 0.25, "summac_conv": 0.25,
                   "ensemble": null},
        "model": {"name": "n", "revision": "r", "engine": "e"},
        "sentences": [sentence(0.5, 0.25), sentence(1.0, 0.0)],
        "methods": {"entailment": method(0.5), "summac": method(0.5), "summac_conv": method(0.25), "numeric": method(1.0)},
        "notes": [], "usage": {"pairs": 1, "embeddings": 2, "cache_hits": 3, "judge_tokens": 4},
        "timings": {"prepare_ms": 0.5, "score_ms": 1.5, "total_ms": 2.5},
    })
}

fn values(result: Value, excluded: &[&str]) -> BTreeMap<&'static str, f64> {
    input_values(&serde_json::from_value(result).unwrap(), excluded)
}

#[test]
fn every_method_of_the_default_set_is_read() {
    let expected = [
        ("contradiction", 0.25),
        ("mean", 0.75),
        ("min", 0.5),
        ("numeric", 1.0),
        ("summac", 0.5),
        ("summac_conv", 0.25),
        ("summac_zs", 0.25),
        ("weighted", 0.625),
    ];
    assert_eq!(values(result(), &[]).into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_method_that_abstained_or_must_not_count_has_no_value() {
    let mut abstained = result();
    abstained["methods"]["summac"]["status"] = json!("abstained");
    let found = values(abstained, &["numeric"]);
    assert!(!found.contains_key("summac") && !found.contains_key("summac_zs"), "{found:?}");
    assert!(!found.contains_key("numeric") && found.contains_key("summac_conv"), "{found:?}");
}

#[test]
fn numbers_over_a_part_of_the_sentences_do_not_count() {
    let mut partial = result();
    partial["sentences"][1]["status"] = json!("failed");
    assert!(values(partial, &[]).is_empty());
}

#[test]
fn samples_speak_where_there_is_no_source() {
    let mut samples = result();
    for sentence in samples["sentences"].as_array_mut().unwrap() {
        sentence["status"] = json!("abstained");
    }
    let scored = |status: &str| {
        json!({"selfcheck_nli": {"status": "scored", "score": 0.5, "polarity": "higher_is_hallucinated", "work_items": 1,
            "sentences": [{"status": "scored", "score": 0.5}, {"status": status, "score": null}]}})
    };
    samples["methods"] = scored("abstained");
    assert_eq!(values(samples.clone(), &[]).into_iter().collect::<Vec<_>>(), [("selfcheck_nli", 0.5)]);
    samples["methods"] = scored("failed");
    assert!(values(samples, &[]).is_empty());
}

#[test]
fn a_judges_verdicts_do_not_pass_for_what_entailment_found() {
    let mut judged = result();
    judged["sentences"][0]["reason"] = json!("judge");
    let found = values(judged, &[]);
    assert!(!found.contains_key("mean") && !found.contains_key("contradiction"), "{found:?}");
    assert_eq!(found.get("min"), Some(&0.5));
}

#[test]
fn every_input_is_named_once_and_log_odds_stay_finite() {
    let names: std::collections::BTreeSet<&str> = INPUTS.iter().map(|input| input.name).collect();
    assert_eq!(names.len(), INPUTS.len());
    for value in [0.0, 1.0, 0.5] {
        assert!(Transform::Logit.of(value).is_finite());
    }
    assert_eq!(Transform::Logit.of(0.5), 0.0);
    assert!((Transform::Logit.of(0.0) + Transform::Logit.of(1.0)).abs() < 1e-9);
}
