//! What the methods that ask a judge have in common.

use groundline_types::{Answer, Answered, Code, JudgeCost, Outcome, Reason};
use std::collections::BTreeMap;

/// What questions took and how many brought nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    asked: usize,
    cost: JudgeCost,
    failed: BTreeMap<Code, usize>,
}

impl Ledger {
    /// Takes the answer to the next question; `None` is one that never came.
    pub(crate) fn take(&mut self, answered: Option<&Answered>) -> Outcome<Answer> {
        self.asked += 1;
        let outcome = match answered {
            Some(Answered { outcome, cost }) => {
                self.cost.add(cost);
                outcome.clone()
            }
            None => Outcome::Failed(Reason::new(Code::INTERNAL, "expected an answer of the judge, got none")),
        };
        if let Some(reason) = outcome.reason() {
            *self.failed.entry(reason.code).or_default() += 1;
        }
        outcome
    }

    /// The numbers beside a method's score.
    pub(crate) fn extra(&self) -> BTreeMap<&'static str, f64> {
        let JudgeCost { calls, input_tokens, output_tokens, money, cache_hits } = self.cost;
        let mut extra = BTreeMap::from([
            ("questions", self.asked as f64),
            ("calls", calls as f64),
            ("input_tokens", input_tokens as f64),
            ("output_tokens", output_tokens as f64),
            ("cache_hits", cache_hits as f64),
        ]);
        if money > 0.0 {
            extra.insert("cost", money);
        }
        extra
    }

    /// One note for each reason why answers are missing.
    pub(crate) fn notes(&self) -> Vec<(Code, String)> {
        let asked = self.asked;
        let note = |(code, count): (&Code, &usize)| {
            (*code, format!("{count} of {asked} questions to the judge brought no answer, and count as none"))
        };
        self.failed.iter().map(note).collect()
    }
}

/// What an answer of another kind than was asked for counts as.
pub(crate) fn wrong_kind() -> Reason {
    Reason::new(Code::INTERNAL, "expected another kind of answer of the judge")
}
