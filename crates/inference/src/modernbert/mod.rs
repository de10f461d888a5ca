//! ModernBERT, for whole texts and for the labels of tokens (the layout of LettuceDetect).
//!
//! Warner et al., "Smarter, Better, Faster, Longer: A Modern Bidirectional Encoder" (arXiv 2412.13663); layout as `transformers`
//! stores it. Norms come first and have no offsets, feed-forward parts are gated, queries and keys are rotated by their position,
//! and most layers see near keys only.

mod config;
mod load;

pub(crate) use config::ModernBertConfig;
