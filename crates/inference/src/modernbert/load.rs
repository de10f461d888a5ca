//! Weights of ModernBERT by name.

use super::ModernBertConfig;
use crate::checkpoint::TensorMap;
use crate::encoder::{EncoderConfig, EncoderLayer, EncoderWeights, HeadWeights, LinearWeights};
use crate::lookup::{Lookup, owned};
use crate::tensor::Tensor;
use groundline_types::{Head, Problem};

/// Some of the outputs of a layer that several share: `count` from number `first` on.
fn outputs(all: &LinearWeights, first: usize, count: usize) -> Result<LinearWeights, Problem> {
    let part = |tensor: &Tensor| {
        let width: usize = tensor.shape()[1..].iter().product();
        let mut shape = tensor.shape().to_vec();
        shape[0] = count;
        owned(&tensor.to_f32()[first * width..(first + count) * width], &shape)
    };
    Ok(LinearWeights { weight: part(&all.weight)?, bias: all.bias.as_ref().map(part).transpose()? })
}

impl ModernBertConfig {
    /// The model in the terms of [`crate::encoder`]; its head answers as `nli`.
    pub(crate) fn load(&self, tensors: &TensorMap) -> Result<(EncoderConfig, EncoderWeights), Problem> {
        let lookup = Lookup::with_prefix_of(tensors, "embeddings.tok_embeddings.weight", &["model.", ""]);
        let width = self.encoder.hidden_size;
        let weights = EncoderWeights {
            word_embeddings: lookup.tensor("embeddings.tok_embeddings.weight", &[self.vocab_size, width])?,
            position_embeddings: None,
            token_type_embeddings: None,
            embedding_projection: None,
            embedding_norm: Some(lookup.norm("embeddings.norm", width)?),
            distance_table: None,
            distance_norm: None,
            conv: None,
            layers: (0..self.is_local.len())
                .map(|index| self.layer(lookup, index))
                .collect::<Result<_, _>>()?,
            final_norm: Some(lookup.norm("final_norm", width)?),
            decoder: None,
            heads: vec![self.head(lookup.bare())?],
        };
        Ok((self.encoder.clone(), weights))
    }

    fn layer(&self, lookup: Lookup<'_>, index: usize) -> Result<EncoderLayer, Problem> {
        let (width, inner) = (self.encoder.hidden_size, self.encoder.intermediate_size);
        let name = |part: &str| format!("layers.{index}.{part}");
        let attended = lookup.linear(&name("attn.Wqkv"), 3 * width, width)?;
        let wide = lookup.linear(&name("mlp.Wi"), 2 * inner, width)?;
        // The embeddings are normed, so that the first layer has no norm of its own.
        let norm = name("attn_norm");
        let has_norm = lookup.contains(&format!("{norm}.weight"));
        Ok(EncoderLayer {
            query: outputs(&attended, 0, width)?,
            key: outputs(&attended, width, width)?,
            value: outputs(&attended, 2 * width, width)?,
            pos_key: None,
            pos_query: None,
            attention_output: lookup.linear(&name("attn.Wo"), width, width)?,
            attention_norm: (index > 0 || has_norm).then(|| lookup.norm(&norm, width)).transpose()?,
            intermediate: outputs(&wide, 0, inner)?,
            gate: Some(outputs(&wide, inner, inner)?),
            output: lookup.linear(&name("mlp.Wo"), width, inner)?,
            output_norm: lookup.norm(&name("mlp_norm"), width)?,
            uses_distances: self.is_local[index],
        })
    }

    fn head(&self, lookup: Lookup<'_>) -> Result<HeadWeights, Problem> {
        let width = self.encoder.hidden_size;
        let rows = lookup.head_rows("classifier", &self.label_names)?;
        Ok(HeadWeights {
            head: Head::Nli,
            input: self.head_input,
            dense: Some((lookup.linear("head.dense", width, width)?, self.head_activation)),
            norm: Some(lookup.norm("head.norm", width)?),
            out: lookup.linear("classifier", rows, width)?,
        })
    }
}
