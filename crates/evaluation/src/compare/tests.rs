use super::*;
use crate::fit::tests::{fitted, items};

#[test]
fn sets_that_the_weights_have_seen_are_left_out() {
    let ensemble = fitted().ensemble;
    let mut both = items("a", 200, 1);
    both.extend(items("new", 200, 5));
    let comparison = compare(&ensemble, &["mean"], &both, 10).unwrap();
    let names: Vec<&str> = comparison.sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names, ["new"]);
    assert_eq!(compare(&ensemble, &["mean"], &items("a", 200, 1), 10).unwrap_err().code, Code::INVALID_FIELD);
    assert!(compare(&ensemble, &["intuition"], &both, 10).unwrap_err().message.contains("intuition"));
}

#[test]
fn every_set_counts_the_same_and_the_best_input_is_named() {
    let ensemble = fitted().ensemble;
    let mut both = items("large", 1000, 5);
    both.extend(items("small", 100, 6));
    let comparison = compare(&ensemble, &["contradiction", "mean", "numeric"], &both, 200).unwrap();
    assert_eq!(comparison.contenders, ["ensemble", "contradiction", "mean", "numeric"]);
    assert_eq!(comparison.best_input, "mean");
    for (index, area) in comparison.macro_auc.iter().enumerate() {
        let mean = comparison.sets.iter().map(|set| set.auc[index].value).sum::<f64>() / 2.0;
        assert!((area.value - mean).abs() < 1e-12);
        assert!(area.low < area.value && area.value < area.high, "{area:?}");
    }
    let gain = comparison.macro_auc[0].value - comparison.macro_auc[2].value;
    assert!((comparison.gain.value - gain).abs() < 1e-12);
    assert!(
        comparison.gain.high - comparison.gain.low
            < comparison.macro_auc[0].high - comparison.macro_auc[0].low
    );
}

#[test]
fn a_response_without_one_of_the_inputs_is_left_out_for_all() {
    let ensemble = fitted().ensemble;
    let mut some = items("new", 200, 5);
    some[3].inputs.remove("mean");
    let comparison = compare(&ensemble, &["mean", "numeric"], &some, 10).unwrap();
    assert_eq!((comparison.left_out, comparison.sets[0].responses), (1, 199));
}

#[test]
fn the_comparison_is_the_same_each_time_and_survives_writing() {
    let ensemble = fitted().ensemble;
    let comparison = compare(&ensemble, &["mean"], &items("new", 200, 5), 50).unwrap();
    assert_eq!(comparison, compare(&ensemble, &["mean"], &items("new", 200, 5), 50).unwrap());
    let written = serde_json::to_string(&comparison).unwrap();
    let read: Comparison = serde_json::from_str(&written).unwrap();
    assert_eq!(read.contenders, comparison.contenders);
}
