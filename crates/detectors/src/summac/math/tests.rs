use super::*;
use serde_json::Value;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/algorithms/summac.json");

fn columns(matrix: &Value) -> Vec<Vec<f64>> {
    let rows: Vec<Vec<f64>> = serde_json::from_value(matrix.clone()).unwrap();
    (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
}

fn golden_zs(case: &Value, options: &SummacOptions) -> f64 {
    let (entail, contradict) = (columns(&case["entail"]), columns(&case["contradict"]));
    let columns = entail.into_iter().zip(contradict).map(|(e, c)| zs_column(e, c, options).unwrap());
    zs(columns, options).unwrap()
}

#[test]
fn every_published_number_is_met_to_a_millionth() {
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap();
    let default = SummacOptions::default();
    let variants = [
        ("zs_max_mean_ent_con", default.clone()),
        ("zs_max_mean_ent", SummacOptions { use_contradiction: false, ..default.clone() }),
        ("zs_max_mean_con", SummacOptions { use_entailment: false, ..default.clone() }),
        ("zs_max_min", SummacOptions { second_operator: SummacOperator::Min, ..default.clone() }),
        ("zs_mean_mean", SummacOptions { first_operator: SummacOperator::Mean, ..default }),
    ];
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 16);
    for (index, case) in cases.iter().enumerate() {
        for (name, options) in &variants {
            let (ours, theirs) = (golden_zs(case, options), case[name].as_f64().unwrap());
            assert!((ours - theirs).abs() < 1e-6, "case {index} {name}: {ours} is not {theirs}");
        }
        let rows = columns(&case["entail"]).into_iter().map(|column| conv_row(&histogram(column)));
        let (ours, theirs) = (conv(rows.take(PUBLISHED_ROWS)), case["conv_mean"].as_f64().unwrap());
        assert!((ours - theirs).abs() < 1e-6, "case {index} conv: {ours} is not {theirs}");
    }
}

#[test]
fn conv_shows_the_behaviours_known_of_the_released_weights() {
    let of = |column: Vec<f64>| conv([conv_row(&histogram(column))]);
    // One perfect sentence tops out at 0.92; a long source without support scores higher than a short one.
    assert!((of(vec![0.997]) - 0.9195).abs() < 1e-4);
    assert!((of(vec![0.001; 20]) - 0.223).abs() < 1e-3);
    assert!((of(vec![0.001; 100]) - 0.340).abs() < 1e-3);
    assert!((conv([]) - 0.4083).abs() < 1e-4);
}

#[test]
fn bins_are_closed_to_the_left_and_the_last_one_to_both_sides() {
    let bin = |value: f64| histogram([value]).iter().position(|count| *count == 1);
    assert_eq!(bin(0.0), Some(0));
    assert_eq!(bin(0.01), Some(1));
    assert_eq!(bin(0.995), Some(22));
    assert_eq!(bin(1.0), Some(22));
    assert_eq!(bin(1.1), None);
    assert_eq!(bin(f64::NAN), None);
}

#[test]
fn operators_of_nothing_give_nothing() {
    for operator in [SummacOperator::Max, SummacOperator::Mean, SummacOperator::Min] {
        assert_eq!(reduce(operator, []), None);
        assert_eq!(reduce(operator, [0.25]), Some(0.25));
    }
    assert_eq!(reduce(SummacOperator::Mean, [0.0, 1.0]), Some(0.5));
    assert_eq!(reduce(SummacOperator::Min, [0.5, 0.1]), Some(0.1));
}
