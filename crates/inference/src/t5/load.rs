//! Weights of T5 by name.

use super::T5Config;
use crate::checkpoint::TensorMap;
use crate::config_json::{corrupt, unsupported};
use crate::encoder::{
    DecoderLayer, DecoderWeights, EncoderConfig, EncoderLayer, EncoderWeights, HeadInput, HeadWeights,
    LinearWeights,
};
use crate::lookup::{Lookup, owned};
use groundline_types::{Head, Problem};

/// What may stand before the names: nothing, `transformers`' token classifier, or HHEM's wrapper of one.
const PREFIXES: [&str; 3] = ["", "transformer.", "t5.transformer."];

impl T5Config {
    /// The model in the terms of [`crate::encoder`]; its head answers as `nli`: the classifier over tokens, else the logits of
    /// the tokens `answers` at the decoder's first step.
    pub(crate) fn load(
        &self,
        tensors: &TensorMap,
        answers: &[u32],
    ) -> Result<(EncoderConfig, EncoderWeights), Problem> {
        let lookup = Lookup::with_prefix_of(tensors, "shared.weight", &PREFIXES);
        let width = self.encoder.hidden_size;
        let (decoder, head) = if self.labels_tokens {
            (None, self.token_head(tensors)?)
        } else {
            (Some(self.decoder(lookup)?), self.answer_head(lookup, answers)?)
        };
        let weights = EncoderWeights {
            word_embeddings: lookup.tensor("shared.weight", &[self.vocab_size, width])?,
            position_embeddings: None,
            token_type_embeddings: None,
            embedding_projection: None,
            embedding_norm: None,
            distance_table: Some(lookup.tensor(
                "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                &[self.buckets, self.encoder.heads],
            )?),
            distance_norm: None,
            conv: None,
            layers: (0..self.layers).map(|index| self.layer(lookup, index)).collect::<Result<_, _>>()?,
            final_norm: Some(lookup.norm("encoder.final_layer_norm", width)?),
            decoder,
            heads: vec![head],
        };
        Ok((self.encoder.clone(), weights))
    }

    /// The projections of an attention part, `[q, k, v, o]`.
    fn attention(&self, lookup: Lookup<'_>, name: &str) -> Result<[LinearWeights; 4], Problem> {
        let (width, inner) = (self.encoder.hidden_size, self.encoder.heads * self.encoder.head_size);
        let linear =
            |part: &str, out: usize, input: usize| lookup.linear(&format!("{name}.{part}"), out, input);
        Ok([
            linear("q", inner, width)?,
            linear("k", inner, width)?,
            linear("v", inner, width)?,
            linear("o", width, inner)?,
        ])
    }

    /// The feed-forward part: with the activation, the gate, and back.
    fn feed_forward(
        &self,
        lookup: Lookup<'_>,
        name: &str,
    ) -> Result<(LinearWeights, Option<LinearWeights>, LinearWeights), Problem> {
        let (width, inner) = (self.encoder.hidden_size, self.encoder.intermediate_size);
        let linear = |part: &str, out: usize, input: usize| {
            lookup.linear(&format!("{name}.DenseReluDense.{part}"), out, input)
        };
        let output = linear("wo", width, inner)?;
        if self.is_gated {
            return Ok((linear("wi_0", inner, width)?, Some(linear("wi_1", inner, width)?), output));
        }
        Ok((linear("wi", inner, width)?, None, output))
    }

    fn layer(&self, lookup: Lookup<'_>, index: usize) -> Result<EncoderLayer, Problem> {
        let name = |part: &str| format!("encoder.block.{index}.layer.{part}");
        let [query, key, value, attention_output] = self.attention(lookup, &name("0.SelfAttention"))?;
        let (intermediate, gate, output) = self.feed_forward(lookup, &name("1"))?;
        Ok(EncoderLayer {
            query,
            key,
            value,
            pos_key: None,
            pos_query: None,
            attention_output,
            attention_norm: Some(lookup.norm(&name("0.layer_norm"), self.encoder.hidden_size)?),
            intermediate,
            gate,
            output,
            output_norm: lookup.norm(&name("1.layer_norm"), self.encoder.hidden_size)?,
            uses_distances: true,
        })
    }

