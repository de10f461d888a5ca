//! What to do with a job that comes from the bus: pure.
//!
//! An item can bring its worker down. The rules make it pay alone:
//!
//! - a group that comes again is answered [`Split`](JobAnswer::Split), and its publisher sends its items as jobs of their own;
//! - a single that comes a second time runs alone: the worker takes it while it holds nothing else, takes nothing else until it
//!   is answered, and begins it when the bus knows that (`super::alone`), so that nobody else is counted a delivery if the worker
//!   dies;
//! - a single that comes a third time is not run at all.
//!
//! So an item costs at most three deaths, and no other job dies of it.

use groundline_bus::JobAnswer;
use groundline_types::{Code, Outcome, Reason};

/// From this delivery on, a group is not run as it is, and a single runs alone.
const SUSPECT_FROM_DELIVERY: u32 = 2;
/// From this delivery on, a single is not run at all.
const DEAD_FROM_DELIVERY: u32 = 3;

/// A job as it comes.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    /// Number of its items.
    pub(super) items: usize,
    /// How often it was delivered, this time included.
    pub(super) delivered: u32,
    /// Whether its check is gone.
    pub(super) is_cancelled: bool,
    /// Its answer, where it was answered lately.
    pub(super) recent: Option<JobAnswer>,
}

/// What the worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// It holds nothing.
    Empty,
    /// It holds jobs, none of them suspect.
    Working,
    /// It takes no job, so that a suspect one can come when everything held is answered.
    MakingRoom,
    /// It runs a suspect job alone, or is about to.
    Alone,
    /// It takes no job any more.
    Draining,
}

/// What to do with it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Intake {
    /// Run it with others.
    Run,
    /// Run it and nothing else.
    RunAlone,
    /// Let someone else have it, as good as new.
    HandBack,
    /// Let someone else have it, and take no job until a suspect one can run alone.
    MakeRoom,
    /// Answer without running it.
    Answer(JobAnswer),
    /// Answer, and let it be dead.
    Bury(JobAnswer, Reason),
}

/// Whether a job of so many items, delivered so often, is one that runs alone.
pub(super) fn is_suspect(items: usize, delivered: u32) -> bool {
    items == 1 && (SUSPECT_FROM_DELIVERY..DEAD_FROM_DELIVERY).contains(&delivered)
}

/// Decides.
pub(super) fn intake(arrival: Arrival, stance: Stance) -> Intake {
    let Arrival { items, delivered, is_cancelled, recent } = arrival;
    if stance == Stance::Draining {
        return Intake::HandBack;
    }
    if let Some(answer) = recent {
        return Intake::Answer(answer);
    }
    if items == 0 || is_cancelled {
        let gone = Reason::new(Code::CANCELLED, "the check is gone");
        return Intake::Answer(JobAnswer::Items(vec![Outcome::Failed(gone); items]));
    }
    if items > 1 && delivered >= SUSPECT_FROM_DELIVERY {
        return Intake::Answer(JobAnswer::Split);
    }
    if delivered >= DEAD_FROM_DELIVERY {
        let reason = Reason::new(Code::JOB_DEAD, "the work was begun more than once and never finished");
        return Intake::Bury(JobAnswer::Items(vec![Outcome::Failed(reason.clone()); items]), reason);
    }
    let is_suspect = is_suspect(items, delivered);
    match stance {
        Stance::Empty if is_suspect => Intake::RunAlone,
        Stance::Working if is_suspect => Intake::MakeRoom,
        Stance::Empty | Stance::Working => Intake::Run,
        Stance::MakingRoom | Stance::Alone | Stance::Draining => Intake::HandBack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(items: usize, delivered: u32, stance: Stance) -> Intake {
        intake(Arrival { items, delivered, is_cancelled: false, recent: None }, stance)
    }

    #[test]
    fn a_suspect_runs_only_where_nothing_else_is_held() {
        assert_eq!(decide(1, 2, Stance::Empty), Intake::RunAlone);
        assert_eq!(decide(1, 2, Stance::Working), Intake::MakeRoom);
        assert_eq!(decide(1, 2, Stance::MakingRoom), Intake::HandBack);
        for delivered in [1, 2] {
            assert_eq!(decide(1, delivered, Stance::Alone), Intake::HandBack);
        }
        assert_eq!(decide(1, 1, Stance::Empty), Intake::Run);
        assert_eq!(decide(16, 1, Stance::Working), Intake::Run);
    }

    #[test]
    fn a_group_that_comes_again_is_split_and_a_single_is_buried_at_the_third_time() {
        for stance in [Stance::Empty, Stance::Working, Stance::MakingRoom, Stance::Alone] {
            assert_eq!(decide(2, 2, stance), Intake::Answer(JobAnswer::Split));
            assert!(matches!(decide(1, 3, stance), Intake::Bury(..)));
        }
        assert_eq!(decide(2, 2, Stance::Draining), Intake::HandBack);
    }

    #[test]
    fn what_was_answered_lately_is_answered_again_however_often_it_comes() {
        let recent = Some(JobAnswer::Items(Vec::new()));
        for delivered in 1..5 {
            let arrival = Arrival { items: 2, delivered, is_cancelled: false, recent: recent.clone() };
            assert_eq!(intake(arrival, Stance::Alone), Intake::Answer(JobAnswer::Items(Vec::new())));
        }
    }
}
