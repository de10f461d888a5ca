//! Which family a checkpoint is of, and what all families have in common.

use crate::bert::BertConfig;
use crate::checkpoint::TensorMap;
use crate::config_json::{corrupt, unsupported};
use crate::deberta::{DebertaConfig, describe, describe_config, load_weights, parse_config};
use crate::encoder::{EncoderConfig, EncoderWeights};
use crate::modernbert::ModernBertConfig;
use crate::t5::T5Config;
use groundline_types::Problem;

/// The shape of a checkpoint, by family.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Family {
    Deberta(Box<DebertaConfig>),
    Bert(BertConfig),
    T5(T5Config),
    ModernBert(ModernBertConfig),
}

/// A checkpoint's weights in the terms of [`crate::encoder`].
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: EncoderConfig,
    pub(crate) weights: EncoderWeights,
}

impl Family {
    /// Reads `config.json`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let value: serde_json::Value = serde_json::from_slice(bytes)
            .map_err(|error| corrupt(format!("config.json is not JSON: {error}; download it again")))?;
        // The kind of model first: the fields of another kind may have other types.
        const RUNS: &str = "this engine runs deberta, deberta-v2 (versions 2 and 3), bert, roberta, xlm-roberta, t5 and \
                            modernbert, for example a checkpoint of microsoft/deberta-v3-* fine-tuned on NLI";
        match value.get("model_type").and_then(serde_json::Value::as_str) {
            Some("deberta-v2" | "deberta") => Ok(Family::Deberta(Box::new(parse_config(value)?))),
            Some("bert") => Ok(Family::Bert(BertConfig::parse(value, false)?)),
            Some("roberta" | "xlm-roberta" | "camembert") => {
                Ok(Family::Bert(BertConfig::parse(value, true)?))
            }
            Some("t5") => Ok(Family::T5(T5Config::parse(value)?)),
            Some("modernbert") => Ok(Family::ModernBert(ModernBertConfig::parse(value)?)),
            Some(other) => Err(unsupported(format!("config.json says model_type {other:?}; {RUNS}"))),
            None => Err(unsupported(format!("config.json has no model_type; {RUNS}"))),
        }
    }

    /// Its name in listings.
    pub(crate) fn architecture(&self) -> &'static str {
        match self {
            Family::Deberta(_) => "deberta-v2",
            Family::Bert(config) if config.is_roberta => "roberta",
            Family::Bert(_) => "bert",
            Family::T5(_) => "t5",
            Family::ModernBert(_) => "modernbert",
        }
    }

    /// Names of the labels in logit order; empty where the checkpoint names none.
    pub(crate) fn label_names(&self) -> &[String] {
        match self {
            Family::Deberta(config) => &config.label_names,
            Family::Bert(config) => &config.label_names,
            Family::T5(config) => &config.label_names,
            Family::ModernBert(config) => &config.label_names,
        }
    }

    /// Other names for the labels.
    pub(crate) fn set_label_names(&mut self, names: Vec<String>) {
        let own = match self {
            Family::Deberta(config) => &mut config.label_names,
            Family::Bert(config) => &mut config.label_names,
            Family::T5(config) => &mut config.label_names,
            Family::ModernBert(config) => &mut config.label_names,
        };
        *own = names;
    }

    /// Longest input in tokens that the checkpoint names.
    pub(crate) fn longest(&self) -> usize {
        match self {
            Family::Deberta(config) => config.max_position_embeddings,
            Family::Bert(config) => config.longest,
            Family::T5(config) => config.positions,
            Family::ModernBert(config) => config.positions,
        }
    }

    /// Whether nothing but habit bounds the input, so that a preset may name another length.
    pub(crate) fn reads_any_length(&self) -> bool {
        match self {
            Family::Deberta(config) => !config.position_biased_input,
            Family::T5(_) => true,
            Family::Bert(_) | Family::ModernBert(_) => false,
        }
    }

    /// Whether it answers with words in place of labels.
    pub(crate) fn answers_in_words(&self) -> bool {
        matches!(self, Family::T5(config) if !config.labels_tokens)
    }

    /// Whether its head is for single tokens.
    pub(crate) fn labels_tokens(&self) -> bool {
        match self {
            Family::T5(config) => config.labels_tokens,
            Family::ModernBert(config) => config.labels_tokens,
            Family::Deberta(_) | Family::Bert(_) => false,
        }
    }

    /// Number of token ids, and of token types at the input.
    pub(crate) fn vocabulary(&self) -> (usize, usize) {
        match self {
            Family::Deberta(config) => (config.vocab_size, config.type_vocab_size),
            Family::Bert(config) => (config.vocab_size, config.encoder.type_vocab_size),
            Family::T5(config) => (config.vocab_size, 1),
            Family::ModernBert(config) => (config.vocab_size, 0),
        }
    }

    /// Number of layers, and width of the hidden state.
    pub(crate) fn layers_and_width(&self) -> (usize, usize) {
        match self {
            Family::Deberta(config) => (config.layers, config.hidden_size),
            Family::Bert(config) => (config.layers, config.encoder.hidden_size),
            Family::T5(config) => (config.layers, config.encoder.hidden_size),
            Family::ModernBert(config) => (config.is_local.len(), config.encoder.hidden_size),
        }
    }

    /// Finds every weight. `support` holds a second head, which only DeBERTa has; `answers` are the tokens that a model
    /// answers with in place of labels.
    pub(crate) fn load(
        &self,
        tensors: &TensorMap,
        support: Option<&TensorMap>,
        answers: &[u32],
    ) -> Result<Loaded, Problem> {
        let (config, weights) = match self {
            Family::Deberta(config) => {
                let weights = load_weights(config, tensors, support)?;
                (describe_config(config), describe(config, &weights))
            }
            Family::Bert(config) => config.load(tensors)?,
            Family::T5(config) => config.load(tensors, answers)?,
            Family::ModernBert(config) => config.load(tensors)?,
        };
        Ok(Loaded { config, weights })
    }
}

#[cfg(test)]
mod tests;
