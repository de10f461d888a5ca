//! The DeBERTa family (versions 1, 2 and 3): configuration and weights, apart from any engine.
//!
//! He et al., "DeBERTa: Decoding-enhanced BERT with Disentangled Attention" (arXiv 2006.03654) and "DeBERTaV3"
//! (arXiv 2111.09543); layout as `transformers` stores it.

mod config;
mod config_file;
mod describe;
mod load;
mod load_v1;
#[cfg(test)]
pub(crate) mod reference;
mod weights;

pub(crate) use config_file::parse_config;
pub(crate) use load::load_weights;

pub(crate) use describe::{describe, describe_config};

pub use crate::encoder::{Activation, LinearWeights, NormWeights};
pub use config::{ConvConfig, DebertaConfig};
pub use weights::{ClassifierHead, ConvWeights, LayerWeights, Weights};
