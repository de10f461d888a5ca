//! The attention weights of DeBERTa version 1: one matrix whose rows go by head, each with queries, keys and values.

use super::load::Loader;
use super::{LayerWeights, LinearWeights};
use crate::tensor::Tensor;
use groundline_types::{Code, Problem};

/// The tensor by which version 1 is told from later ones.
pub(super) const MARK: &str = "encoder.layer.0.attention.self.in_proj.weight";

/// The three projections of a layer, as later versions store them.
struct Projections {
    query: LinearWeights,
    key: LinearWeights,
    value: LinearWeights,
}

impl Loader<'_> {
    /// A layer of version 1. Keys have no bias; positions have projections of their own, that of keys without a bias.
    pub(super) fn layer_v1(&self, index: usize) -> Result<LayerWeights, Problem> {
        let config = self.config;
        let (width, inner, attended) =
            (config.hidden_size, config.intermediate_size, config.heads * config.head_size);
        let name = |part: &str| format!("encoder.layer.{index}.{part}");
        let relative = config.relative_attention;
        let Projections { query, key, value } = self.projections_v1(index)?;
        let pos_key = (relative && config.c2p)
            .then(|| self.encoder(&name("attention.self.pos_proj.weight"), &[attended, width]))
            .transpose()?;
        Ok(LayerWeights {
            query,
            key,
            value,
            pos_key: pos_key.map(|weight| LinearWeights { weight, bias: None }),
            pos_query: (relative && config.p2c)
                .then(|| self.linear(&name("attention.self.pos_q_proj"), attended, width))
                .transpose()?,
            attention_output: self.linear(&name("attention.output.dense"), width, attended)?,
            attention_norm: self.norm(&name("attention.output.LayerNorm"))?,
            intermediate: self.linear(&name("intermediate.dense"), inner, width)?,
            output: self.linear(&name("output.dense"), width, inner)?,
            output_norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    fn projections_v1(&self, index: usize) -> Result<Projections, Problem> {
        let (width, size, heads) = (self.config.hidden_size, self.config.head_size, self.config.heads);
        let name = |part: &str| format!("encoder.layer.{index}.attention.self.{part}");
        let all = self.encoder(&name("in_proj.weight"), &[3 * heads * size, width])?.to_f32();
        let part = |which: usize| {
            let of_head = |head: usize| &all[(head * 3 + which) * size * width..][..size * width];
            let rows: Vec<f32> = (0..heads).flat_map(of_head).copied().collect();
            Tensor::from_f32(&rows, vec![heads * size, width]).ok_or_else(|| {
                Problem::new(
                    Code::INTERNAL,
                    "a projection of version 1 was cut to another size than its shape",
                )
            })
        };
        let bias = |part: &str| self.encoder(&name(part), &[heads * size]).map(Some);
        Ok(Projections {
            query: LinearWeights { weight: part(0)?, bias: bias("q_bias")? },
            key: LinearWeights { weight: part(1)?, bias: None },
            value: LinearWeights { weight: part(2)?, bias: bias("v_bias")? },
        })
    }
}
