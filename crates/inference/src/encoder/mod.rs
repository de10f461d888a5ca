//! One description of an encoder that every family of models is read into, apart from any engine.
//!
//! A layer is attention and a feed-forward part, each with a residual and a norm. Families differ in a few choices:
//!
//! | | norm | feed-forward | place of a token |
//! |---|---|---|---|
//! | BERT, RoBERTa | after each part, LayerNorm | plain | absolute, added at the input |
//! | DeBERTa | after each part, LayerNorm | plain | two terms of distance in every score |
//! | T5 | before each part and at the end, by root mean square | plain or gated | a learned number for each head and distance |
//! | ModernBERT | before each part and at the end, LayerNorm without offsets | gated | rotated queries and keys; some layers see near keys only |
//!
//! [`EncoderConfig`] holds those choices, [`EncoderWeights`] the numbers; an engine knows nothing else of a family.

mod config;
mod distances;
mod weights;

pub use config::{Activation, EncoderConfig, NormKind};
pub use distances::Distances;
pub use weights::{
    DecoderLayer, DecoderWeights, EncoderLayer, EncoderWeights, HeadInput, HeadWeights, LinearWeights,
    NormWeights,
};
