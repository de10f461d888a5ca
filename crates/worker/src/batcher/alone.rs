//! How a suspect job comes to run alone: pure.
//!
//! A broker counts deliveries, not runs. Whatever else is in the hands of this process when a job brings it down has lost a
//! delivery, and dies of it when that was its last. So a suspect does not begin before nothing else is in hands:
//!
//! 1. the pulls under way are dropped, or their jobs handed back, and none begins;
//! 2. what was answered before is on its way;
//! 3. the bus says that it knows of all that.
//!
//! A bus that does not say so in time is away; then nobody is better off for more waiting, and the job begins.

use super::machine::Moment;
use std::time::Duration;

/// How long the bus may take to know that nothing else is in hands.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much of the worker a suspect job has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Alone {
    /// Nobody wants it alone.
    #[default]
    Shared,
    /// Nothing is taken until what is held is answered, so that a suspect may come.
    MakingRoom,
    /// One is held that has not begun; the rest goes out of hands.
    Clearing(Clearing),
    /// It runs.
    Running,
}

/// What is known while the rest goes out of hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clearing {
    /// The suspect.
    slot: u64,
    begins_at: Moment,
    pulls_are_over: bool,
    is_bus_asked: bool,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask the bus whether it knows everything, for this suspect.
    AskBus(u64),
    /// Begin the suspect.
    Begin(u64),
}

impl Alone {
    /// A suspect is held, and nothing else.
    pub(super) fn clear_for(&mut self, slot: u64, now: Moment) {
        let begins_at = now + PATIENCE;
        *self = Alone::Clearing(Clearing { slot, begins_at, pulls_are_over: false, is_bus_asked: false });
    }

    /// No pull is under way any more, of those that there were when this suspect came.
    pub(super) fn pulls_are_over(&mut self, suspect: u64) {
        if let Alone::Clearing(clearing) = self
            && clearing.slot == suspect
        {
            clearing.pulls_are_over = true;
        }
    }

    /// The bus knows everything that was decided before it was asked for this suspect.
    pub(super) fn bus_knows(&mut self, suspect: u64) -> Option<Step> {
        match *self {
            Alone::Clearing(clearing) if clearing.slot == suspect => Some(self.begin(clearing)),
            _ => None,
        }
    }

    /// What is due, with so many answers that are not sent yet.
    pub(super) fn step(&mut self, now: Moment, answering: usize) -> Option<Step> {
        let Alone::Clearing(clearing) = self else { return None };
        if now >= clearing.begins_at || rushes() {
            let clearing = *clearing;
            return Some(self.begin(clearing));
        }
        if !clearing.pulls_are_over || clearing.is_bus_asked || answering > 0 {
            return None;
        }
        clearing.is_bus_asked = true;
        Some(Step::AskBus(clearing.slot))
    }

    /// When [`step`](Self::step) has something to say whatever happens.
    pub(super) fn next_wake(&self) -> Option<Moment> {
        match self {
            Alone::Clearing(clearing) => Some(clearing.begins_at),
            _ => None,
        }
    }

    /// Whether even a pull under way must end.
    pub(super) fn bars_pulls(&self) -> bool {
        matches!(self, Alone::Clearing(_) | Alone::Running)
    }

    fn begin(&mut self, clearing: Clearing) -> Step {
        *self = Alone::Running;
        Step::Begin(clearing.slot)
    }
}

/// Whether a bug is planted that lets a suspect begin at once.
fn rushes() -> bool {
    #[cfg(feature = "sim")]
    return crate::planted::suspects_rush();
    #[cfg(not(feature = "sim"))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Duration::from_secs(7);

    fn clearing() -> Alone {
        let mut alone = Alone::MakingRoom;
        alone.clear_for(3, NOW);
        assert!(alone.bars_pulls());
        alone
    }

    #[test]
    fn a_suspect_begins_once_pulls_answers_and_the_bus_are_done_with_everything_else() {
        let mut alone = clearing();
        assert_eq!(alone.step(NOW, 0), None, "a pull may still bring something");
        alone.pulls_are_over(3);
        assert_eq!(alone.step(NOW, 1), None, "an answer is not acknowledged yet");
        assert_eq!(alone.step(NOW, 0), Some(Step::AskBus(3)));
        assert_eq!(alone.step(NOW, 0), None, "once is enough");
        assert_eq!(alone.bus_knows(3), Some(Step::Begin(3)));
        assert_eq!((alone, alone.step(NOW + PATIENCE, 0)), (Alone::Running, None));
    }

    #[test]
    fn a_bus_that_is_away_is_not_waited_for_for_ever() {
        let mut alone = clearing();
        assert_eq!(alone.next_wake(), Some(NOW + PATIENCE));
        assert_eq!(alone.step(NOW + PATIENCE - Duration::from_millis(1), 9), None);
        assert_eq!(alone.step(NOW + PATIENCE, 9), Some(Step::Begin(3)));
        assert_eq!(alone.bus_knows(3), None, "it has begun");
    }

    #[test]
    fn word_that_was_for_an_earlier_suspect_says_nothing() {
        let mut alone = clearing();
        alone.pulls_are_over(2);
        assert_eq!(alone.step(NOW, 0), None);
        assert_eq!(alone.bus_knows(2), None);
        let mut shared = Alone::Shared;
        shared.pulls_are_over(3);
        assert_eq!((shared.bus_knows(3), shared.step(NOW, 0), shared.next_wake()), (None, None, None));
    }
}
