//! How well the tokens of two texts match: greedy matching of token embeddings, as BERTScore does.
//!
//! After Zhang et al. 2020, "BERTScore: Evaluating Text Generation with BERT" (arXiv:1904.09675), without weights by rarity. An
//! embedding is a token's last hidden state. Each token is matched with the token of the other text that it has the largest cosine
//! with; the markers that a model puts around a text may be matched with and are not counted themselves, as in the published code.
//! It is alike both ways: with the texts swapped, precision and recall are swapped, to the last bit.

mod baseline;
mod remembered;

pub use baseline::{SIMILARITY_BASELINE_FILE, SimilarityBaseline};
pub(crate) use remembered::Remembered;

use groundline_types::Similarity;
use std::ops::Range;

/// Partial sums of a dot product: enough that the compiler can fill vectors.
const LANES: usize = 16;

/// The embeddings of a text's tokens, each of length 1.
#[derive(Debug, PartialEq)]
pub(crate) struct TokenVectors {
    /// `[tokens][width]`.
    numbers: Box<[f32]>,
    width: usize,
    /// The tokens of the text itself, markers left out.
    content: Range<usize>,
}

impl TokenVectors {
    /// Normalises hidden states, `[tokens][width]`, of which so many tokens at the start and at the end are markers. A state without
    /// length matches nothing.
    pub(crate) fn new(mut hidden: Vec<f32>, width: usize, (leading, trailing): (usize, usize)) -> Self {
        let width = width.max(1);
        for state in hidden.chunks_exact_mut(width) {
            let length = state.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            state.iter_mut().for_each(|number| *number = (f64::from(*number) * scale) as f32);
        }
        let end = (hidden.len() / width).saturating_sub(trailing);
        Self { numbers: hidden.into(), width, content: leading.min(end)..end }
    }

    fn states(&self) -> std::slice::ChunksExact<'_, f32> {
        self.numbers.chunks_exact(self.width)
    }

    /// Bytes of numbers held.
    pub(crate) fn size_bytes(&self) -> usize {
        size_of_val::<[f32]>(&self.numbers)
    }

    /// Mean over the tokens of the text itself; 0 without one.
    fn mean(&self, best: &[f32]) -> f32 {
        let of_content = best.get(self.content.clone()).unwrap_or_default();
        if of_content.is_empty() { 0.0 } else { of_content.iter().sum::<f32>() / of_content.len() as f32 }
    }
}

/// How well two texts match. Both numbers are 0 where either text has no token.
pub(crate) fn similarity(candidate: &TokenVectors, reference: &TokenVectors) -> Similarity {
    if candidate.content.is_empty() || reference.content.is_empty() {
        return Similarity { precision: 0.0, recall: 0.0 };
    }
    // Below any cosine.
    let lowest = f32::NEG_INFINITY;
    let mut of_reference = vec![lowest; reference.states().len()];
    let best = |state: &[f32]| {
        let cosines = reference.states().map(|other| dot(state, other));
        cosines.zip(&mut of_reference).fold(lowest, |best, (cosine, other)| {
            *other = other.max(cosine);
            best.max(cosine)
        })
    };
    let of_candidate: Vec<f32> = candidate.states().map(best).collect();
    Similarity { precision: candidate.mean(&of_candidate), recall: reference.mean(&of_reference) }
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (one_lanes, one_rest) = one.as_chunks::<LANES>();
    let (other_lanes, other_rest) = other.as_chunks::<LANES>();
    for (one, other) in one_lanes.iter().zip(other_lanes) {
        for ((sum, a), b) in sums.iter_mut().zip(one).zip(other) {
            *sum += a * b;
        }
    }
    let rest: f32 = one_rest.iter().zip(other_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests;
