//! A language model as judge, over any OpenAI-compatible chat endpoint.
//!
//! Four kinds of question, each with one answer or one [`JudgeFailure`]:
//!
//! | question | answer | for |
//! |---|---|---|
//! | [`Judge::verdict`] | supported, contradicted or unsupported, with a reason and a quote | a second opinion on a claim |
//! | [`Judge::decompose`] | atomic facts with spans | claims that rules cannot take apart |
//! | [`Judge::selfcheck`] | yes, no or neither | SelfCheckGPT's prompt method |
//! | [`Judge::sample`] | several responses to one prompt | self-consistency |
//!
//! Rules that hold for all of them:
//!
//! - **A failure is never a verdict.** A refusal, an answer that cannot be read, a time that passed: each is a `GL5xxx` code.
//! - **What is judged is hostile.** Untrusted text stands between fences with a code that its author cannot know, without
//!   anything that could pass for markup; the answer is read strictly; a verdict whose quote is not in the source is none.
//! - **No text in logs or errors**: sizes, counts and codes. [`JudgeVerdict::reason`] is for people.
//! - **Everything is bounded**: calls at once and waiting, bytes of questions and answers, attempts, time, tokens, money, cache.
//!
//! How a question goes: cache, then prompt, then a place among the calls under way, then budget, rate and breaker, then HTTP, again
//! where that helps. [`JudgeOptions`] has every number; the first question probes what the backend can do ([`Capabilities`]).
//!
//! Invariant of absence: no actor, no bus, no NATS; this crate does not know what a check is. The caller brings its own bulkhead.

#![forbid(unsafe_code)]

mod backend;
mod breaker;
mod budget;
mod cache;
mod capabilities;
mod facts;
mod family;
mod fence;
mod judge;
mod logprobs;
mod options;
mod outcome;
mod parse;
mod probe;
mod prompts;
mod random;
mod rate;
mod retry;
mod sample;
mod secret;
mod selfcheck;
#[cfg(any(test, feature = "stub"))]
pub mod stub;
mod trace;
mod transport;
mod usage;
mod verdict;
mod wire;

pub use backend::JudgeHealth;
pub use capabilities::{AnswerFormat, Capabilities, TokenLimitField};
pub use facts::{Facts, FactsRequest, JudgeFact};
pub use family::{FamilyMatch, compare_families, same_family_warning};
pub use judge::Judge;
pub use options::{
    BreakerOptions, BudgetOptions, CacheOptions, FactOptions, JudgeOptions, PriceOptions, RetryOptions,
    SamplingOptions, SelfCheckOptions, SelfCheckPrompt, VerdictOptions,
};
pub use outcome::{JudgeFailure, JudgeResult, Judged};
pub use prompts::{FACTS_PROMPT, SELFCHECK_PROMPT, SELFCHECK_REFERENCE_PROMPT, VERDICT_PROMPT};
pub use random::Randomness;
pub use sample::{SampleRequest, Samples};
pub use secret::Secret;
pub use selfcheck::{SelfCheckAnswer, SelfCheckQuestion, selfcheck_inconsistency};
pub use transport::{Incoming, Outgoing, Transport, TransportError};
pub use usage::{JudgeUsage, TokenUsage};
pub use verdict::{JudgeLabel, JudgeVerdict, LabelProbabilities, ProbabilityBasis, VerdictQuestion};
