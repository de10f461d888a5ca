//! Text to sentences and atomic facts with byte spans.
//!
//! [`split_response`] and [`split_source`] read a text, Markdown or plain, and give its sentences in order. Each has the text that
//! is scored, without markup, and the span of the original that it stands for:
//!
//! - spans are bytes of the original, on character boundaries, in order, and do not overlap;
//! - together they cover every letter and digit of the original that is no markup. Markup are link targets, HTML tags, the
//!   info strings of fenced code, list numbers, footnote labels and citation marks such as `[1]`;
//! - nothing is cut to a length: a text without a full stop is one sentence, however long.
//!
//! [`settled_claims`] reads a text that is still being written, and gives what no continuation can change.
//!
//! [`values`] gives numbers and dates in normal form, [`find_names`] the names, for comparing a claim with its evidence, and
//! [`find_hedge`] tells where a sentence of a source only says that something may be so, or is disputed.
//!
//! How it works: `markdown` finds blocks of text and keeps, for each, a map from the clean text to the original (`mapped`);
//! `sentences` cuts a block's clean text; `kind` says what each piece is; `facts` takes statements apart. All of it is linear
//! in the length of the text.
//!
//! Invariant of absence: no model, no async runtime, no file and no network.

#![forbid(unsafe_code)]

mod abbreviations;
mod facts;
mod hedge;
mod kind;
mod lookup;
mod mapped;
mod markdown;
mod names;
mod sentences;
mod split;
#[cfg(test)]
mod testing;
pub mod values;

pub use hedge::{Hedge, HedgeKind, find_hedge};
pub use names::{Name, find_names};
pub use split::{Sentence, SplitOptions, settled_claims, split_response, split_source};
