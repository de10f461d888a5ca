//! Answers that were sent lately: pure.
//!
//! An acknowledgement or an answer can get lost; then the job comes again, and its answer is sent again instead of being
//! computed again.

use groundline_bus::{JobAnswer, JobId, JobResult};
use groundline_types::Outcome;
use std::collections::{BTreeMap, VecDeque};

/// Most outcomes remembered; at some tens of bytes each, this is below a megabyte.
const MAX_REMEMBERED_OUTCOMES: usize = 16_384;

/// Remembers whole answers, the newest first to stay.
#[derive(Debug, Default)]
pub(super) struct RecentAnswers {
    answers: BTreeMap<JobId, JobAnswer>,
    order: VecDeque<JobId>,
    outcomes: usize,
}

impl RecentAnswers {
    /// Remembers an answer in which every item is scored: what failed may succeed the next time.
    pub(super) fn remember(&mut self, result: &JobResult) {
        let JobAnswer::Items(outcomes) = &result.answer else { return };
        let is_whole = outcomes.iter().all(|outcome| matches!(outcome, Outcome::Scored(_)));
        if !is_whole || self.answers.insert(result.id, result.answer.clone()).is_some() {
            return;
        }
        self.order.push_back(result.id);
        self.outcomes += outcomes.len();
        while self.outcomes > MAX_REMEMBERED_OUTCOMES
            && let Some(oldest) = self.order.pop_front()
        {
            self.outcomes -= self.answers.remove(&oldest).map_or(0, |answer| outcomes_of(&answer));
        }
    }

    /// The answer to a job that was answered lately.
    pub(super) fn get(&self, id: JobId) -> Option<JobAnswer> {
        self.answers.get(&id).cloned()
    }
}

fn outcomes_of(answer: &JobAnswer) -> usize {
    match answer {
        JobAnswer::Items(outcomes) => outcomes.len(),
        JobAnswer::Split => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_bus::Incarnation;
    use groundline_types::{Code, Reason, Score};

    #[test]
    fn whole_answers_are_remembered_up_to_a_bound_and_failures_are_not() {
        let reply_to = Incarnation::random();
        let id = |serial| JobId { reply_to, check: 1, serial };
        let scored = Outcome::Scored(Score::Logits([0.0; 3].into()));
        let failed = Outcome::Failed(Reason::new(Code::CANCELLED, "test"));
        let result = |serial, answer| JobResult { id: id(serial), attempt: 0, answer };
        let mut recent = RecentAnswers::default();
        recent.remember(&result(0, JobAnswer::Split));
        recent.remember(&result(1, JobAnswer::Items(vec![scored.clone(), failed])));
        assert_eq!((recent.get(id(0)), recent.get(id(1))), (None, None));
        let whole = JobAnswer::Items(vec![scored; 16]);
        for serial in 2..2000 {
            recent.remember(&result(serial, whole.clone()));
            recent.remember(&result(serial, whole.clone()));
        }
        assert_eq!(recent.get(id(1999)), Some(whole));
        assert_eq!(recent.get(id(2)), None, "the oldest are forgotten");
        assert_eq!((recent.answers.len(), recent.order.len()), (1024, 1024));
    }
}
