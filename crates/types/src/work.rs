//! What an engine is asked and what it answers.

use crate::Preset;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A head of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// Natural-language inference: entailment, neutral, contradiction.
    Nli,
    /// Binary support of a claim by a source.
    Support,
    /// A learned detector beside the model: logits of not supported and supported.
    Learned(Preset),
}

impl Head {
    /// Its name, different from every other's.
    pub fn name(self) -> &'static str {
        match self {
            Head::Nli => "nli",
            Head::Support => "support",
            Head::Learned(preset) => preset.name(),
        }
    }
}

/// One piece of work for one model revision.
///
/// Texts are shared, because a claim meets every sentence of a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Work {
    /// Score a (premise, hypothesis) pair.
    Pair {
        /// The evidence.
        premise: Arc<str>,
        /// The claim.
        hypothesis: Arc<str>,
        /// Which head answers.
        head: Head,
    },
    /// Embed a text: the mean of the last hidden state over all tokens, L2-normalised.
    Embed {
        /// The text.
        text: Arc<str>,
    },
    /// How much of each text's tokens the other has, by greedy matching of token embeddings, as BERTScore does.
    Similarity {
        /// The text whose share found in the other is the precision.
        candidate: Arc<str>,
        /// The text whose share found in the other is the recall.
        reference: Arc<str>,
    },
    /// How probably each token of a text is hallucinated, given what it must rest on.
    Tokens {
        /// The evidence, as the model reads it.
        context: Arc<str>,
        /// The text whose tokens are labelled.
        text: Arc<str>,
        /// Which head answers.
        head: Head,
    },
}

/// What an engine answers to one [`Work`]. Every number is finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Score {
    /// One logit for each label of the head, in the checkpoint's order.
    Logits(Arc<[f32]>),
    /// An L2-normalised embedding.
    Embedding(Arc<[f32]>),
    /// How much of each text's tokens the other has.
    Similarity(Similarity),
    /// What is said of each token of a text, in the order of the text.
    Tokens(Arc<[TokenScore]>),
}

/// What a token classifier says of one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenScore {
    /// Where the token starts in the text, in bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// Probability that it is hallucinated, 0 to 1.
    pub hallucination_probability: f32,
}

/// How well two texts' tokens match: means over a text's tokens of the largest cosine with a token of the other, -1 to 1. Both are 0
/// where a text has no token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    /// Mean over the candidate's tokens.
    pub precision: f32,
    /// Mean over the reference's tokens.
    pub recall: f32,
}

impl Similarity {
    /// Harmonic mean of the two, 0 to 1: BERTScore's F1, not rescaled. 0 where either is not positive.
    pub fn f1(self) -> f64 {
        let (precision, recall) = (f64::from(self.precision), f64::from(self.recall));
        if precision > 0.0 && recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
    }
}

impl Score {
    /// The logits, where this is an answer to a pair.
    pub fn logits(&self) -> Option<&[f32]> {
        match self {
            Score::Logits(logits) => Some(logits),
            Score::Embedding(_) | Score::Similarity(_) | Score::Tokens(_) => None,
        }
    }

    /// The embedding, where this is an answer to a text.
    pub fn embedding(&self) -> Option<&[f32]> {
        match self {
            Score::Embedding(embedding) => Some(embedding),
            Score::Logits(_) | Score::Similarity(_) | Score::Tokens(_) => None,
        }
    }

    /// How well two texts match, where this is an answer to that.
    pub fn similarity(&self) -> Option<Similarity> {
        match self {
            Score::Similarity(similarity) => Some(*similarity),
            Score::Logits(_) | Score::Embedding(_) | Score::Tokens(_) => None,
        }
    }

    /// What is said of each token, where this is an answer to that.
    pub fn tokens(&self) -> Option<&[TokenScore]> {
        match self {
            Score::Tokens(tokens) => Some(tokens),
            Score::Logits(_) | Score::Embedding(_) | Score::Similarity(_) => None,
        }
    }

    /// Bytes of numbers held, for cache weights.
    pub fn size_bytes(&self) -> usize {
        match self {
            Score::Logits(numbers) | Score::Embedding(numbers) => size_of_val::<[f32]>(numbers),
            Score::Similarity(similarity) => size_of_val(similarity),
            Score::Tokens(tokens) => size_of_val::<[TokenScore]>(tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_is_the_harmonic_mean_and_finite_whatever_the_cosines() {
        let f1 = |precision, recall| Similarity { precision, recall }.f1();
        assert!((f1(0.5, 1.0) - 2.0 / 3.0).abs() < 1e-9);
        assert!((f1(1.0, 1.0) - 1.0).abs() < 1e-9);
        for (precision, recall) in [(0.0, 0.0), (-0.5, 0.5), (0.5, -0.5), (-1.0, -1.0), (0.0, 1.0)] {
            assert_eq!(f1(precision, recall), 0.0);
        }
    }
}
