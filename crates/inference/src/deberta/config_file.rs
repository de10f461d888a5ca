//! `config.json` of a DeBERTa-v2/v3 checkpoint.

use super::{Activation, ConvConfig, DebertaConfig};
use groundline_types::{Code, Problem};
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

/// Reads `config.json`; what it leaves out has the layout's defaults. Labels are empty where the file names none.
pub(crate) fn parse_config(bytes: &[u8]) -> Result<DebertaConfig, Problem> {
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| {
        Problem::new(Code::MODEL_CORRUPT, format!("config.json is not JSON: {error}; download it again"))
    })?;
    // The kind of model first: the fields of another kind may have other types.
    check_kind(&value)?;
    let file: ConfigFile = serde_json::from_value(value)
        .map_err(|error| corrupt(format!("config.json has a field that cannot be read: {error}")))?;
    let config = with_defaults(file)?;
    check_numbers(&config)?;
    Ok(config)
}

fn corrupt(message: String) -> Problem {
    Problem::new(Code::MODEL_CORRUPT, message)
}

fn unsupported(message: String) -> Problem {
    Problem::new(Code::MODEL_UNSUPPORTED, message)
}

fn check_kind(value: &serde_json::Value) -> Result<(), Problem> {
    const RUNS: &str = "this engine runs DeBERTa-v2 and DeBERTa-v3 (model_type \"deberta-v2\"), for example a checkpoint of \
                        microsoft/deberta-v3-* fine-tuned on NLI";
    match value.get("model_type").and_then(serde_json::Value::as_str) {
        Some("deberta-v2") => Ok(()),
        Some("deberta") => Err(unsupported(format!(
            "config.json says model_type \"deberta\", which is version 1 with another layout and tokenizer \
             (microsoft/deberta-*-mnli are of this kind); {RUNS}"
        ))),
        Some(other) => Err(unsupported(format!("config.json says model_type {other:?}; {RUNS}"))),
        None => Err(unsupported(format!("config.json has no model_type; {RUNS}"))),
    }
}

fn with_defaults(file: ConfigFile) -> Result<DebertaConfig, Problem> {
    let hidden_size = file.hidden_size.unwrap_or(1536);
    let heads = file.num_attention_heads.unwrap_or(24);
    let max_position_embeddings = file.max_position_embeddings.unwrap_or(512);
    let head_size = match file.attention_head_size {
        Some(size) => size,
        None if heads == 0 || !hidden_size.is_multiple_of(heads) => {
            return Err(corrupt(format!(
                "config.json says hidden_size {hidden_size} and num_attention_heads {heads}, which does not divide it"
            )));
        }
        None => hidden_size / heads,
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
        head_size,
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

fn activation(field: &str, name: &str) -> Result<Activation, Problem> {
    match name {
        "gelu" => Ok(Activation::Gelu),
        "tanh" => Ok(Activation::Tanh),
        "relu" => Ok(Activation::Relu),
        other => Err(unsupported(format!(
            "config.json asks for {field} {other:?}; gelu, tanh and relu are what this engine computes"
        ))),
    }
}

/// Label names in logit order. An index that is left out or doubled makes the order unsure.
fn labels(id2label: BTreeMap<String, String>) -> Result<Vec<String>, Problem> {
    let mut names = BTreeMap::new();
    for (index, name) in id2label {
        let parsed: usize = index
            .parse()
            .map_err(|_| corrupt(format!("id2label of config.json has the key {index:?}, not a number")))?;
        names.insert(parsed, name);
    }
    match names.keys().enumerate().find(|(place, index)| place != *index) {
        Some((place, _)) => Err(corrupt(format!("id2label of config.json leaves out index {place}"))),
        None => Ok(names.into_values().collect()),
    }
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
    for (field, value) in at_least_one {
        if value == 0 || value > MOST {
            return Err(corrupt(format!("config.json says {field} {value}; expected 1 to {MOST}")));
        }
    }
    if !(config.layer_norm_eps >= 0.0 && config.layer_norm_eps < 1.0) {
        return Err(corrupt(format!(
            "config.json says layer_norm_eps {}; expected 0 to 1",
            config.layer_norm_eps
        )));
    }
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

/// Largest number that any field of a configuration may have, far above every known model.
const MOST: usize = 1 << 24;

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
