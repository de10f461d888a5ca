//! `config.json` of ModernBERT.

use crate::config_json::{
    activation, check_eps, check_sizes, corrupt, fields, head_size, labels, labels_tokens, unsupported,
};
use crate::encoder::{Activation, Distances, EncoderConfig, HeadInput, NormKind};
use groundline_types::Problem;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Files of older and of newer versions of `transformers` differ in how they say which layers are local and how far they turn.
#[derive(Deserialize)]
struct ConfigFile {
    hidden_size: Option<usize>,
    num_attention_heads: Option<usize>,
    intermediate_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    vocab_size: Option<usize>,
    max_position_embeddings: Option<usize>,
    local_attention: Option<usize>,
    global_attn_every_n_layers: Option<usize>,
    layer_types: Option<Vec<String>>,
    global_rope_theta: Option<f32>,
    local_rope_theta: Option<f32>,
    rope_parameters: Option<BTreeMap<String, Rope>>,
    norm_eps: Option<f32>,
    hidden_activation: Option<String>,
    classifier_activation: Option<String>,
    classifier_pooling: Option<String>,
    id2label: Option<BTreeMap<String, String>>,
    architectures: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Rope {
    rope_theta: Option<f32>,
    rope_type: Option<String>,
}

/// Shape of a ModernBERT model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModernBertConfig {
    pub(crate) encoder: EncoderConfig,
    pub(crate) vocab_size: usize,
    /// Longest sequence in tokens.
    pub(crate) positions: usize,
    /// For each layer, whether it is local.
    pub(crate) is_local: Vec<bool>,
    pub(crate) head_activation: Activation,
    /// What the head reads of a whole text.
    pub(crate) head_input: HeadInput,
    /// Whether the head is for single tokens.
    pub(crate) labels_tokens: bool,
    pub(crate) label_names: Vec<String>,
}

impl ModernBertConfig {
    /// What the file leaves out has ModernBERT-base's numbers.
    pub(crate) fn parse(value: serde_json::Value) -> Result<Self, Problem> {
        let file: ConfigFile = fields(value)?;
        let (hidden_size, heads) = (file.hidden_size.unwrap_or(768), file.num_attention_heads.unwrap_or(12));
        let is_local = local_layers(&file)?;
        let act = |field: &str, name: &Option<String>| activation(field, name.as_deref().unwrap_or("gelu"));
        let (global, local) = (
            rotary_base(&file, "full_attention", file.global_rope_theta, 160_000.0)?,
            rotary_base(&file, "sliding_attention", file.local_rope_theta, 10_000.0)?,
        );
        let labels_tokens = labels_tokens(file.architectures.as_deref());
        let positions = file.max_position_embeddings.unwrap_or(8192);
        let head_size = head_size(hidden_size, heads)?;
        let encoder = EncoderConfig {
            hidden_size,
            embedding_size: hidden_size,
            heads,
            head_size,
            intermediate_size: file.intermediate_size.unwrap_or(1152),
            type_vocab_size: 0,
            first_position: 0,
            longest_sequence: Some(positions),
            norm: NormKind::Layer,
            norm_eps: file.norm_eps.unwrap_or(1e-5),
            norm_first: true,
            activation: act("hidden_activation", &file.hidden_activation)?,
            attention_scale: 1.0 / (head_size as f64).sqrt(),
            // The farthest key that a local layer sees.
            distances: Distances::Local { reach: file.local_attention.unwrap_or(128) / 2 },
            rotary_bases: is_local.iter().map(|&is_local| if is_local { local } else { global }).collect(),
        };
        let config = Self {
            encoder,
            vocab_size: file.vocab_size.unwrap_or(50_368),
            positions,
            is_local,
            head_activation: act("classifier_activation", &file.classifier_activation)?,
            head_input: match file.classifier_pooling.as_deref() {
                // A head over tokens is applied to each of them, whatever the pooling says.
                _ if labels_tokens => HeadInput::FirstToken,
                Some("mean") => HeadInput::MeanOfTokens,
                _ => HeadInput::FirstToken,
            },
            labels_tokens,
            label_names: labels(file.id2label.unwrap_or_default())?,
        };
        check_sizes(&[
            ("hidden_size", config.encoder.hidden_size),
            ("intermediate_size", config.encoder.intermediate_size),
            ("num_hidden_layers", config.is_local.len()),
            ("vocab_size", config.vocab_size),
            ("max_position_embeddings", config.positions),
        ])?;
        check_eps("norm_eps", config.encoder.norm_eps)?;
        if !config.encoder.head_size.is_multiple_of(2) {
            return Err(corrupt(format!(
                "config.json makes heads of width {}, which do not turn",
                config.encoder.head_size
            )));
        }
        Ok(config)
    }
}

/// Base of the angles by which a kind of layer turns: named for the kind, or as older files do.
fn rotary_base(file: &ConfigFile, kind: &str, older: Option<f32>, default: f32) -> Result<f32, Problem> {
    let rope = file.rope_parameters.as_ref().and_then(|all| all.get(kind));
    if let Some(other) = rope.and_then(|rope| rope.rope_type.as_deref()).filter(|kind| *kind != "default") {
        return Err(unsupported(format!(
            "config.json asks for rope_type {other:?}; default is what this engine computes"
        )));
    }
    let base = rope.and_then(|rope| rope.rope_theta).or(older).unwrap_or(default);
    if base.is_finite() && base > 0.0 {
        return Ok(base);
    }
    Err(corrupt(format!("config.json says rope_theta {base}; expected a number above 0")))
}

/// For each layer, whether it is local: named one by one, or all but every n-th.
fn local_layers(file: &ConfigFile) -> Result<Vec<bool>, Problem> {
    let layers = file.num_hidden_layers.unwrap_or(22);
    check_sizes(&[("num_hidden_layers", layers)])?;
    let Some(types) = &file.layer_types else {
        let every = file.global_attn_every_n_layers.unwrap_or(3).max(1);
        return Ok((0..layers).map(|layer| !layer.is_multiple_of(every)).collect());
    };
    if types.len() != layers {
        return Err(corrupt(format!(
            "config.json says num_hidden_layers {layers} and names {} in layer_types",
            types.len()
        )));
    }
    let is_local = |kind: &String| match kind.as_str() {
        "full_attention" => Ok(false),
        "sliding_attention" => Ok(true),
        other => Err(unsupported(format!("config.json asks for a layer of type {other:?}"))),
    };
    types.iter().map(is_local).collect()
}
