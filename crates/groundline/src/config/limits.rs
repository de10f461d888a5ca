//! What is refused as too large.

use groundline_types::Limits;
use serde::{Deserialize, Serialize};

/// What is refused as too large, with [`Code::TOO_LARGE`](groundline_types::Code::TOO_LARGE). Nothing is cut in silence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Largest response.
    pub response_bytes: usize,
    /// Largest sum of all sources of a request.
    pub source_bytes: usize,
    /// Most sources of a request.
    pub sources: usize,
    /// Largest sum of all samples of a request.
    pub sample_bytes: usize,
    /// Most samples of a request.
    pub samples: usize,
    /// Longest line of a JSONL file, and largest JSON document.
    pub line_bytes: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        let limits = Limits::default();
        let Limits { response_bytes, source_bytes, sources, sample_bytes, samples } = limits;
        let line_bytes = response_bytes + source_bytes + sample_bytes;
        Self { response_bytes, source_bytes, sources, sample_bytes, samples, line_bytes }
    }
}

impl LimitsConfig {
    /// The limits of a request.
    pub fn request(&self) -> Limits {
        let Self { response_bytes, source_bytes, sources, sample_bytes, samples, line_bytes: _ } = *self;
        Limits { response_bytes, source_bytes, sources, sample_bytes, samples }
    }
}
