//! The DeBERTa-v2/v3 family: configuration and weights, apart from any engine.
//!
//! He et al., "DeBERTa: Decoding-enhanced BERT with Disentangled Attention" (arXiv 2006.03654) and "DeBERTaV3"
//! (arXiv 2111.09543); layout as `transformers` stores it.

mod config;
mod config_file;
mod load;
#[cfg(test)]
pub(crate) mod reference;
mod weights;

pub(crate) use config_file::parse_config;
pub(crate) use load::load_weights;

pub use config::{Activation, ConvConfig, DebertaConfig};
pub use weights::{ClassifierHead, ConvWeights, LayerWeights, LinearWeights, NormWeights, Weights};
