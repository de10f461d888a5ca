//! How a question to the judge ends.

use crate::JudgeUsage;
use groundline_types::{Code, Problem};

/// An answer and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged<T> {
    /// The answer.
    pub value: T,
    /// What it took; no calls where it came from the cache.
    pub usage: JudgeUsage,
}

/// No answer: why, and what it took nevertheless. Never to be read as a verdict.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct JudgeFailure {
    /// Why, as `GL5xxx`. Its message holds no text of the question or of the answer.
    pub problem: Problem,
    /// What it took.
    pub usage: JudgeUsage,
}

impl JudgeFailure {
    /// The code of the reason.
    pub fn code(&self) -> Code {
        self.problem.code
    }
}

/// What every question to the judge gives.
pub type JudgeResult<T> = Result<Judged<T>, JudgeFailure>;
