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
}

/// What an engine answers to one [`Work`]. Every number is finite.
#[derive(Debug, Clone, PartialEq)]
pub enum Score {
    /// One logit for each label of the head, in the checkpoint's order.
    Logits(Arc<[f32]>),
    /// An L2-normalised embedding.
    Embedding(Arc<[f32]>),
}

impl Score {
    /// The logits, where this is an answer to a pair.
    pub fn logits(&self) -> Option<&[f32]> {
        match self {
            Score::Logits(logits) => Some(logits),
            Score::Embedding(_) => None,
        }
    }

    /// The embedding, where this is an answer to a text.
    pub fn embedding(&self) -> Option<&[f32]> {
        match self {
            Score::Embedding(embedding) => Some(embedding),
            Score::Logits(_) => None,
        }
    }

    /// Bytes of numbers held, for cache weights.
    pub fn size_bytes(&self) -> usize {
        let (Score::Logits(numbers) | Score::Embedding(numbers)) = self;
        size_of_val::<[f32]>(numbers)
    }
}
