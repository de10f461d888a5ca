//! A circuit breaker as a pure machine: a backend that fails in a row is left alone for a while, then tried with one call.

use std::time::Duration;
use tokio::time::Instant;

/// What became of a call, for the breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// The backend answered, if only to refuse the request.
    Alive,
    /// Unreachable, late, broken off, or a 5xx.
    Dead,
    /// Given up by us before its end; tells nothing.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// One call is under way and decides.
    Trying,
}

/// Leave to make one call. Ends of calls from before the last change of state count no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leave {
    epoch: u64,
}

#[derive(Debug)]
pub(crate) struct Breaker {
    max_failures: u32,
    open_for: Duration,
    state: State,
    epoch: u64,
}

impl Breaker {
    /// A closed breaker that opens for `open_for` after `max_failures` in a row; never where that is 0.
    pub(crate) fn new(max_failures: u32, open_for: Duration) -> Self {
        Self { max_failures, open_for, state: State::Closed { failures: 0 }, epoch: 0 }
    }

    /// Whether a call may be made now; otherwise how long until one is tried again.
    pub(crate) fn ask(&mut self, now: Instant) -> Result<Leave, Duration> {
        match self.state {
            State::Closed { .. } => {}
            State::Open { until } if now < until => return Err(until - now),
            State::Open { .. } => self.enter(State::Trying),
            State::Trying => return Err(self.open_for),
        }
        Ok(Leave { epoch: self.epoch })
    }

    /// Takes the end of a call. True where it opened the breaker.
    pub(crate) fn record(&mut self, leave: Leave, end: CallEnd, now: Instant) -> bool {
        if leave.epoch != self.epoch {
            return false;
        }
        match (self.state, end) {
            (State::Closed { .. }, CallEnd::Alive) => self.state = State::Closed { failures: 0 },
            (State::Trying, CallEnd::Alive) => self.enter(State::Closed { failures: 0 }),
            (State::Closed { failures }, CallEnd::Dead) if self.max_failures > 0 => {
                self.state = State::Closed { failures: failures + 1 };
                if failures + 1 >= self.max_failures {
                    self.enter(State::Open { until: now + self.open_for });
                    return true;
                }
            }
            (State::Trying, CallEnd::Dead) => {
                self.enter(State::Open { until: now + self.open_for });
                return true;
            }
            // Somebody else may try.
            (State::Trying, CallEnd::Unknown) => self.enter(State::Open { until: now }),
            _ => {}
        }
        false
    }

    /// Whether it lets calls through without conditions.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Duration = Duration::from_secs(10);

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::new(3, OPEN);
        for _ in 0..3 {
            let leave = breaker.ask(now).unwrap();
            breaker.record(leave, CallEnd::Dead, now);
        }
        breaker
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_not_after_scattered_ones() {
        let now = Instant::now();
        let mut breaker = Breaker::new(3, OPEN);
        for end in [CallEnd::Dead, CallEnd::Dead, CallEnd::Alive, CallEnd::Dead, CallEnd::Dead] {
            let leave = breaker.ask(now).unwrap();
            assert!(!breaker.record(leave, end, now));
        }
        assert!(breaker.is_closed());
        let leave = breaker.ask(now).unwrap();
        assert!(breaker.record(leave, CallEnd::Dead, now));
        assert_eq!(breaker.ask(now + Duration::from_secs(4)), Err(Duration::from_secs(6)));
    }

    #[test]
    fn after_its_time_one_call_tries_and_its_end_decides() {
        let now = Instant::now();
        let later = now + OPEN;
        let mut breaker = opened(now);
        let trial = breaker.ask(later).unwrap();
        assert!(breaker.ask(later).is_err(), "only one tries");
        breaker.record(trial, CallEnd::Alive, later);
        assert!(breaker.is_closed());

        let mut breaker = opened(now);
        let trial = breaker.ask(later).unwrap();
        assert!(breaker.record(trial, CallEnd::Dead, later));
        assert_eq!(breaker.ask(later), Err(OPEN));
    }

    #[test]
    fn a_trial_that_is_given_up_leaves_the_place_to_another() {
        let now = Instant::now();
        let later = now + OPEN;
        let mut breaker = opened(now);
        let trial = breaker.ask(later).unwrap();
        breaker.record(trial, CallEnd::Unknown, later);
        assert!(breaker.ask(later).is_ok());
    }

    #[test]
    fn calls_from_before_it_opened_count_no_more() {
        let now = Instant::now();
        let mut breaker = Breaker::new(1, OPEN);
        let (old, other) = (breaker.ask(now).unwrap(), breaker.ask(now).unwrap());
        breaker.record(old, CallEnd::Dead, now);
        breaker.record(other, CallEnd::Alive, now);
        assert!(!breaker.is_closed());
    }

    #[test]
    fn with_zero_failures_it_never_opens() {
        let now = Instant::now();
        let mut breaker = Breaker::new(0, OPEN);
        for _ in 0..100 {
            let leave = breaker.ask(now).unwrap();
            breaker.record(leave, CallEnd::Dead, now);
        }
        assert!(breaker.is_closed());
    }
}
