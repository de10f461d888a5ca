use super::super::{Binding, ENSEMBLE_SCHEMA, EnsembleProfile, InputProfile, Transform};
use super::*;
use proptest::prelude::*;

fn input(name: &str, weight: f64) -> InputProfile {
    InputProfile { name: name.to_owned(), transform: Transform::Identity, mean: 0.5, scale: 0.25, weight }
}

/// Two inputs that compare with sources, correlated by `correlation`, and one that compares with samples.
fn ensemble(correlation: f64) -> Ensemble {
    let group = |name: &str, intercept, inputs, correlation| GroupProfile {
        name: name.to_owned(),
        intercept,
        inputs,
        correlation,
    };
    let both = vec![vec![1.0, correlation], vec![correlation, 1.0]];
    Ensemble::new(EnsembleProfile {
        schema: ENSEMBLE_SCHEMA.to_owned(),
        name: "test".to_owned(),
        binding: Binding {
            model: "m".to_owned(),
            revision: "r".to_owned(),
            window_tokens: 96,
            detectors: serde_json::Map::new(),
        },
        prior_log_odds: 0.2,
        groups: vec![
            group("sources", 0.1, vec![input("mean", 1.0), input("numeric", 0.5)], both),
            group("samples", -0.3, vec![input("selfcheck_nli", -2.0)], vec![vec![1.0]]),
        ],
        fitted_to: Vec::new(),
    })
    .unwrap()
}

fn combine(ensemble: &Ensemble, values: &[(&str, f64)]) -> Option<EnsembleResult> {
    ensemble.combine(|name| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
}

#[test]
fn contributions_are_weights_times_deviations_and_add_up() {
    let result =
        combine(&ensemble(0.0), &[("mean", 1.0), ("numeric", 0.25), ("selfcheck_nli", 0.75)]).unwrap();
    let contributions: Vec<f64> = result.inputs.iter().filter_map(|input| input.contribution).collect();
    assert_eq!(contributions, [2.0, -0.5, -2.0]);
    assert!((result.baseline - 0.0).abs() < 1e-12, "{result:?}");
    assert!((result.log_odds - (-0.5)).abs() < 1e-12, "{result:?}");
    assert_eq!(result.inputs[2].method, "selfcheck_nli");
}

#[test]
fn a_group_without_any_input_adds_nothing_and_is_not_listed() {
    let result = combine(&ensemble(0.0), &[("mean", 1.0), ("numeric", 0.5)]).unwrap();
    assert_eq!(result.inputs.len(), 2);
    assert!((result.log_odds - (0.2 + 0.1 + 2.0)).abs() < 1e-12, "{result:?}");
    let samples = combine(&ensemble(0.0), &[("selfcheck_nli", 0.5)]).unwrap();
    assert!((samples.log_odds - (0.2 - 0.3)).abs() < 1e-12, "{samples:?}");
}

#[test]
fn where_all_abstain_there_is_no_number() {
    assert_eq!(combine(&ensemble(0.5), &[]), None);
    assert_eq!(combine(&ensemble(0.5), &[("support", 1.0)]), None);
}

#[test]
fn a_missing_input_that_is_like_another_is_spoken_for_by_it() {
    let whole = combine(&ensemble(1.0), &[("mean", 0.75), ("numeric", 0.75)]).unwrap();
    let without = combine(&ensemble(1.0), &[("mean", 0.75)]).unwrap();
    assert!((whole.log_odds - without.log_odds).abs() < 0.02, "{whole:?} {without:?}");
    let silent = &without.inputs[1];
    assert_eq!((silent.name.as_str(), silent.value, silent.contribution), ("numeric", None, None));
}

#[test]
fn a_missing_input_that_is_like_no_other_counts_as_average_and_makes_less_sure() {
    let full = combine(&ensemble(0.0), &[("mean", 1.0), ("numeric", 0.5)]).unwrap();
    let without = combine(&ensemble(0.0), &[("mean", 1.0)]).unwrap();
    // Its part of the log-odds has the variance 0.5²: 1 / √(1 + π/8 · 0.25).
    let shrink = 1.0 / (1.0 + std::f64::consts::PI / 8.0 * 0.25_f64).sqrt();
    let expected = 0.2 + shrink * (0.1 + full.inputs[0].contribution.unwrap());
    assert!((without.log_odds - expected).abs() < 1e-9, "{without:?}");
}

#[test]
fn log_odds_become_probabilities_and_what_is_not_finite_becomes_none() {
    assert_eq!(probability(0.0).unwrap().get(), 0.5);
    assert_eq!(probability(800.0).unwrap().get(), 1.0);
    assert_eq!(probability(-800.0).unwrap().get(), 0.0);
    assert_eq!(probability(f64::NAN), None);
    assert_eq!(combine(&ensemble(0.0), &[("mean", f64::INFINITY), ("numeric", 0.5)]), None);
}

proptest! {
    #[test]
    fn more_support_never_lowers_the_log_odds(
        correlation in -0.9..0.9_f64, low in 0.0..1.0_f64, more in 0.0..1.0_f64, other in proptest::option::of(0.0..1.0_f64),
    ) {
        let ensemble = ensemble(correlation.max(0.0));
        let at = |value: f64| {
            let values: Vec<(&str, f64)> = std::iter::once(("mean", value)).chain(other.map(|other| ("numeric", other))).collect();
            combine(&ensemble, &values).unwrap().log_odds
        };
        prop_assert!(at(low + more) >= at(low) - 1e-9);
    }
}
