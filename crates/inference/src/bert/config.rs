//! `config.json` of BERT and RoBERTa.

use crate::config_json::{
    activation, check_eps, check_sizes, fields, head_size, labels, labels_tokens, unsupported,
};
use crate::encoder::{Distances, EncoderConfig, NormKind};
use groundline_types::Problem;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct ConfigFile {
    hidden_size: Option<usize>,
    num_attention_heads: Option<usize>,
    intermediate_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    vocab_size: Option<usize>,
    max_position_embeddings: Option<usize>,
    type_vocab_size: Option<usize>,
    layer_norm_eps: Option<f32>,
    hidden_act: Option<String>,
    position_embedding_type: Option<String>,
    pad_token_id: Option<usize>,
    id2label: Option<BTreeMap<String, String>>,
    architectures: Option<Vec<String>>,
}

/// Shape of a BERT or RoBERTa model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BertConfig {
    /// Positions start after the padding id, and tensors are named `roberta.`.
    pub(crate) is_roberta: bool,
    pub(crate) encoder: EncoderConfig,
    pub(crate) layers: usize,
    pub(crate) vocab_size: usize,
    /// Rows of the position table.
    pub(crate) positions: usize,
    /// Longest sequence in tokens.
    pub(crate) longest: usize,
    /// The head labels every token and not the whole text.
    pub(crate) labels_tokens: bool,
    pub(crate) label_names: Vec<String>,
}

impl BertConfig {
    /// What the file leaves out has BERT-base's numbers.
    pub(crate) fn parse(value: serde_json::Value, is_roberta: bool) -> Result<Self, Problem> {
        let file: ConfigFile = fields(value)?;
        if let Some(other) = file.position_embedding_type.filter(|kind| kind != "absolute") {
            return Err(unsupported(format!(
                "config.json asks for position_embedding_type {other:?}; absolute is what this engine computes"
            )));
        }
        let (hidden_size, heads) = (file.hidden_size.unwrap_or(768), file.num_attention_heads.unwrap_or(12));
        let positions = file.max_position_embeddings.unwrap_or(512);
        let first_position = if is_roberta { file.pad_token_id.unwrap_or(1).saturating_add(1) } else { 0 };
        let longest = positions.saturating_sub(first_position);
        let head_size = head_size(hidden_size, heads)?;
        let encoder = EncoderConfig {
            hidden_size,
            embedding_size: hidden_size,
            heads,
            head_size,
            intermediate_size: file.intermediate_size.unwrap_or(3072),
            type_vocab_size: file.type_vocab_size.unwrap_or(2),
            first_position,
            longest_sequence: Some(longest),
            norm: NormKind::Layer,
            norm_eps: file.layer_norm_eps.unwrap_or(1e-12),
            norm_first: false,
            activation: activation("hidden_act", file.hidden_act.as_deref().unwrap_or("gelu"))?,
            attention_scale: 1.0 / (head_size as f64).sqrt(),
            distances: Distances::None,
            rotary_bases: Vec::new(),
        };
        let config = Self {
            is_roberta,
            encoder,
            layers: file.num_hidden_layers.unwrap_or(12),
            vocab_size: file.vocab_size.unwrap_or(30_522),
            positions,
            longest,
            labels_tokens: labels_tokens(file.architectures.as_deref()),
            label_names: labels(file.id2label.unwrap_or_default())?,
        };
        check_sizes(&[
            ("hidden_size", config.encoder.hidden_size),
            ("intermediate_size", config.encoder.intermediate_size),
            ("num_hidden_layers", config.layers),
            ("vocab_size", config.vocab_size),
            ("max_position_embeddings", config.longest),
        ])?;
        check_eps("layer_norm_eps", config.encoder.norm_eps)?;
        Ok(config)
    }
}
