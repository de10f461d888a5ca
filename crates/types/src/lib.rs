//! Shared value types of Groundline.
//!
//! Every other crate speaks in these: a [`CheckRequest`] comes in, is split into [`Claim`]s with byte [`Span`]s, becomes
//! [`Work`] that some engine answers with [`Score`]s, which detectors turn into [`Report`]s and `groundline-verdict` into a
//! [`CheckResult`].
//!
//! Invariant of absence: this crate knows no async runtime, no model, no file and no network. It depends on `serde`, `serde_json` and
//! `thiserror` alone.

#![forbid(unsafe_code)]

mod claim;
mod code;
mod derived;
mod ensemble;
mod evidence;
mod labels;
mod limits;
mod model;
mod nearest;
mod outcome;
mod preset;
mod probability;
mod question;
mod report;
mod request;
mod result;
mod span;
mod span_result;
mod text_map;
mod work;

pub use claim::{AtomicFact, Claim, ClaimKind, HighStakesTag};
pub use code::{Code, Problem};
pub use derived::Derived;
pub use ensemble::{EnsembleInput, EnsembleResult};
pub use evidence::{EvidenceSentence, EvidenceWindow, PreparedCheck, PreparedSource};
pub use labels::{LabelError, NliLabels, NliProbabilities};
pub use limits::Limits;
pub use model::{CountTokens, LearnedFacts, ModelFacts, ModelId};
pub use nearest::nearest_name;
pub use outcome::{Outcome, Reason};
pub use preset::{PRESETS, PairInput, Preset, PresetInfo, PresetWindows, support_logits};
pub use probability::Probability;
pub use question::{Answer, Answered, EarlierFindings, JudgeCost, Judgement, Question};
pub use report::TokenFinding;
pub use report::{ClaimFinding, EvidencePick, MethodScore, Polarity, Report, SourceHedge, SupportMatrix};
pub use report::{Verdict, VerdictReason};
pub use request::{Audit, CascadePolicy, CheckRequest, GreyZone, Lane, PolicyChoice, Source, Turn};
pub use request::{StopAt, StreamRequest};
pub use result::{
    Action, CheckResult, EvidenceResult, FactResult, MatrixResult, MatrixRow, MethodResult, MethodSentence,
    MethodStatus, ModelResult, Note, SCHEMA, Scores, SentenceResult, SentenceStatus, Status, Timings, Usage,
};
pub use span::{OffsetUnit, Span};
pub use span_result::{SpanOrigin, SpanResult};
pub use text_map::{MapRun, TextMap};
pub use work::{Head, Score, Similarity, TokenScore, Work};
