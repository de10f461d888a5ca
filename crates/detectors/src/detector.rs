//! What every detection method is.

use groundline_types::{
    Answered, EarlierFindings, ModelFacts, Outcome, PreparedCheck, Question, Report, Score, Work,
};
use std::sync::Arc;

/// What a detector wants next.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for a round of thousands of items, and it is moved twice"
)]
pub enum Next {
    /// Answers to this work, in this order. Never empty.
    Work(Vec<Work>),
    /// A judge's answers to these questions, in this order. Never empty.
    Ask(Vec<Question>),
    /// Nothing: this is what it found.
    Done(Report),
}

/// A detection method: a pure state machine that asks for work in rounds.
///
/// A detector never blocks, never fails and never panics, whatever it is answered: an outcome that is no score, or a score of
/// the wrong kind, makes the claims that depend on it [`Outcome::Failed`].
pub trait Detector: Send + std::fmt::Debug {
    /// The method's name, as in a request's `methods`.
    fn name(&self) -> &'static str;

    /// What an earlier stage found, told before [`Detector::start`] to a method that begins because of it. Most have no use for it.
    fn begin_after(&mut self, earlier: &Arc<EarlierFindings>) {
        let _ = earlier;
    }

    /// Starts on a check, forgetting any earlier one. A check without anything to score is [`Next::Done`] at once.
    fn start(&mut self, check: &Arc<PreparedCheck>, facts: &ModelFacts) -> Next;

    /// Work items that it asks for in all on the check it was started on, for progress and estimates. Exact, except that findings
    /// may spare some of the work for facts, that claims with values in another notation than their evidence's are asked about
    /// once more, and that it is the most there can be until the evidence nearest to each claim is known, where that alone is asked
    /// about.
    fn planned_items(&self) -> usize;

    /// Takes the outcomes of the work last asked for, in its order. Missing ones count as failed, surplus ones are ignored.
    fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next;

    /// Takes the answers to the questions last asked, in their order; otherwise as [`Detector::resume`]. Never called where nothing
    /// was asked.
    fn hear(&mut self, answers: &[Answered]) -> Next {
        let _ = answers;
        self.resume(&[])
    }

    /// Questions to a judge that it asks in all on the check it was started on.
    fn planned_questions(&self) -> usize {
        0
    }
}
