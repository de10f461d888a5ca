//! Weights of BERT and RoBERTa by name.

use super::BertConfig;
use crate::checkpoint::TensorMap;
use crate::encoder::{Activation, EncoderConfig, EncoderLayer, EncoderWeights, HeadInput, HeadWeights};
use crate::lookup::Lookup;
use groundline_types::{Head, Problem};

impl BertConfig {
    /// The model in the terms of [`crate::encoder`]; its head answers as `nli`.
    pub(crate) fn load(&self, tensors: &TensorMap) -> Result<(EncoderConfig, EncoderWeights), Problem> {
        let prefixes = if self.is_roberta { ["roberta.", ""] } else { ["bert.", ""] };
        let lookup = Lookup::with_prefix_of(tensors, "embeddings.word_embeddings.weight", &prefixes);
        let width = self.encoder.hidden_size;
        let weights = EncoderWeights {
            word_embeddings: lookup.tensor("embeddings.word_embeddings.weight", &[self.vocab_size, width])?,
            position_embeddings: Some(
                lookup.tensor("embeddings.position_embeddings.weight", &[self.positions, width])?,
            ),
            token_type_embeddings: (self.encoder.type_vocab_size > 0)
                .then(|| {
                    lookup.tensor(
                        "embeddings.token_type_embeddings.weight",
                        &[self.encoder.type_vocab_size, width],
                    )
                })
                .transpose()?,
            embedding_projection: None,
            embedding_norm: Some(lookup.norm("embeddings.LayerNorm", width)?),
            distance_table: None,
            distance_norm: None,
            conv: None,
            layers: (0..self.layers).map(|index| self.layer(lookup, index)).collect::<Result<_, _>>()?,
            final_norm: None,
            decoder: None,
            heads: vec![self.head(lookup)?],
        };
        Ok((self.encoder.clone(), weights))
    }

    fn layer(&self, lookup: Lookup<'_>, index: usize) -> Result<EncoderLayer, Problem> {
        let (width, inner) = (self.encoder.hidden_size, self.encoder.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{index}.{part}");
        let linear = |part: &str, out: usize, input: usize| lookup.linear(&name(part), out, input);
        Ok(EncoderLayer {
            query: linear("attention.self.query", width, width)?,
            key: linear("attention.self.key", width, width)?,
            value: linear("attention.self.value", width, width)?,
            pos_key: None,
            pos_query: None,
            attention_output: linear("attention.output.dense", width, width)?,
            attention_norm: Some(lookup.norm(&name("attention.output.LayerNorm"), width)?),
            intermediate: linear("intermediate.dense", inner, width)?,
            gate: None,
            output: linear("output.dense", width, inner)?,
            output_norm: lookup.norm(&name("output.LayerNorm"), width)?,
            uses_distances: false,
        })
    }

    /// BERT's pooler and classifier, RoBERTa's classifier of two layers, or one layer over every token.
    fn head(&self, lookup: Lookup<'_>) -> Result<HeadWeights, Problem> {
        let (width, bare) = (self.encoder.hidden_size, lookup.bare());
        let (dense, out) = if bare.contains("classifier.dense.weight") {
            (Some(bare.linear("classifier.dense", width, width)?), "classifier.out_proj")
        } else if self.labels_tokens {
            (None, "classifier")
        } else {
            bare.head_rows("classifier", &self.label_names)?;
            (Some(lookup.linear("pooler.dense", width, width)?), "classifier")
        };
        let rows = bare.head_rows(out, &self.label_names)?;
        Ok(HeadWeights {
            head: Head::Nli,
            input: HeadInput::FirstToken,
            dense: dense.map(|dense| (dense, Activation::Tanh)),
            norm: None,
            out: bare.linear(out, rows, width)?,
        })
    }
}
