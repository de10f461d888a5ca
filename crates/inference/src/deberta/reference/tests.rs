use super::*;
use crate::golden::Golden;
use crate::testing::{GOLDEN_CHECKPOINTS, Opened, mini};

#[test]
fn the_error_function_agrees_with_published_values() {
    let published = [
        (0.1, 0.1124629160182849),
        (0.5, 0.5204998778130465),
        (1.0, 0.8427007929497149),
        (2.0, 0.9953222650189527),
        (3.5, 0.9999992569016276),
        (-1.3, -0.9340079449406524),
        (7.0, 1.0),
        (0.0, 0.0),
    ];
    for (x, value) in published {
        assert!((erf(x) - value).abs() < 1e-14, "erf({x}) = {}", erf(x));
    }
}

/// What the f64 oracle may differ from a reference that computes in f32.
const TOLERANCE: f64 = 5e-5;

fn largest_difference(ours: &[f64], theirs: &[f32]) -> f64 {
    let pairs = ours.iter().zip(theirs);
    pairs.map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a })
}

#[test]
fn the_oracle_agrees_with_transformers_on_every_layout() {
    for name in GOLDEN_CHECKPOINTS {
        let opened = Opened::golden(name);
        let golden = Golden::parse(&opened.golden).unwrap();
        let reference = Reference::new(&opened.config, &opened.weights);
        for case in &golden.cases {
            let (ids, types) = (case.input_ids.as_ref().unwrap(), case.token_type_ids.as_ref().unwrap());
            let out = reference.run(ids, types);
            let logits = largest_difference(out.logits_of(Head::Nli), &case.logits);
            let mean = largest_difference(&out.mean_hidden(), case.mean_hidden.as_ref().unwrap());
            assert!(logits < TOLERANCE && mean < TOLERANCE, "{name}: logits {logits}, mean hidden {mean}");
        }
    }
}

#[test]
fn the_oracle_agrees_with_transformers_on_groundline_mini() {
    let opened = mini();
    let golden = Golden::parse(&opened.golden).unwrap();
    let reference = Reference::new(&opened.config, &opened.weights);
    // The short cases: f64 written for clearness takes a second for a long one.
    let short: Vec<_> = golden.cases.iter().filter(|case| case.tokens.unwrap() <= 45).collect();
    assert!(short.len() >= 8, "{} short cases", short.len());
    for case in short.into_iter().step_by(2) {
        let encoded = opened.tokenizer.encode_pair(&case.premise, &case.hypothesis, Head::Nli).unwrap();
        assert_eq!(encoded.ids.len(), case.tokens.unwrap());
        let out = reference.run(&encoded.ids, &encoded.type_ids);
        let nli = largest_difference(out.logits_of(Head::Nli), &case.logits);
        let support = largest_difference(out.logits_of(Head::Support), case.support_logits.as_ref().unwrap());
        assert!(nli < TOLERANCE && support < TOLERANCE, "nli {nli}, support {support}");
    }
    let text = &golden.embeddings[0];
    let encoded = opened.tokenizer.encode_text(&text.text).unwrap();
    let mut mean = reference.run(&encoded.ids, &encoded.type_ids).mean_hidden();
    let length = dot(&mean, &mean).sqrt();
    mean.iter_mut().for_each(|value| *value /= length);
    assert!(largest_difference(&mean, &text.mean_pooled_normalised) < TOLERANCE);
}
