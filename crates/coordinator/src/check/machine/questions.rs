//! The questions to a judge of one round.

use groundline_types::{Answered, Reason};
use std::collections::BTreeSet;

/// Questions of one check that are with the judge at once. The judge has limits for all checks together; this keeps one check
/// with many questions from taking every place in its queue.
pub(super) const MAX_QUESTIONS_UNDER_WAY: usize = 16;

/// A round of questions. Each is answered exactly once, or failed where the round ends before.
#[derive(Debug, Default)]
pub(super) struct Questions {
    is_open: bool,
    answers: Vec<Option<Answered>>,
    /// How many were asked, in order.
    asked: usize,
    under_way: BTreeSet<usize>,
}

impl Questions {
    /// Opens a round.
    pub(super) fn begin(&mut self, count: usize) {
        *self = Self { is_open: true, answers: vec![None; count], ..Self::default() };
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// What is to be asked now.
    pub(super) fn next(&mut self) -> Vec<usize> {
        let room = MAX_QUESTIONS_UNDER_WAY - self.under_way.len().min(MAX_QUESTIONS_UNDER_WAY);
        let end = (self.asked + room).min(self.answers.len());
        let next = (self.asked..end).collect::<Vec<_>>();
        self.under_way.extend(&next);
        self.asked = end;
        next
    }

    /// Takes an answer; false where nobody waits for it.
    pub(super) fn settle(&mut self, question: usize, answered: Answered) -> bool {
        if !self.under_way.remove(&question) {
            return false;
        }
        if let Some(place) = self.answers.get_mut(question) {
            *place = Some(answered);
        }
        true
    }

    pub(super) fn is_settled(&self) -> bool {
        self.asked == self.answers.len() && self.under_way.is_empty()
    }

    /// Ends the round: what has no answer has this reason instead.
    pub(super) fn end(&mut self, reason: impl Fn() -> Reason) -> Vec<Answered> {
        let answers = std::mem::take(self).answers;
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Answered::failed(reason()))).collect()
    }
}
