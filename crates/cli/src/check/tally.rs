//! What a run amounts to: totals and the exit status.

use crate::failure::{EXIT_BELOW, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_OK};
use crate::output::Totals;
use groundline_types::{CheckResult, Problem};

/// Counts of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// Responses with a result.
    pub(super) answered: usize,
    /// Responses without one: broken lines, refused requests.
    pub(super) broken: usize,
    /// Sentences by verdict.
    pub(super) totals: Totals,
    below: usize,
    worst_problem: u8,
}

impl Tally {
    /// Counts a result.
    pub(super) fn result(&mut self, result: &CheckResult, fail_under: Option<f32>) {
        self.answered += 1;
        self.totals.add(Totals::of(result));
        // A response without a number was not checked: that never passes.
        let min = result.scores.min.map(|min| min.get());
        if let Some(threshold) = fail_under
            && min.is_none_or(|min| min < threshold)
        {
            self.below += 1;
        }
    }

    /// Counts a response without a result.
    pub(super) fn problem(&mut self, problem: &Problem) {
        self.broken += 1;
        self.worst_problem = self.worst_problem.max(problem.code.exit_status());
    }

    /// The exit status: an interrupt, then internal errors, then bad input, then responses below the threshold.
    pub(super) fn exit_status(&self, interrupted: bool) -> u8 {
        match (interrupted, self.worst_problem, self.below) {
            (true, _, _) => EXIT_INTERRUPTED,
            (false, worst, _) if worst >= EXIT_INPUT => worst,
            (false, _, 1..) => EXIT_BELOW,
            (false, _, 0) => EXIT_OK,
        }
    }

    /// The exit status where the reader of the output left before the end: what nobody saw did not pass `--fail-under`.
    pub(super) fn exit_status_unread(&self, fail_under: Option<f32>) -> u8 {
        if fail_under.is_some() { EXIT_BELOW } else { EXIT_OK }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample::{RESULT, result};
    use groundline_types::{Code, Probability};

    #[test]
    fn broken_input_wins_over_a_low_score_and_an_interrupt_over_both() {
        let mut tally = Tally::default();
        assert_eq!(tally.exit_status(false), EXIT_OK);
        tally.result(&result(RESULT), Some(0.5));
        assert_eq!(tally.exit_status(false), EXIT_BELOW);
        tally.problem(&Problem::new(Code::MALFORMED_JSON, "x"));
        assert_eq!(tally.exit_status(false), EXIT_INPUT);
        tally.problem(&Problem::new(Code::INTERNAL, "x"));
        assert_eq!(tally.exit_status(false), 70);
        assert_eq!(tally.exit_status(true), EXIT_INTERRUPTED);
        assert_eq!((tally.answered, tally.broken), (1, 2));
    }

    #[test]
    fn a_response_without_a_number_is_below_every_threshold() {
        let mut unchecked = result(RESULT);
        unchecked.scores.min = None;
        let mut tally = Tally::default();
        tally.result(&unchecked, Some(0.0));
        assert_eq!(tally.exit_status(false), EXIT_BELOW);
        let mut tally = Tally::default();
        unchecked.scores.min = Probability::new(0.5);
        tally.result(&unchecked, Some(0.5));
        assert_eq!(tally.exit_status(false), EXIT_OK);
    }
}
