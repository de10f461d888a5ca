//! One decoder step, packed: what does not depend on the tokens is rearranged so that the encoder's result is read as it is.
//!
//! For a single query, `q . (K e)` is `(K^T q) . e` and `sum p (V e)` is `V (sum p e)`: per head, keys and values of every token
//! need not be computed, only one product of each token with a vector of the hidden width. That is `head_size` times less work.

use super::{LinearWeights, Norm, Packed, Packer};
use crate::encoder::{DecoderLayer, DecoderWeights};
use crate::tensor::Tensor;
use groundline_types::{Code, Problem};

/// A decoder whose first step is computed.
#[derive(Debug)]
pub(in super::super) struct Decoder {
    /// Embedding of the start token.
    pub start: Vec<f32>,
    pub steps: Vec<DecoderStep>,
    pub final_norm: Norm,
}

/// One layer of it.
#[derive(Debug)]
pub(in super::super) struct DecoderStep {
    pub self_norm: Norm,
    pub self_value: Packed,
    pub self_output: Packed,
    pub cross_norm: Norm,
    pub cross_query: Packed,
    /// For each head, from its query to a vector of the hidden width.
    pub cross_keys: Vec<Packed>,
    /// For each head, from a vector of the hidden width to its values.
    pub cross_values: Vec<Packed>,
    pub cross_output: Packed,
    pub intermediate: Packed,
    pub gate: Option<Packed>,
    pub output: Packed,
    pub output_norm: Norm,
}

impl Packer {
    pub(super) fn decoder(&self, weights: &DecoderWeights) -> Result<Decoder, Problem> {
        if self.config.hidden_size != self.widths.hidden {
            return Err(Problem::new(
                Code::MODEL_UNSUPPORTED,
                format!(
                    "a decoder of width {} does not run; expected a multiple of 16",
                    self.config.hidden_size
                ),
            ));
        }
        Ok(Decoder {
            start: weights.start.to_f32(),
            steps: weights.layers.iter().map(|layer| self.decoder_step(layer)).collect(),
            final_norm: self.norm(&weights.final_norm),
        })
    }

    fn decoder_step(&self, layer: &DecoderLayer) -> DecoderStep {
        DecoderStep {
            self_norm: self.norm(&layer.self_norm),
            self_value: self.head_projection(&layer.self_value, 1.0),
            self_output: self.output_projection(&layer.self_output),
            cross_norm: self.norm(&layer.cross_norm),
            cross_query: self.head_projection(&layer.cross_query, self.scale()),
            cross_keys: self.cross_keys(&layer.cross_key),
            cross_values: self.cross_values(&layer.cross_value),
            cross_output: self.output_projection(&layer.cross_output),
            intermediate: self.plain(&layer.intermediate),
            gate: layer.gate.as_ref().map(|gate: &LinearWeights| self.plain(gate)),
            output: self.plain(&layer.output),
            output_norm: self.norm(&layer.output_norm),
        }
    }

    /// The key projection of each head, transposed: from the head's width to the hidden width.
    fn cross_keys(&self, key: &Tensor) -> Vec<Packed> {
        let (size, hidden, all) = (self.config.head_size, self.config.hidden_size, key.to_f32());
        let of_head = |head: usize| {
            let mut packed = Packed::zeros(self.kernels, self.widths.head, hidden);
            let mut column = vec![0.0; self.widths.head];
            for output in 0..hidden {
                for (k, weight) in column.iter_mut().take(size).enumerate() {
                    *weight = all[(head * size + k) * hidden + output];
                }
                packed.set_column(output, &column, 0.0);
            }
            packed
        };
        (0..self.config.heads).map(of_head).collect()
    }

    /// The value projection of each head: from the hidden width to the head's.
    fn cross_values(&self, value: &Tensor) -> Vec<Packed> {
        let (size, hidden, all) = (self.config.head_size, self.config.hidden_size, value.to_f32());
        let of_head = |head: usize| {
            let mut packed = Packed::zeros(self.kernels, hidden, size);
            for k in 0..size {
                packed.set_column(k, &all[(head * size + k) * hidden..][..hidden], 0.0);
            }
            packed
        };
        (0..self.config.heads).map(of_head).collect()
    }
}
