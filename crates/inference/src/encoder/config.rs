//! Shape of an encoder.

use super::Distances;

/// An activation function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// `x * Φ(x)` with the exact error function.
    Gelu,
    /// Its approximation `x/2 * (1 + tanh(sqrt(2/π) * (x + 0.044715 x³)))`, which some checkpoints were trained with.
    GeluTanh,
    /// Hyperbolic tangent.
    Tanh,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    /// The activation of a name as `transformers` knows it; `None` for one that no engine here computes.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "gelu" => Some(Activation::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" => Some(Activation::GeluTanh),
            "tanh" => Some(Activation::Tanh),
            "relu" => Some(Activation::Relu),
            _ => None,
        }
    }
}

/// How a norm centres its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// LayerNorm: less the mean, divided by the standard deviation.
    Layer,
    /// Divided by the root of the mean square, not centred.
    RootMeanSquare,
}

/// Shape of an encoder, every default of its family already applied.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderConfig {
    /// Width of the hidden state, H.
    pub hidden_size: usize,
    /// Width of word embeddings; projected to `hidden_size` where it differs.
    pub embedding_size: usize,
    /// Attention heads.
    pub heads: usize,
    /// Width of a head; `heads * head_size` may differ from `hidden_size`.
    pub head_size: usize,
    /// Width between the two feed-forward layers.
    pub intermediate_size: usize,
    /// Number of token types added at the input; 0 for none.
    pub type_vocab_size: usize,
    /// Row of the position table that belongs to token 0.
    pub first_position: usize,
    /// Longest sequence in tokens, where positions at the input or rotations bound it; `None` where any length runs.
    pub longest_sequence: Option<usize>,
    /// How every norm centres.
    pub norm: NormKind,
    /// Epsilon of every norm.
    pub norm_eps: f32,
    /// Norms stand before attention and before the feed-forward part, and not after.
    pub norm_first: bool,
    /// Activation of the feed-forward part (of its activated half where it is gated).
    pub activation: Activation,
    /// What every attention score is multiplied with.
    pub attention_scale: f64,
    /// What the distance of two tokens adds to their score.
    pub distances: Distances,
    /// Rotations of queries and keys: the base of the angles for each layer; empty for none.
    pub rotary_bases: Vec<f32>,
}
