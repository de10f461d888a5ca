//! `golden.json`: reference results that a model folder may carry.

use groundline_types::{Code, Problem};
use serde::Deserialize;

/// Results of a reference implementation for one model.
#[derive(Debug, Deserialize)]
pub(crate) struct Golden {
    /// Pairs and what was computed for them.
    pub(crate) cases: Vec<GoldenCase>,
    /// Texts and their embeddings.
    #[serde(default)]
    pub(crate) embeddings: Vec<GoldenEmbedding>,
}

/// One pair, cut to the model's length by `longest_first` where it is longer.
#[derive(Debug, Deserialize)]
pub(crate) struct GoldenCase {
    pub(crate) premise: String,
    pub(crate) hypothesis: String,
    /// Token ids, special tokens included.
    pub(crate) input_ids: Option<Vec<u32>>,
    /// Token types, as long as `input_ids`.
    pub(crate) token_type_ids: Option<Vec<u8>>,
    /// Number of tokens, where the ids themselves are not given.
    pub(crate) tokens: Option<usize>,
    /// Logits of the NLI head.
    pub(crate) logits: Vec<f32>,
    /// Logits of the support head.
    pub(crate) support_logits: Option<Vec<f32>>,
    /// First numbers of the mean of the last hidden state over all tokens, not normalised.
    pub(crate) mean_hidden: Option<Vec<f32>>,
}

/// One text and its L2-normalised embedding.
#[derive(Debug, Deserialize)]
pub(crate) struct GoldenEmbedding {
    pub(crate) text: String,
    pub(crate) mean_pooled_normalised: Vec<f32>,
}

impl Golden {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        serde_json::from_slice(bytes).map_err(|error| {
            Problem::new(Code::MODEL_CORRUPT, format!("golden.json of the model is malformed: {error}"))
        })
    }
}
