//! Running pairs in every precision.

use super::{MeasuredPrecision, PRECISION_ARITHMETIC, Precision, PrecisionChoice, PrecisionRecord};
use crate::backend::DeviceChoice;
use crate::engine::{Encoded, Engine};
use crate::model::{LoadOptions, Model};
use groundline_types::{Code, Problem, Score, Work};
use std::path::Path;

/// Pairs between two calls of `progress`.
const STEP_PAIRS: usize = 64;

/// Scores `pairs` with the model in `folder` in every precision, on the processor, and compares each with single precision.
/// `text` says where the pairs are from. `progress` is told which precision runs, and how many of the pairs are done. Blocks, for as
/// long as the pairs take five times.
///
/// # Errors
/// As [`Model::load`]; of the pairs, the first that cannot be scored, such as one that is longer than the model reads;
/// [`Code::INVALID_FIELD`] without a pair.
pub fn measure_precision(
    folder: &Path,
    options: &LoadOptions,
    pairs: &[Work],
    text: &str,
    mut progress: impl FnMut(Precision, usize),
) -> Result<PrecisionRecord, Problem> {
    if pairs.is_empty() {
        return Err(Problem::new(Code::INVALID_FIELD, "there is no pair to measure with"));
    }
    let mut run = |precision: Precision| {
        let choice = PrecisionChoice::Exactly(precision);
        let options = LoadOptions { device: DeviceChoice::Cpu, precision: choice, ..options.clone() };
        let model = Model::load(folder, &options)?;
        let scored = score(&model, pairs, |done| progress(precision, done))?;
        Ok::<_, Problem>((model.facts().id.revision.clone(), scored))
    };
    let (revision, exact) = run(Precision::F32)?;
    let mut measured = Vec::new();
    for precision in Precision::ALL.into_iter().filter(|precision| *precision != Precision::F32) {
        measured.push(compare(precision, &exact, &run(precision)?.1));
    }
    Ok(PrecisionRecord {
        revision,
        arithmetic: PRECISION_ARITHMETIC,
        pairs: pairs.len(),
        text: text.to_owned(),
        measured,
    })
}

/// The probabilities of every pair.
fn score(model: &Model, pairs: &[Work], mut progress: impl FnMut(usize)) -> Result<Vec<Vec<f64>>, Problem> {
    let encoded = pairs.iter().map(|pair| model.encode(pair)).collect::<Result<Vec<Encoded>, _>>()?;
    let mut all = Vec::with_capacity(pairs.len());
    for part in encoded.chunks(STEP_PAIRS) {
        for score in model.run(part) {
            match score? {
                Score::Logits(logits) => all.push(probabilities(&logits)),
                _ => return Err(Problem::new(Code::INTERNAL, "the model gave no logits for a pair")),
            }
        }
        progress(all.len());
    }
    Ok(all)
}

/// Softmax; of a single logit, its sigmoid and what is left.
fn probabilities(logits: &[f32]) -> Vec<f64> {
    let logits: Vec<f64> = match logits {
        [one] => vec![0.0, f64::from(*one)],
        several => several.iter().map(|&logit| f64::from(logit)).collect(),
    };
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| (logit - top).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

fn compare(precision: Precision, exact: &[Vec<f64>], other: &[Vec<f64>]) -> MeasuredPrecision {
    let (mut drift, mut largest_drift, mut classes) = (0.0, 0.0_f64, 0);
    let (mut equal, mut largest_margin) = (0, 0.0_f64);
    for (exact, other) in exact.iter().zip(other) {
        for (exact, other) in exact.iter().zip(other) {
            let one = (exact - other).abs();
            (drift, largest_drift, classes) = (drift + one, largest_drift.max(one), classes + 1);
        }
        let (first, margin) = decision(exact);
        if decision(other).0 == first {
            equal += 1;
        } else {
            largest_margin = largest_margin.max(margin);
        }
    }
    MeasuredPrecision {
        precision,
        mean_drift: drift / f64::from(classes.max(1)),
        largest_drift,
        agreement: f64::from(equal) / exact.len().max(1) as f64,
        largest_margin,
    }
}

/// The most probable class, and how much more probable it is than the second.
fn decision(probabilities: &[f64]) -> (usize, f64) {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
    let margin = probabilities[order[0]] - order.get(1).map_or(0.0, |&second| probabilities[second]);
    (order[0], margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_agreement_and_margins_are_counted() {
        let exact = [vec![0.5, 0.3, 0.2], vec![0.4, 0.35, 0.25]];
        let other = [vec![0.5, 0.3, 0.2], vec![0.35, 0.4, 0.25]];
        let measured = compare(Precision::Int8, &exact, &other);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(measured.mean_drift, 0.1 / 6.0) && near(measured.largest_drift, 0.05));
        assert!(near(measured.agreement, 0.5) && near(measured.largest_margin, 0.05));
    }

    #[test]
    fn a_single_logit_is_a_probability_and_its_rest() {
        let found = probabilities(&[0.0]);
        assert_eq!(found, [0.5, 0.5]);
        assert!((probabilities(&[2.0])[1] - 0.880_797_077_977_882_3).abs() < 1e-12);
    }
}
