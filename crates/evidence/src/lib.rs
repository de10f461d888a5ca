//! What a claim is checked against: windows of a source.
//!
//! [`prepare_source`] turns the sentences of a source into pieces that fit the model's window and windows of whole
//! sentences, without losing a word. [`nearness_score`] and [`rank`] say which evidence is nearest to a claim.
//!
//! Invariant of absence: this crate knows no score of a claim, no model beyond a token counter, no runtime and no network.

#![forbid(unsafe_code)]

mod cut;
mod nearness;
mod prepare;

pub use nearness::{Nearness, NearnessWeights, TextFeatures, content_words, cosine, nearness_score, rank};
pub use prepare::{MAX_CUT_NOTES, SourceText, prepare_source};
