//! Three outcomes, never a NaN.

use crate::{Code, Problem};
use serde::{Deserialize, Serialize};

/// What became of something that was to be scored.
///
/// No evidence, no claim, an engine that is down, a budget that is spent: none of them is ever "supported", and none is
/// ever "contradicted".
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// It has a value.
    Scored(T),
    /// There was nothing to score, by the nature of the input.
    Abstained(Reason),
    /// It should have been scored and was not.
    Failed(Reason),
}

impl<T> Outcome<T> {
    /// The value, if there is one.
    pub fn scored(&self) -> Option<&T> {
        match self {
            Outcome::Scored(value) => Some(value),
            Outcome::Abstained(_) | Outcome::Failed(_) => None,
        }
    }

    /// Why there is no value, if there is none.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Outcome::Scored(_) => None,
            Outcome::Abstained(reason) | Outcome::Failed(reason) => Some(reason),
        }
    }

    /// The outcome with its value changed by `change`.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Outcome::Scored(value) => Outcome::Scored(change(value)),
            Outcome::Abstained(reason) => Outcome::Abstained(reason),
            Outcome::Failed(reason) => Outcome::Failed(reason),
        }
    }
}

/// Why something has no value: a stable code and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The kind.
    pub code: Code,
    /// What happened, without text of the user's.
    pub message: String,
}

impl Reason {
    /// A reason of kind `code`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl From<Problem> for Reason {
    fn from(problem: Problem) -> Self {
        Self { code: problem.code, message: problem.message }
    }
}
