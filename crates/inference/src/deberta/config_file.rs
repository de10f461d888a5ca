//! `config.json` of a DeBERTa checkpoint.

use super::{ConvConfig, DebertaConfig};
use crate::config_json::{
    MOST, activation, check_eps, check_sizes, corrupt, fields, head_size, labels, unsupported,
};
use groundline_types::Problem;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The fields that matter, as they stand in the file; absent and null mean the same.
#[derive(Deserialize)]
struct ConfigFile {
    hidden_size: Option<usize>,
    embedding_size: Option<usize>,
    num_attention_heads: Option<usize>,
    attention_head_size: Option<usize>,
    intermediate_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    vocab_size: Option<usize>,
    max_position_embeddings: Option<usize>,
    max_relative_positions: Option<i64>,
    position_buckets: Option<i64>,
    position_biased_input: Option<bool>,
    type_vocab_size: Option<usize>,
    relative_attention: Option<bool>,
    pos_att_type: Option<PosAttType>,
    share_att_key: Option<bool>,
    norm_rel_ebd: Option<String>,
    conv_kernel_size: Option<usize>,
    conv_groups: Option<usize>,
    conv_act: Option<String>,
    layer_norm_eps: Option<f32>,
    hidden_act: Option<String>,
    pooler_hidden_act: Option<String>,
    id2label: Option<BTreeMap<String, String>>,
    pad_token_id: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PosAttType {
    Text(String),
    List(Vec<String>),
}

/// Reads the fields of `config.json`; what it leaves out has the layout's defaults. Labels are empty where it names none.
pub(crate) fn parse_config(value: serde_json::Value) -> Result<DebertaConfig, Problem> {
    let config = with_defaults(fields(value)?)?;
    check_numbers(&config)?;
    Ok(config)
}

fn with_defaults(file: ConfigFile) -> Result<DebertaConfig, Problem> {
    let hidden_size = file.hidden_size.unwrap_or(1536);
    let heads = file.num_attention_heads.unwrap_or(24);
    let max_position_embeddings = file.max_position_embeddings.unwrap_or(512);
    let head_width = match file.attention_head_size {
        Some(size) => size,
        None => head_size(hidden_size, heads)?,
    };
    let terms = position_terms(file.pos_att_type)?;
    let norm_rel = file.norm_rel_ebd.unwrap_or_default().to_lowercase();
    let max_relative_positions = file
        .max_relative_positions
        .and_then(|positions| usize::try_from(positions).ok())
        .filter(|&positions| positions >= 1)
        .unwrap_or(max_position_embeddings);
    Ok(DebertaConfig {
        hidden_size,
        embedding_size: file.embedding_size.unwrap_or(hidden_size),
        heads,
        head_size: head_width,
        intermediate_size: file.intermediate_size.unwrap_or(6144),
        layers: file.num_hidden_layers.unwrap_or(24),
        vocab_size: file.vocab_size.unwrap_or(128_100),
        max_position_embeddings,
        max_relative_positions,
        position_buckets: file
            .position_buckets
            .and_then(|buckets| usize::try_from(buckets).ok())
            .filter(|&buckets| buckets > 0),
        position_biased_input: file.position_biased_input.unwrap_or(true),
        type_vocab_size: file.type_vocab_size.unwrap_or(0),
        relative_attention: file.relative_attention.unwrap_or(false),
        c2p: terms.iter().any(|term| term == "c2p"),
        p2c: terms.iter().any(|term| term == "p2c"),
        share_att_key: file.share_att_key.unwrap_or(false),
        norm_rel_embeddings: norm_rel.split('|').any(|part| part.trim() == "layer_norm"),
        conv: convolution(file.conv_kernel_size, file.conv_groups, file.conv_act.as_deref())?,
        layer_norm_eps: file.layer_norm_eps.unwrap_or(1e-7),
        hidden_act: activation("hidden_act", file.hidden_act.as_deref().unwrap_or("gelu"))?,
        pooler_act: activation("pooler_hidden_act", file.pooler_hidden_act.as_deref().unwrap_or("gelu"))?,
        label_names: labels(file.id2label.unwrap_or_default())?,
        pad_token_id: file.pad_token_id.unwrap_or(0),
    })
}

/// A list of terms, or the older form of one string such as `p2c|c2p`.
fn position_terms(value: Option<PosAttType>) -> Result<Vec<String>, Problem> {
    let terms: Vec<String> = match value {
        None => Vec::new(),
        Some(PosAttType::Text(text)) => text.split('|').map(|term| term.trim().to_lowercase()).collect(),
        Some(PosAttType::List(list)) => list.iter().map(|term| term.trim().to_lowercase()).collect(),
    };
    match terms.iter().find(|term| !["c2p", "p2c", "", "none"].contains(&term.as_str())) {
        Some(other) => Err(unsupported(format!(
            "config.json asks for pos_att_type {other:?}; c2p and p2c are what this engine computes"
        ))),
        None => Ok(terms),
    }
}

fn convolution(
    kernel: Option<usize>,
    groups: Option<usize>,
    act: Option<&str>,
) -> Result<Option<ConvConfig>, Problem> {
    let kernel_size = kernel.unwrap_or(0);
    if kernel_size == 0 {
        return Ok(None);
    }
    let activation = activation("conv_act", act.unwrap_or("tanh"))?;
    Ok(Some(ConvConfig { kernel_size, groups: groups.unwrap_or(1), activation }))
}

/// Refuses numbers that no model of this layout can have.
fn check_numbers(config: &DebertaConfig) -> Result<(), Problem> {
    let at_least_one = [
        ("hidden_size", config.hidden_size),
        ("embedding_size", config.embedding_size),
        ("num_attention_heads", config.heads),
        ("attention_head_size", config.head_size),
        ("intermediate_size", config.intermediate_size),
        ("num_hidden_layers", config.layers),
        ("vocab_size", config.vocab_size),
        ("max_position_embeddings", config.max_position_embeddings),
    ];
    check_sizes(&at_least_one)?;
    check_eps("layer_norm_eps", config.layer_norm_eps)?;
    if let Some(conv) = &config.conv {
        let (kernel, groups) = (conv.kernel_size, conv.groups);
        if kernel.is_multiple_of(2) || groups == 0 || !config.hidden_size.is_multiple_of(groups) {
            return Err(corrupt(format!(
                "config.json says conv_kernel_size {kernel} and conv_groups {groups}; expected an odd width and groups \
                 that divide hidden_size"
            )));
        }
    }
    check_buckets(config)
}

/// The logarithm that widens buckets needs room between B/2 and M.
fn check_buckets(config: &DebertaConfig) -> Result<(), Problem> {
    let (most, buckets) = (config.max_relative_positions, config.position_buckets);
    if most > MOST || buckets.is_some_and(|buckets| buckets < 2 || most <= buckets / 2 + 1) {
        return Err(corrupt(format!(
            "config.json says position_buckets {} and max_relative_positions {most}; expected at least 2 buckets, half of \
             them below the positions less one",
            buckets.unwrap_or(0)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
