//! What a language model is asked as judge, and what it answers.
//!
//! Detectors ask and read; whoever runs them owns the client. A question that brings no answer is [`Outcome::Failed`] with a code
//! `GL5xxx`, never a verdict.

use crate::{Outcome, Probability, Verdict};
use std::sync::Arc;

/// Something that a method asks a judge.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// Do these passages support a claim?
    Verdict {
        /// Passages of the sources, best first.
        passages: Vec<Arc<str>>,
        /// One claim.
        claim: Arc<str>,
        /// What the response answers. It gives meaning to the claim and is no evidence.
        question: Option<Arc<str>>,
        /// Support probability that an earlier method gave. In the judge's grey zone it calls for votes, where the judge has no
        /// probability of its own.
        earlier_support_probability: Option<Probability>,
    },
    /// Does a sample support a sentence? SelfCheckGPT's prompt method.
    SelfCheck {
        /// The sentence under test.
        sentence: Arc<str>,
        /// One whole sample.
        sample: Arc<str>,
    },
}

impl Question {
    /// The claim or sentence that it is about.
    pub fn claim(&self) -> &Arc<str> {
        match self {
            Question::Verdict { claim, .. } => claim,
            Question::SelfCheck { sentence, .. } => sentence,
        }
    }
}

/// What a judge answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To [`Question::Verdict`].
    Verdict(Judgement),
    /// To [`Question::SelfCheck`]: 0 for yes, 1 for no, 0.5 for anything else. Higher is worse.
    Inconsistency(f64),
}

/// A judge's verdict on one claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// How likely support, contradiction and neither are, where the judge has probabilities or votes; they sum to 1.
    pub probabilities: Option<[Probability; 3]>,
    /// Why, in the judge's words, one sentence. Text of a model that read untrusted text: for people, never for logs.
    pub reason: String,
    /// What it quotes from the passages.
    pub quote: Option<String>,
    /// Index of the passage that holds the quote.
    pub quoted_passage: Option<usize>,
    /// Whether it said something else, with a quote that no passage holds, so that its verdict counts as not mentioned.
    pub is_downgraded: bool,
    /// Answers that were counted, 1 without a vote.
    pub votes: u32,
}

/// What questions to a judge took, failed ones included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct JudgeCost {
    /// HTTP calls.
    pub calls: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Money, in the currency of the configured prices.
    pub money: f64,
    /// Questions that the judge's own cache answered.
    pub cache_hits: u64,
}

impl JudgeCost {
    /// Adds what another question took.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.money += other.money;
        self.cache_hits += other.cache_hits;
    }

    /// Read and written tokens together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// How one question ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The answer, or why there is none.
    pub outcome: Outcome<Answer>,
    /// What it took.
    pub cost: JudgeCost,
}

impl Answered {
    /// An end without an answer that cost nothing.
    pub fn failed(reason: crate::Reason) -> Self {
        Self { outcome: Outcome::Failed(reason), cost: JudgeCost::default() }
    }
}

/// What methods of an earlier stage found, for those that begin because of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EarlierFindings {
    /// For each claim, the support probability of the method that decides; `None` where it has none.
    pub support_probabilities: Vec<Option<Probability>>,
    /// For each claim, whether that leaves it open.
    pub is_grey: Vec<bool>,
}
