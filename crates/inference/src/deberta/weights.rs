//! Weights of a DeBERTa model by name, shapes already checked.

use crate::encoder::{Activation, LinearWeights, NormWeights};
use crate::tensor::Tensor;
use groundline_types::Head;

/// Weights of the encoder and its heads. Shapes are those of the [`crate::deberta::DebertaConfig`] they were checked against.
#[derive(Debug, Clone)]
pub struct Weights {
    /// `[vocab, embedding_size]`.
    pub word_embeddings: Tensor,
    /// `[max_position_embeddings, embedding_size]`, where absolute positions are added at the input.
    pub position_embeddings: Option<Tensor>,
    /// `[type_vocab_size, embedding_size]`.
    pub token_type_embeddings: Option<Tensor>,
    /// `[hidden, embedding_size]`, no bias, where the two differ.
    pub embedding_projection: Option<Tensor>,
    /// LayerNorm of the embeddings.
    pub embedding_norm: NormWeights,
    /// `[2 * span, hidden]`, where relative attention is used.
    pub rel_embeddings: Option<Tensor>,
    /// LayerNorm of the relative embeddings.
    pub rel_norm: Option<NormWeights>,
    /// Convolution beside layer 0.
    pub conv: Option<ConvWeights>,
    /// The layers in order.
    pub layers: Vec<LayerWeights>,
    /// The heads that were found.
    pub heads: Vec<ClassifierHead>,
}

/// Weights of one layer. With D = heads * head_size: query, key, value `[D, hidden]`, attention output `[hidden, D]`.
#[derive(Debug, Clone)]
pub struct LayerWeights {
    /// Query projection.
    pub query: LinearWeights,
    /// Key projection.
    pub key: LinearWeights,
    /// Value projection.
    pub value: LinearWeights,
    /// Projection of relative embeddings to keys (c2p), where it is not shared with `key`.
    pub pos_key: Option<LinearWeights>,
    /// Projection of relative embeddings to queries (p2c), where it is not shared with `query`.
    pub pos_query: Option<LinearWeights>,
    /// Attention output projection.
    pub attention_output: LinearWeights,
    /// LayerNorm after attention.
    pub attention_norm: NormWeights,
    /// `[intermediate, hidden]`.
    pub intermediate: LinearWeights,
    /// `[hidden, intermediate]`.
    pub output: LinearWeights,
    /// LayerNorm after the feed-forward layer.
    pub output_norm: NormWeights,
}

/// A one-dimensional convolution over positions with "same" padding.
#[derive(Debug, Clone)]
pub struct ConvWeights {
    /// `[hidden, hidden / groups, kernel]`.
    pub weight: Tensor,
    /// `[hidden]`.
    pub bias: Tensor,
    /// LayerNorm of the sum with layer 0's output.
    pub norm: NormWeights,
}

/// A head over the last hidden state of token 0: `out(activation(dense(x)))`.
#[derive(Debug, Clone)]
pub struct ClassifierHead {
    /// Its name.
    pub head: Head,
    /// `[hidden, hidden]`.
    pub dense: LinearWeights,
    /// Between the two.
    pub activation: Activation,
    /// `[labels, hidden]`.
    pub out: LinearWeights,
}
