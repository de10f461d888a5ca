//! Shape of a DeBERTa model.

use crate::encoder::Activation;

/// Shape of a DeBERTa model, every default of the layout already applied.
#[derive(Debug, Clone, PartialEq)]
pub struct DebertaConfig {
    /// Width of the hidden state, H.
    pub hidden_size: usize,
    /// Width of word embeddings; projected to `hidden_size` where it differs.
    pub embedding_size: usize,
    /// Attention heads, A.
    pub heads: usize,
    /// Width of a head, d; `heads * head_size` may differ from `hidden_size`.
    pub head_size: usize,
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
    /// Number of layers.
    pub layers: usize,
    /// Number of token ids.
    pub vocab_size: usize,
    /// Longest sequence in tokens.
    pub max_position_embeddings: usize,
    /// M: the distance at which log buckets end (`max_relative_positions`, or `max_position_embeddings` where that is
    /// below 1).
    pub max_relative_positions: usize,
    /// B: number of buckets on either side; `None` where distances are not bucketed.
    pub position_buckets: Option<usize>,
    /// Absolute positions are added at the input.
    pub position_biased_input: bool,
    /// Number of token types added at the input; 0 for none.
    pub type_vocab_size: usize,
    /// Whether any relative attention is used.
    pub relative_attention: bool,
    /// Content-to-position term.
    pub c2p: bool,
    /// Position-to-content term.
    pub p2c: bool,
    /// Position keys and queries use the content projections.
    pub share_att_key: bool,
    /// Relative embeddings go through a LayerNorm.
    pub norm_rel_embeddings: bool,
    /// Convolution beside layer 0.
    pub conv: Option<ConvConfig>,
    /// Epsilon of every LayerNorm.
    pub layer_norm_eps: f32,
    /// Activation of the feed-forward layer.
    pub hidden_act: Activation,
    /// Activation of the pooler.
    pub pooler_act: Activation,
    /// Names of the labels of the `nli` head, in logit order.
    pub label_names: Vec<String>,
    /// Token id of padding (never used in packed batches).
    pub pad_token_id: u32,
}

/// The convolution of DeBERTa-v2-xlarge.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvConfig {
    /// Width of the kernel, odd.
    pub kernel_size: usize,
    /// Number of groups.
    pub groups: usize,
    /// Its activation.
    pub activation: Activation,
}

impl DebertaConfig {
    /// Slots on either side of distance 0: B where distances are bucketed, else M. The relative table has `2 * span` rows.
    pub fn span(&self) -> usize {
        self.position_buckets.unwrap_or(self.max_relative_positions)
    }

    /// Row of the relative table for query position `i` and key position `j` with `distance = i - j`.
    ///
    /// Log buckets: a distance up to B/2 is itself; beyond, buckets widen logarithmically up to M. Computed in f64 as the
    /// authors' numpy code does.
    pub fn slot(&self, distance: isize) -> usize {
        let span = self.span() as isize;
        let bucket = match self.position_buckets {
            None => distance,
            Some(buckets) => {
                let middle = (buckets / 2) as isize;
                if distance.abs() <= middle {
                    distance
                } else {
                    let (r, mid) = (distance.abs() as f64, middle as f64);
                    let top = (self.max_relative_positions as f64 - 1.0) / mid;
                    let steps = ((r / mid).ln() / top.ln() * (mid - 1.0)).ceil() as isize;
                    (steps + middle) * distance.signum()
                }
            }
        };
        (bucket + span).clamp(0, 2 * span - 1) as usize
    }

    /// `1 / sqrt(d * (1 + [c2p] + [p2c]))`: what every attention score is multiplied with.
    ///
    /// A term that `pos_att_type` names counts even where `relative_attention` is off: so does the authors' code.
    pub fn attention_scale(&self) -> f64 {
        let terms = 1 + usize::from(self.c2p) + usize::from(self.p2c);
        1.0 / ((self.head_size * terms) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests;
