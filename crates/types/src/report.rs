//! What a detector found.

use crate::{Code, NliProbabilities, Outcome, Probability, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whether a claim holds against the sources. The order is the order of badness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The sources entail it.
    Supported,
    /// The sources say nothing about it.
    NotMentioned,
    /// The sources say otherwise.
    Contradicted,
}

/// Why a sentence has its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerdictReason {
    /// Evidence entails it.
    Entailed,
    /// Evidence contradicts it.
    Contradicted,
    /// A number or date conflicts with the best evidence.
    Numeric,
    /// No evidence speaks of it.
    NoEvidence,
    /// The best evidence says only that it may be so ("is thought to", "probably"), and the claim says it plainly.
    HedgedSource,
    /// The best evidence says that it is disputed or not known, and the claim says it plainly.
    DisputedSource,
    /// A judge said so.
    Judge,
    /// It makes no claim.
    NotAClaim,
    /// It could not be checked.
    Unchecked,
}

/// Which way a method's number points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    /// More is better supported.
    HigherIsSupported,
    /// More is worse.
    HigherIsHallucinated,
}

/// A piece of evidence for or against a claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvidencePick {
    /// Index into [`crate::PreparedCheck::sources`].
    pub source: usize,
    /// Index of the sentence in that source.
    pub sentence: usize,
    /// What the model says of (sentence, claim).
    pub probabilities: NliProbabilities,
}

/// What a detector found about one claim.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClaimFinding {
    /// Probability that the sources support it, on the method's own scale.
    pub support: Option<Probability>,
    /// Probability that the sources contradict it, from the evidence that may speak against it.
    pub contradiction: Option<Probability>,
    /// Probability of neither.
    pub neutral: Option<Probability>,
    /// Best evidence first: the one that supports most where the claim is supported, that contradicts most where it is
    /// contradicted, nearest otherwise. At most 3.
    pub evidence: Vec<EvidencePick>,
    /// What a token classifier says of its tokens, in order; empty for other methods.
    pub tokens: Vec<TokenFinding>,
    /// A conflict of numbers or dates with the evidence: which values, for people.
    pub numeric_conflict: Option<String>,
    /// What the best evidence hedges with, where it does and the claim does not.
    pub hedge: Option<SourceHedge>,
    /// Why, in the method's words, for people. A judge's reason is text of a model that read untrusted text: never for logs.
    pub remark: Option<String>,
    /// The method's own number for this claim, in the range and polarity of the method's score, where it has one that is shown
    /// beside the verdict; finite.
    pub score: Option<f64>,
    /// Further numbers of the method about this claim by name, each finite.
    pub extra: BTreeMap<&'static str, f64>,
}

/// What a token classifier says of one token of a claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenFinding {
    /// Where it stands in the response, in bytes.
    pub span: Span,
    /// Probability that no source supports it.
    pub hallucination_probability: Probability,
}

/// How the best evidence of a claim holds back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceHedge {
    /// Whether it says that people do not agree or do not know; otherwise that something may be so.
    pub is_disputed: bool,
    /// The words that say so, as they stand in the evidence.
    pub words: String,
    /// Whether the evidence has every content word of the claim, so that little else can be the difference.
    pub says_all: bool,
}

/// A number that a method gives to the whole response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MethodScore {
    /// The number; finite. Its range is the method's: SummaC-ZS has -1..=1.
    pub value: f64,
    /// Which way it points.
    pub polarity: Polarity,
}

/// Entailment, contradiction and neutral probabilities of every (source sentence, claim) pair, for explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct SupportMatrix {
    /// (source, sentence) of each row.
    pub rows: Vec<(usize, usize)>,
    /// Index into [`crate::PreparedCheck::claims`] of each column.
    pub columns: Vec<usize>,
    /// Row-major, `rows.len() * columns.len()` entries; `None` where the pair was not scored.
    pub entries: Vec<Option<NliProbabilities>>,
}

impl SupportMatrix {
    /// The entry of a row and a column.
    pub fn get(&self, row: usize, column: usize) -> Option<NliProbabilities> {
        self.entries.get(row * self.columns.len() + column).copied().flatten()
    }
}

/// What a detector found about a response.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The method's name, as in [`crate::CheckRequest::methods`].
    pub method: &'static str,
    /// One entry for each claim of the response, checkable or not, in order; empty where the method only speaks about the
    /// whole response.
    pub claims: Vec<Outcome<ClaimFinding>>,
    /// One list for each claim: a finding for each of its facts. Empty where facts were not asked for.
    pub facts: Vec<Vec<Outcome<ClaimFinding>>>,
    /// What it says about the whole response.
    pub score: Outcome<MethodScore>,
    /// Further numbers about the whole response by name, each finite; `summac` gives `summac_zs` here.
    pub extra: BTreeMap<&'static str, f64>,
    /// The pair probabilities, where the method has them.
    pub matrix: Option<SupportMatrix>,
    /// Things a reader should know, by code.
    pub notes: Vec<(Code, String)>,
    /// Pairs and texts that the method asked to be scored, before caches.
    pub work_items: usize,
}
