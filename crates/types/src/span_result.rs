//! The unsupported parts of a response, as a result shows them.

use crate::{Probability, Verdict};
use serde::{Deserialize, Serialize};

/// A part of the response that no source supports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpanResult {
    /// What stands there in the response, markup and all.
    pub text: String,
    /// Start in the response.
    pub start: usize,
    /// End in the response.
    pub end: usize,
    /// Index into `sentences` of the sentence that it lies in.
    pub sentence: usize,
    /// What found it.
    pub source: SpanOrigin,
    /// How probably no source supports it: the largest of its tokens', or 1 less its fact's `support_probability`.
    pub hallucination_probability: Probability,
    /// The fact's verdict; absent for tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What found a part of the response that no source supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpanOrigin {
    /// A token classifier.
    Tokens,
    /// The verdict on an atomic fact.
    Facts,
}
