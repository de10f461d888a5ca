//! `groundline.json`: what Groundline knows of a model beyond its Hugging Face files. Optional.

use groundline_types::{Code, Problem};
use serde::Deserialize;

/// `groundline.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GroundlineFile {
    /// Name for people.
    pub(crate) name: Option<String>,
    /// The authors' revision; part of the hash that identifies the model, and shown nowhere else.
    #[serde(rename = "revision")]
    _revision: Option<String>,
    /// The learned detector that the checkpoint is, such as `factcc`.
    pub(crate) preset: Option<String>,
    /// Premise tokens that a window may have.
    pub(crate) window_tokens: Option<usize>,
    /// Files of the heads.
    pub(crate) heads: HeadFiles,
    /// How a text is embedded; only `mean` is known.
    embedding: Option<String>,
}

/// Names of the files that hold the heads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HeadFiles {
    /// Encoder and NLI head.
    pub(crate) nli: Option<String>,
    /// Support head.
    pub(crate) support: Option<String>,
}

impl GroundlineFile {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let file: Self = serde_json::from_slice(bytes).map_err(|error| {
            Problem::new(Code::MODEL_CORRUPT, format!("groundline.json of the model is malformed: {error}"))
        })?;
        match file.embedding.as_deref() {
            None | Some("mean") => Ok(file),
            Some(other) => Err(Problem::new(
                Code::MODEL_UNSUPPORTED,
                format!("groundline.json asks for embedding {other:?}; the only one there is is \"mean\""),
            )),
        }
    }
}
