//! Weights of an encoder by role, shapes already checked.

use super::Activation;
use crate::deberta::{ConvConfig, ConvWeights};
use crate::tensor::Tensor;
use groundline_types::Head;

/// `y = W x + b`, W `[out, in]`.
#[derive(Debug, Clone)]
pub struct LinearWeights {
    /// `[out, in]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
}

/// Gain and offset of a norm, `[width]` each.
#[derive(Debug, Clone)]
pub struct NormWeights {
    /// Gain.
    pub weight: Tensor,
    /// Offset; zeros where the family has none.
    pub bias: Tensor,
}

/// Weights of an encoder and its heads. Shapes are those of the [`super::EncoderConfig`] they came with.
#[derive(Debug, Clone)]
pub struct EncoderWeights {
    /// `[vocab, embedding_size]`.
    pub word_embeddings: Tensor,
    /// `[positions, embedding_size]`, where absolute positions are added at the input.
    pub position_embeddings: Option<Tensor>,
    /// `[type_vocab_size, embedding_size]`.
    pub token_type_embeddings: Option<Tensor>,
    /// `[hidden, embedding_size]`, no bias, where the two differ.
    pub embedding_projection: Option<Tensor>,
    /// Norm of the embeddings, where there is one.
    pub embedding_norm: Option<NormWeights>,
    /// What [`super::Distances`] looks up: `[2 * span, hidden]` for the disentangled terms, `[buckets, heads]` for a bias.
    pub distance_table: Option<Tensor>,
    /// Norm of the relative embeddings.
    pub distance_norm: Option<NormWeights>,
    /// Convolution beside layer 0.
    pub conv: Option<(ConvConfig, ConvWeights)>,
    /// The layers in order.
    pub layers: Vec<EncoderLayer>,
    /// Norm of the last hidden state, where norms come first.
    pub final_norm: Option<NormWeights>,
    /// One step of a decoder over the encoder's result, for heads that read it.
    pub decoder: Option<DecoderWeights>,
    /// The heads that were found.
    pub heads: Vec<HeadWeights>,
}

/// Weights of one layer. With D = heads * head_size: query, key, value `[D, hidden]`, attention output `[hidden, D]`.
#[derive(Debug, Clone)]
pub struct EncoderLayer {
    /// Query projection.
    pub query: LinearWeights,
    /// Key projection.
    pub key: LinearWeights,
    /// Value projection.
    pub value: LinearWeights,
    /// Projection of relative embeddings to keys, where it is not that of the content.
    pub pos_key: Option<LinearWeights>,
    /// Projection of relative embeddings to queries, where it is not that of the content.
    pub pos_query: Option<LinearWeights>,
    /// Attention output projection.
    pub attention_output: LinearWeights,
    /// Norm before or after attention; `None` where the input is normed already.
    pub attention_norm: Option<NormWeights>,
    /// `[intermediate, hidden]`, with the activation.
    pub intermediate: LinearWeights,
    /// `[intermediate, hidden]`, multiplied with the activated half, where the feed-forward part is gated.
    pub gate: Option<LinearWeights>,
    /// `[hidden, intermediate]`.
    pub output: LinearWeights,
    /// Norm before or after the feed-forward part.
    pub output_norm: NormWeights,
    /// Whether [`super::Distances`] applies to this layer.
    pub uses_distances: bool,
}

/// What a head reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadInput {
    /// The last hidden state of token 0.
    FirstToken,
    /// The mean of the last hidden state over all tokens.
    MeanOfTokens,
    /// The decoder's first step.
    DecoderStep,
}

/// A head: `out(norm(activation(dense(x))))`, each but the last where it is there.
#[derive(Debug, Clone)]
pub struct HeadWeights {
    /// Its name.
    pub head: Head,
    /// What it reads. For the logits of every token it is applied to each in place of this.
    pub input: HeadInput,
    /// `[hidden, hidden]` with its activation.
    pub dense: Option<(LinearWeights, Activation)>,
    /// Norm after it.
    pub norm: Option<NormWeights>,
    /// `[labels, hidden]`.
    pub out: LinearWeights,
}

/// A decoder, of which one step is computed: from the start token, seeing the encoder's result.
#[derive(Debug, Clone)]
pub struct DecoderWeights {
    /// Embedding of the start token, `[hidden]`.
    pub start: Tensor,
    /// The layers in order.
    pub layers: Vec<DecoderLayer>,
    /// Norm of the result.
    pub final_norm: NormWeights,
}

/// Weights of one decoder layer. A single token attends to itself alone, so that self-attention is its value.
#[derive(Debug, Clone)]
pub struct DecoderLayer {
    /// Norm before self-attention.
    pub self_norm: NormWeights,
    /// `[D, hidden]`.
    pub self_value: LinearWeights,
    /// `[hidden, D]`.
    pub self_output: LinearWeights,
    /// Norm before attention to the encoder.
    pub cross_norm: NormWeights,
    /// `[D, hidden]`.
    pub cross_query: LinearWeights,
    /// `[D, hidden]`, no bias.
    pub cross_key: Tensor,
    /// `[D, hidden]`, no bias.
    pub cross_value: Tensor,
    /// `[hidden, D]`.
    pub cross_output: LinearWeights,
    /// `[intermediate, hidden]`.
    pub intermediate: LinearWeights,
    /// `[intermediate, hidden]`.
    pub gate: Option<LinearWeights>,
    /// `[hidden, intermediate]`.
    pub output: LinearWeights,
    /// Norm before the feed-forward part.
    pub output_norm: NormWeights,
}
