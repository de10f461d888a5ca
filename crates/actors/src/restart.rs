//! When a failed child is started again, and when its supervisor gives up.

use std::collections::VecDeque;
use std::time::Duration;

/// How many failures within which time are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Most restarts within [`RestartPolicy::within`].
    pub max_restarts: usize,
    /// The time that is looked back.
    pub within: Duration,
}

/// Failures so far, as times since any fixed moment; only as many as the policy needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestartHistory {
    failures: VecDeque<Duration>,
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartDecision {
    /// Start the child again.
    Restart,
    /// Give up: something is wrong that restarts do not cure, and whoever supervises the supervisor must decide.
    Meltdown,
}

impl RestartPolicy {
    /// Counts a failure at `now` and says what to do. Time must not run backwards.
    pub fn decide(&self, history: &mut RestartHistory, now: Duration) -> RestartDecision {
        while history.failures.front().is_some_and(|at| *at + self.within <= now) {
            history.failures.pop_front();
        }
        if history.failures.len() >= self.max_restarts {
            return RestartDecision::Meltdown;
        }
        history.failures.push_back(now);
        RestartDecision::Restart
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_sixth_failure_in_a_minute_is_a_meltdown_and_spread_out_ones_are_not() {
        let policy = RestartPolicy { max_restarts: 5, within: Duration::from_secs(60) };
        let mut history = RestartHistory::default();
        for second in 0..5 {
            assert_eq!(policy.decide(&mut history, Duration::from_secs(second)), RestartDecision::Restart);
        }
        assert_eq!(policy.decide(&mut history, Duration::from_secs(59)), RestartDecision::Meltdown);
        assert_eq!(policy.decide(&mut history, Duration::from_secs(60)), RestartDecision::Restart);
    }

    proptest! {
        #[test]
        fn it_melts_down_exactly_when_the_window_is_full(
            max_restarts in 0_usize..6,
            within in 1_u64..50,
            gaps in prop::collection::vec(0_u64..30, 0..100),
        ) {
            let policy = RestartPolicy { max_restarts, within: Duration::from_millis(within) };
            let (mut history, mut now, mut restarts) = (RestartHistory::default(), 0, Vec::new());
            for gap in gaps {
                now += gap;
                let recent = restarts.iter().filter(|at| now - **at < within).count();
                let decision = policy.decide(&mut history, Duration::from_millis(now));
                prop_assert_eq!(decision == RestartDecision::Meltdown, recent >= max_restarts);
                if decision == RestartDecision::Restart { restarts.push(now); }
                prop_assert!(history.failures.len() <= max_restarts, "memory stays bounded");
            }
        }
    }
}
