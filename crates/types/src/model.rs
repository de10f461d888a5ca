//! What planning needs to know of a model.

use crate::{NliLabels, Preset};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A model by name and revision. The revision is a hash of weights, tokenizer and configuration, so that a cached score is
/// never taken for another model's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModelId {
    /// Name for people, such as `groundline-mini`.
    pub name: String,
    /// First 16 hexadecimal digits of BLAKE3 over the model's files.
    pub revision: String,
}

/// Counts tokens as the model's tokenizer does, without special tokens.
pub trait CountTokens: Send + Sync {
    /// Number of tokens of `text`.
    fn count_tokens(&self, text: &str) -> usize;

    /// The largest character boundary `b` such that `text[..b]` has at most `budget` tokens; at least one character long
    /// where `text` is not empty. Used to cut a text that fits no window.
    fn prefix_within(&self, text: &str, budget: usize) -> usize;
}

/// What planning and reading scores need to know of a model, without the model.
#[derive(Clone)]
pub struct ModelFacts {
    /// Name and revision.
    pub id: ModelId,
    /// Which logit of the `nli` head means what.
    pub labels: NliLabels,
    /// Longest input in tokens, special tokens included.
    pub max_tokens: usize,
    /// Tokens of special markers around a pair (`[CLS] a [SEP] b [SEP]` is 3).
    pub pair_overhead_tokens: usize,
    /// Premise tokens that a window of a source may have.
    pub window_tokens: usize,
    /// Whether a head `support` is loaded.
    pub has_support_head: bool,
    /// Whether the SummaC-Conv layer in use was fitted to this model's probabilities.
    pub summac_conv_fitted: bool,
    /// F1 of token similarity that unrelated sentences have with this model, -1 to below 1; `None` where it was not measured.
    pub similarity_baseline: Option<f64>,
    /// The model's token counter.
    pub counter: Arc<dyn CountTokens>,
    /// Learned detectors that answer beside the model, in the order of their presets.
    pub learned: Vec<LearnedFacts>,
}

/// What planning needs to know of a learned detector beside the model.
#[derive(Clone)]
pub struct LearnedFacts {
    /// Which it is.
    pub preset: Preset,
    /// Name and revision.
    pub id: ModelId,
    /// Longest input in tokens, special tokens included.
    pub max_tokens: usize,
    /// Tokens around a pair in its input format.
    pub pair_overhead_tokens: usize,
    /// Its token counter.
    pub counter: Arc<dyn CountTokens>,
}

impl std::fmt::Debug for LearnedFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LearnedFacts")
            .field("preset", &self.preset)
            .field("id", &self.id)
            .field("max_tokens", &self.max_tokens)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ModelFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelFacts")
            .field("id", &self.id)
            .field("labels", &self.labels)
            .field("max_tokens", &self.max_tokens)
            .field("window_tokens", &self.window_tokens)
            .finish_non_exhaustive()
    }
}
