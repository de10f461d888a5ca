use super::*;
use crate::compare;

/// Numbers in 0..1 without a pattern.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 31)
    }
}

pub(crate) fn binding() -> Binding {
    let (model, revision) = ("mini".to_owned(), "a1".to_owned());
    Binding { model, revision, window_tokens: 96, detectors: serde_json::Map::new() }
}

/// Responses whose log-odds are 1.5 times those of `mean`, less 0.8 times those of `contradiction`, and 0.7 times those of `summac`,
/// which is like `mean`; `numeric` says nothing.
pub(crate) fn items(set: &str, count: usize, seed: u64) -> Vec<Item> {
    let mut noise = Noise(seed);
    let mut item = || {
        let (x, y) = (4.0 * noise.next() - 2.0, 4.0 * noise.next() - 2.0);
        let z = x + 2.0 * noise.next() - 1.0;
        let probability = |log_odds: f64| 1.0 / (1.0 + (-log_odds).exp());
        let inputs = BTreeMap::from([
            ("mean", probability(x)),
            ("contradiction", probability(y)),
            ("summac", probability(z)),
            ("numeric", noise.next()),
        ]);
        Item {
            set: set.to_owned(),
            is_supported: noise.next() < probability(1.5 * x - 0.8 * y + 0.7 * z),
            inputs,
        }
    };
    (0..count).map(|_| item()).collect()
}

fn plan() -> GroupPlan {
    let inputs = ["mean", "contradiction", "summac", "numeric"].map(str::to_owned).to_vec();
    GroupPlan { name: "sources".to_owned(), inputs }
}

pub(crate) fn fitted() -> FitOutcome {
    let items: Vec<Item> =
        [("a", 1), ("b", 2), ("c", 3)].iter().flat_map(|(set, seed)| items(set, 2000, *seed)).collect();
    fit("test", binding(), &[plan()], &items).unwrap()
}

#[test]
fn known_weights_are_found_with_their_direction_and_the_fit_is_the_same_each_time() {
    let outcome = fitted();
    assert_eq!(outcome, fitted());
    let group = &outcome.ensemble.profile().groups[0];
    let by_name = |name: &str| group.inputs.iter().find(|input| input.name == name);
    // Weights are for each standard deviation, so this is what they are for each unit of log-odds.
    let slope = |name: &str| by_name(name).map_or(0.0, |input| input.weight / input.scale);
    // A strong penalty is as good here, and lets inputs that are alike share what they say.
    assert!((slope("mean") - 1.5).abs() < 0.4, "{group:?}");
    assert!((slope("summac") - 0.7).abs() < 0.4, "{group:?}");
    assert!((slope("mean") + slope("summac") - 2.2).abs() < 0.25, "{group:?}");
    assert!((slope("contradiction") + 0.8).abs() < 0.3, "{group:?}");
    assert!(slope("numeric").abs() < 0.3, "{group:?}");
}

#[test]
fn probabilities_are_calibrated_on_responses_that_were_not_fitted() {
    let outcome = fitted();
    let comparison =
        compare(&outcome.ensemble, &["mean", "contradiction"], &items("new", 4000, 9), 20).unwrap();
    assert!(comparison.sets[0].calibration_error < 0.03, "{comparison:?}");
    assert!(comparison.gain.low > 0.0, "{comparison:?}");
}

#[test]
fn without_a_method_probabilities_stay_calibrated() {
    let outcome = fitted();
    let inputs = ["mean", "contradiction", "summac"];
    let comparison = compare(&outcome.ensemble, &inputs, &items("new", 4000, 9), 1).unwrap();
    let methods: Vec<&str> = comparison.without.iter().map(|row| row.method.as_str()).collect();
    assert_eq!(methods, ["entailment", "summac"]);
    for row in &comparison.without {
        assert!(row.macro_calibration_error < 0.05, "{row:?}");
        assert!(row.macro_auc < comparison.macro_auc[0].value, "{row:?}");
    }
    assert!(comparison.without[0].macro_auc > 0.6, "what is like it stands in: {comparison:?}");
}

#[test]
fn a_number_that_speaks_against_its_meaning_gets_no_weight() {
    let mut turned = items("a", 2000, 1);
    turned.extend(items("b", 2000, 2));
    for item in &mut turned {
        let swapped = 1.0 - item.inputs["contradiction"];
        item.inputs.insert("contradiction", swapped);
    }
    let outcome = fit("test", binding(), &[plan()], &turned).unwrap();
    let inputs = &outcome.ensemble.profile().groups[0].inputs;
    assert!(inputs.iter().all(|input| input.name != "contradiction"), "{inputs:?}");
}

#[test]
fn responses_with_a_missing_input_are_counted_and_one_set_is_fitted_in_folds() {
    let mut one = items("a", 500, 1);
    one[0].inputs.remove("mean");
    let outcome = fit("test", binding(), &[plan()], &one).unwrap();
    assert_eq!(outcome.left_out, 1);
    let set = &outcome.ensemble.profile().fitted_to[0];
    assert_eq!((set.name.as_str(), set.responses), ("a", 499));
    assert_eq!(outcome.trials[0].2.len(), PENALTIES.len());
}

#[test]
fn a_group_that_no_response_has_is_left_out_and_without_any_nothing_is_fitted() {
    let groups = [default_groups().remove(1), plan()];
    let outcome = fit("test", binding(), &groups, &items("a", 500, 1)).unwrap();
    assert_eq!(outcome.ensemble.profile().groups.len(), 1);
    let problem = fit("test", binding(), &default_groups(), &items("a", 500, 1)).unwrap_err();
    assert_eq!(problem.code, Code::INVALID_FIELD);
}

#[test]
fn the_default_groups_name_known_inputs() {
    for group in default_groups() {
        assert!(group.inputs.iter().all(|name| InputInfo::named(name).is_some()), "{group:?}");
    }
}
