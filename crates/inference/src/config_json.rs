//! Reading `config.json`, the parts that all families share.

use crate::encoder::Activation;
use groundline_types::{Code, Problem};
use std::collections::BTreeMap;

/// Largest number that any field of a configuration may have, far above every known model.
pub(crate) const MOST: usize = 1 << 24;

pub(crate) fn corrupt(message: String) -> Problem {
    Problem::new(Code::MODEL_CORRUPT, message)
}

pub(crate) fn unsupported(message: String) -> Problem {
    Problem::new(Code::MODEL_UNSUPPORTED, message)
}

/// The fields of one family; absent and null mean the same.
pub(crate) fn fields<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> Result<T, Problem> {
    serde_json::from_value(value)
        .map_err(|error| corrupt(format!("config.json has a field that cannot be read: {error}")))
}

/// The activation that `field` names.
pub(crate) fn activation(field: &str, name: &str) -> Result<Activation, Problem> {
    Activation::from_name(name).ok_or_else(|| {
        unsupported(format!(
            "config.json asks for {field} {name:?}; gelu, gelu_new, tanh and relu are what this engine computes"
        ))
    })
}

/// Label names in logit order. An index that is left out or doubled makes the order unsure.
pub(crate) fn labels(id2label: BTreeMap<String, String>) -> Result<Vec<String>, Problem> {
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

/// Refuses sizes that no model can have.
pub(crate) fn check_sizes(sizes: &[(&str, usize)]) -> Result<(), Problem> {
    match sizes.iter().find(|(_, value)| *value == 0 || *value > MOST) {
        Some((field, value)) => {
            Err(corrupt(format!("config.json says {field} {value}; expected 1 to {MOST}")))
        }
        None => Ok(()),
    }
}

/// Refuses an epsilon that no norm can have.
pub(crate) fn check_eps(field: &str, eps: f32) -> Result<(), Problem> {
    if (0.0..1.0).contains(&eps) {
        return Ok(());
    }
    Err(corrupt(format!("config.json says {field} {eps}; expected 0 to 1")))
}

/// Width of a head where heads share the hidden width.
pub(crate) fn head_size(hidden: usize, heads: usize) -> Result<usize, Problem> {
    if heads == 0 || !hidden.is_multiple_of(heads) {
        return Err(corrupt(format!(
            "config.json says hidden_size {hidden} and num_attention_heads {heads}, which does not divide it"
        )));
    }
    Ok(hidden / heads)
}

/// Whether the checkpoint labels every token and not the whole text.
pub(crate) fn labels_tokens(architectures: Option<&[String]>) -> bool {
    architectures.is_some_and(|names| names.iter().any(|name| name.ends_with("ForTokenClassification")))
}
