//! `config.json` of T5.

use crate::config_json::{activation, check_eps, check_sizes, corrupt, fields, labels, labels_tokens};
use crate::encoder::{Distances, EncoderConfig, NormKind};
use groundline_types::Problem;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct ConfigFile {
    d_model: Option<usize>,
    d_kv: Option<usize>,
    d_ff: Option<usize>,
    num_heads: Option<usize>,
    num_layers: Option<usize>,
    num_decoder_layers: Option<usize>,
    vocab_size: Option<usize>,
    n_positions: Option<usize>,
    relative_attention_num_buckets: Option<usize>,
    relative_attention_max_distance: Option<usize>,
    layer_norm_epsilon: Option<f32>,
    feed_forward_proj: Option<String>,
    tie_word_embeddings: Option<bool>,
    scale_decoder_outputs: Option<bool>,
    decoder_start_token_id: Option<usize>,
    pad_token_id: Option<usize>,
    id2label: Option<BTreeMap<String, String>>,
    architectures: Option<Vec<String>>,
}

/// Longest input of a checkpoint that names none: what T5 was trained on.
const DEFAULT_POSITIONS: usize = 512;

/// Shape of a T5 model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct T5Config {
    pub(crate) encoder: EncoderConfig,
    pub(crate) layers: usize,
    pub(crate) decoder_layers: usize,
    pub(crate) vocab_size: usize,
    /// Longest input; nothing in the layout bounds it.
    pub(crate) positions: usize,
    pub(crate) buckets: usize,
    pub(crate) is_gated: bool,
    /// The decoder's result is divided by the root of the width before it meets the vocabulary.
    pub(crate) scales_outputs: bool,
    pub(crate) start_token: usize,
    /// The head labels every token; there is no decoder.
    pub(crate) labels_tokens: bool,
    pub(crate) label_names: Vec<String>,
}

impl T5Config {
    /// What the file leaves out has T5-small's numbers.
    pub(crate) fn parse(value: serde_json::Value) -> Result<Self, Problem> {
        let file: ConfigFile = fields(value)?;
        let layers = file.num_layers.unwrap_or(6);
        let projection = file.feed_forward_proj.unwrap_or_else(|| "relu".to_owned());
        let (is_gated, name) = match projection.strip_prefix("gated-") {
            Some(name) => (true, name),
            None => (false, projection.as_str()),
        };
        // What the authors call a gated gelu is the approximated one.
        let name = if is_gated && name == "gelu" { "gelu_new" } else { name };
        let labels_tokens = labels_tokens(file.architectures.as_deref());
        let hidden_size = file.d_model.unwrap_or(512);
        let buckets = file.relative_attention_num_buckets.unwrap_or(32);
        let max_distance = file.relative_attention_max_distance.unwrap_or(128);
        let encoder = EncoderConfig {
            hidden_size,
            embedding_size: hidden_size,
            heads: file.num_heads.unwrap_or(8),
            head_size: file.d_kv.unwrap_or(64),
            intermediate_size: file.d_ff.unwrap_or(2048),
            type_vocab_size: 0,
            first_position: 0,
            longest_sequence: None,
            norm: NormKind::RootMeanSquare,
            norm_eps: file.layer_norm_epsilon.unwrap_or(1e-6),
            norm_first: true,
            activation: activation("feed_forward_proj", name)?,
            attention_scale: 1.0,
            distances: Distances::Bias { buckets, max_distance },
            rotary_bases: Vec::new(),
        };
        let config = Self {
            encoder,
            layers,
            decoder_layers: file.num_decoder_layers.unwrap_or(layers),
            vocab_size: file.vocab_size.unwrap_or(32_128),
            positions: file.n_positions.unwrap_or(DEFAULT_POSITIONS),
            buckets,
            is_gated,
            scales_outputs: file.scale_decoder_outputs.or(file.tie_word_embeddings).unwrap_or(true),
            start_token: file.decoder_start_token_id.or(file.pad_token_id).unwrap_or(0),
            labels_tokens,
            label_names: if labels_tokens { labels(file.id2label.unwrap_or_default())? } else { Vec::new() },
        };
        config.check(max_distance)?;
        Ok(config)
    }

    fn check(&self, max_distance: usize) -> Result<(), Problem> {
        check_sizes(&[
            ("d_model", self.encoder.hidden_size),
            ("num_heads", self.encoder.heads),
            ("d_kv", self.encoder.head_size),
            ("d_ff", self.encoder.intermediate_size),
            ("num_layers", self.layers),
            ("num_decoder_layers", self.decoder_layers),
            ("vocab_size", self.vocab_size),
            ("n_positions", self.positions),
        ])?;
        check_eps("layer_norm_epsilon", self.encoder.norm_eps)?;
        if self.buckets < 4 || !self.buckets.is_multiple_of(4) || max_distance <= self.buckets / 4 {
            return Err(corrupt(format!(
                "config.json says relative_attention_num_buckets {} and relative_attention_max_distance {}; expected a multiple \
                 of 4 and more than a quarter of it",
                self.buckets, max_distance
            )));
        }
        if self.start_token >= self.vocab_size {
            return Err(corrupt(format!(
                "config.json says decoder_start_token_id {} and vocab_size {}",
                self.start_token, self.vocab_size
            )));
        }
        Ok(())
    }
}
