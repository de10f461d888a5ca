//! What claims are checked against, ready for detectors.

use crate::{CheckRequest, Claim, Derived, Reason, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// One request, split and windowed: what a detector starts from.
#[derive(Debug, Clone)]
pub struct PreparedCheck {
    /// The request as it came.
    pub request: Arc<CheckRequest>,
    /// Every sentence of the response in order, checkable or not.
    pub claims: Vec<Claim>,
    /// The sentence before the first of them, where they are the later part of a response: what they refer back to.
    pub before: Option<Arc<str>>,
    /// The evidence: the request's sources in order, then its history where that is evidence.
    pub sources: Vec<PreparedSource>,
    /// The request's samples in order, split and windowed like sources; they are no evidence. Empty where no method asked reads
    /// them. A sample without a word has no sentence.
    pub samples: Vec<PreparedSource>,
    /// Texts of claims that are not to be scored, with the reason. Pairs with them are refused wherever they are asked for; a method that
    /// puts several claims before a model at once leaves these out itself.
    pub refused: HashMap<Arc<str>, Reason>,
    /// What methods have read in its texts.
    pub derived: Derived,
}

/// One source, split into sentences and windows.
#[derive(Debug, Clone)]
pub struct PreparedSource {
    /// The caller's id, or `source-1`, `source-2`, … in order; `sample-1`, … for samples.
    pub id: Arc<str>,
    /// The original text that spans point into.
    pub text: Arc<str>,
    /// Every sentence with a word in it, in order.
    pub sentences: Vec<EvidenceSentence>,
    /// Windows of whole sentences that together cover every sentence.
    pub windows: Vec<EvidenceWindow>,
}

/// One sentence of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceSentence {
    /// Where it stands in the source, in bytes.
    pub span: Span,
    /// Its text without markup.
    pub text: Arc<str>,
    /// Its number of tokens, without special tokens.
    pub tokens: usize,
}

/// Consecutive sentences of a source that fit the model's window together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceWindow {
    /// From the first sentence's start to the last one's end, in bytes of the source.
    pub span: Span,
    /// Its sentences' texts, joined with single spaces.
    pub text: Arc<str>,
    /// Index of its first sentence.
    pub first_sentence: usize,
    /// Index one past its last sentence.
    pub end_sentence: usize,
}
