//! Comparing a model with the reference results that its folder carries.

use crate::cpu::Output;
use crate::engine::{Encoded, Task};
use crate::golden::{Golden, GoldenCase};
use crate::mapped::read_file;
use crate::model::{Model, normalised};
use groundline_types::{Head, Problem};

/// Most that a number may differ from the reference implementation's. Both compute in f32, in another order: on checkpoints
/// of this size the difference is about 1e-5, and a wrong formula shows as 1e-2 or more.
pub const VERIFY_TOLERANCE: f32 = 1e-3;

/// What [`Model::verify`] found.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VerifyReport {
    /// Whether the folder has reference results at all (`golden.json`).
    pub has_golden: bool,
    /// Pairs whose tokens differ from the reference's.
    pub token_mismatches: usize,
    /// Most that a number may differ: [`VERIFY_TOLERANCE`] on the processor; more on a GPU, which computes in half precision.
    pub tolerance: f32,
    /// One entry for each kind of number.
    pub comparisons: Vec<Comparison>,
}

/// One kind of number, compared over all cases.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// What was compared: `nli logits`, `support logits`, `mean hidden` or `embeddings`.
    pub what: &'static str,
    /// How many pairs or texts.
    pub cases: usize,
    /// Largest absolute difference; infinite where an answer is missing or has another size.
    pub largest_difference: f32,
}

impl VerifyReport {
    /// Whether every number is within the tolerance and every token the same.
    pub fn has_passed(&self) -> bool {
        let close = |comparison: &Comparison| comparison.largest_difference <= self.tolerance;
        self.token_mismatches == 0 && self.comparisons.iter().all(close)
    }
}

/// A sequence to run and what to expect of it.
struct Expectation<'a> {
    what: &'static str,
    encoded: Encoded,
    numbers: &'a [f32],
}

const KINDS: [&str; 4] = ["nli logits", "support logits", "mean hidden", "embeddings"];

impl Model {
    /// Scores every case of the folder's `golden.json` and compares. Without that file there is nothing to compare, and the report
    /// says so.
    ///
    /// # Errors
    /// Where `golden.json` cannot be read.
    pub fn verify(&self) -> Result<VerifyReport, Problem> {
        let Some(bytes) = read_file(&self.folder.join("golden.json"))? else {
            let tolerance = self.encoder.tolerance();
            let comparisons = Vec::new();
            return Ok(VerifyReport { has_golden: false, token_mismatches: 0, tolerance, comparisons });
        };
        self.verify_against(&Golden::parse(&bytes)?)
    }

    fn verify_against(&self, golden: &Golden) -> Result<VerifyReport, Problem> {
        let mut expectations = Vec::new();
        let mut token_mismatches = 0;
        for case in &golden.cases {
            let encoded = self.tokenizer.encode_pair_cut(&case.premise, &case.hypothesis, Head::Nli)?;
            token_mismatches += usize::from(!has_same_tokens(case, &encoded));
            expect(&mut expectations, case, &encoded);
        }
        for text in &golden.embeddings {
            let encoded = self.tokenizer.encode_text(&text.text)?;
            expectations.push(Expectation { what: KINDS[3], encoded, numbers: &text.mean_pooled_normalised });
        }
        let (tolerance, comparisons) = (self.encoder.tolerance(), self.compare(expectations));
        Ok(VerifyReport { has_golden: true, token_mismatches, tolerance, comparisons })
    }

    fn compare(&self, expectations: Vec<Expectation<'_>>) -> Vec<Comparison> {
        let (batch, expected): (Vec<Encoded>, Vec<_>) = expectations
            .into_iter()
            .map(|expectation| (expectation.encoded, (expectation.what, expectation.numbers)))
            .unzip();
        let outputs = self.encoder.run(&batch);
        let mut comparisons =
            KINDS.map(|what| Comparison { what, cases: 0, largest_difference: 0.0 }).to_vec();
        for ((what, numbers), output) in expected.into_iter().zip(outputs) {
            let Some(comparison) = comparisons.iter_mut().find(|comparison| comparison.what == what) else {
                continue;
            };
            comparison.cases += 1;
            comparison.largest_difference =
                comparison.largest_difference.max(largest_difference(what, &output, numbers));
        }
        comparisons.retain(|comparison| comparison.cases > 0);
        comparisons
    }
}

fn has_same_tokens(case: &GoldenCase, encoded: &Encoded) -> bool {
    case.input_ids.as_ref().is_none_or(|ids| *ids == encoded.ids)
        && case.token_type_ids.as_ref().is_none_or(|types| *types == encoded.type_ids)
        && case.tokens.is_none_or(|tokens| tokens == encoded.ids.len())
}

fn expect<'a>(expectations: &mut Vec<Expectation<'a>>, case: &'a GoldenCase, encoded: &Encoded) {
    let of =
        |what, task, numbers| Expectation { what, encoded: Encoded { task, ..encoded.clone() }, numbers };
    expectations.push(of(KINDS[0], Task::Classify(Head::Nli), &case.logits));
    if let Some(logits) = &case.support_logits {
        expectations.push(of(KINDS[1], Task::Classify(Head::Support), logits));
    }
    if let Some(mean) = &case.mean_hidden {
        expectations.push(of(KINDS[2], Task::Embed, mean));
    }
}

fn largest_difference(what: &str, output: &Output, expected: &[f32]) -> f32 {
    let found = match output {
        Output::Logits(logits) if logits.len() == expected.len() => logits.clone(),
        Output::Mean(mean) if what == "embeddings" && mean.len() == expected.len() => {
            normalised(mean).unwrap_or_default()
        }
        // The reference gives the first few numbers only.
        Output::Mean(mean) if what == "mean hidden" && mean.len() >= expected.len() => {
            mean[..expected.len()].to_vec()
        }
        _ => return f32::INFINITY,
    };
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    // `f32::max` passes over NaN, and nothing is further off than that.
    let or_infinite = |difference: f32| if difference.is_nan() { f32::INFINITY } else { difference };
    if found.is_empty() { f32::INFINITY } else { differences.map(or_infinite).fold(0.0, f32::max) }
}

#[cfg(test)]
mod tests;
