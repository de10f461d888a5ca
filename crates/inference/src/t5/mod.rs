//! T5 and Flan-T5: the encoder, with one decoder step or with a head over tokens.
//!
//! Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer" (arXiv 1910.10683); layout as
//! `transformers` stores it. Norms come first and do not centre, no projection has a bias, scores are not scaled, and what a
//! score depends on beside content is one learned number for each head and bucket of distances.

mod config;
mod load;

pub(crate) use config::T5Config;