    fn decoder(&self, lookup: Lookup<'_>) -> Result<DecoderWeights, Problem> {
        let width = self.encoder.hidden_size;
        let mut start = vec![0.0; width];
        lookup.tensor("shared.weight", &[self.vocab_size, width])?.read_row(self.start_token, &mut start);
        Ok(DecoderWeights {
            start: owned(&start, &[width])?,
            layers: (0..self.decoder_layers)
                .map(|index| self.decoder_layer(lookup, index))
                .collect::<Result<_, _>>()?,
            final_norm: lookup.norm("decoder.final_layer_norm", width)?,
        })
    }

    fn decoder_layer(&self, lookup: Lookup<'_>, index: usize) -> Result<DecoderLayer, Problem> {
        let name = |part: &str| format!("decoder.block.{index}.layer.{part}");
        let norm = |part: &str| lookup.norm(&name(part), self.encoder.hidden_size);
        let [_, _, self_value, self_output] = self.attention(lookup, &name("0.SelfAttention"))?;
        let [cross_query, cross_key, cross_value, cross_output] =
            self.attention(lookup, &name("1.EncDecAttention"))?;
        let (intermediate, gate, output) = self.feed_forward(lookup, &name("2"))?;
        Ok(DecoderLayer {
            self_norm: norm("0.layer_norm")?,
            self_value,
            self_output,
            cross_norm: norm("1.layer_norm")?,
            cross_query,
            cross_key: cross_key.weight,
            cross_value: cross_value.weight,
            cross_output,
            intermediate,
            gate,
            output,
            output_norm: norm("2.layer_norm")?,
        })
    }

    /// Rows of the vocabulary's output layer, which is the input table where there is no other.
    fn answer_head(&self, lookup: Lookup<'_>, answers: &[u32]) -> Result<HeadWeights, Problem> {
        if answers.is_empty() {
            return Err(unsupported(
                "this T5 checkpoint answers in words, and nothing says which words are meant; name its preset (such as \
                 minicheck-flan-t5 or true)"
                    .to_owned(),
            ));
        }
        let (width, vocabulary) = (self.encoder.hidden_size, self.vocab_size);
        let own = lookup.contains("lm_head.weight");
        let table =
            lookup.tensor(if own { "lm_head.weight" } else { "shared.weight" }, &[vocabulary, width])?;
        let scale = if self.scales_outputs { 1.0 / (width as f32).sqrt() } else { 1.0 };
        let mut rows = vec![0.0; answers.len() * width];
        for (&answer, row) in answers.iter().zip(rows.chunks_exact_mut(width)) {
            if answer as usize >= vocabulary {
                return Err(corrupt(format!(
                    "tokenizer.json gives an answer the id {answer}, and the model has embeddings for {vocabulary}"
                )));
            }
            table.read_row(answer as usize, row);
            row.iter_mut().for_each(|weight| *weight *= scale);
        }
        let out = LinearWeights { weight: owned(&rows, &[answers.len(), width])?, bias: None };
        Ok(HeadWeights { head: Head::Nli, input: HeadInput::DecoderStep, dense: None, norm: None, out })
    }

    fn token_head(&self, tensors: &TensorMap) -> Result<HeadWeights, Problem> {
        let lookup = Lookup::with_prefix_of(tensors, "classifier.weight", &["t5.", ""]);
        let rows = lookup.head_rows("classifier", &self.label_names)?;
        let out = lookup.linear("classifier", rows, self.encoder.hidden_size)?;
        Ok(HeadWeights { head: Head::Nli, input: HeadInput::FirstToken, dense: None, norm: None, out })
    }
}
