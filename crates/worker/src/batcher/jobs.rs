//! The jobs that a batcher holds.

use super::machine::Moment;
use groundline_bus::{CheckId, Delivery, JobAnswer, JobId, JobResult};
use groundline_types::{Lane, Outcome, Score};
use std::collections::BTreeMap;
use std::time::Duration;

/// A delivery is extended this many times within its wait for a decision, so that one late extension does no harm.
const EXTENSIONS_PER_ACK_WAIT: u32 = 3;

/// A job between its delivery and its answer.
#[derive(Debug)]
pub(super) struct HeldJob {
    pub(super) delivery: Delivery,
    /// Later attempts of the same job, which the same answer serves.
    later_attempts: Vec<Delivery>,
    pub(super) deadline: Moment,
    outcomes: Vec<Option<Outcome<Score>>>,
    missing: usize,
    /// Whether the device has seen any of its items.
    pub(super) is_started: bool,
    /// Whether its check is gone: no further item of it is begun.
    pub(super) is_cancelled: bool,
    extend_at: Moment,
}

/// An answer, and the deliveries that it settles.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) result: JobResult,
    pub(super) deliveries: Vec<Delivery>,
}

/// The table of held jobs, by numbers of the batcher's own.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    held: BTreeMap<u64, HeldJob>,
    by_id: BTreeMap<JobId, u64>,
    next: u64,
    tokens: [usize; 2],
}

fn lane_index(lane: Lane) -> usize {
    match lane {
        Lane::Online => 0,
        Lane::Bulk => 1,
    }
}

fn extension_period(delivery: &Delivery) -> Duration {
    delivery.ack_wait() / EXTENSIONS_PER_ACK_WAIT
}

impl Jobs {
    /// Holds a delivery. `None` where an attempt of the same job is held already: the one answer will serve both.
    pub(super) fn hold(&mut self, delivery: Delivery, now: Moment) -> Option<u64> {
        let job = delivery.job();
        if let Some(held) = self.by_id.get(&job.id).and_then(|slot| self.held.get_mut(slot)) {
            held.later_attempts.push(delivery);
            return None;
        }
        let slot = self.next;
        self.next += 1;
        self.by_id.insert(job.id, slot);
        self.tokens[lane_index(job.lane.lane)] += job.estimated_tokens;
        let items = job.texts.len();
        let held = HeldJob {
            deadline: now + delivery.time_left(),
            outcomes: vec![None; items],
            missing: items,
            is_started: false,
            is_cancelled: false,
            extend_at: now + extension_period(&delivery),
            later_attempts: Vec::new(),
            delivery,
        };
        self.held.insert(slot, held);
        Some(slot)
    }

    /// Marks the jobs of a check that is gone. Returns their numbers.
    pub(super) fn cancel(&mut self, check: CheckId) -> Vec<u64> {
        let of_check = self.held.iter_mut().filter(|(_, held)| held.delivery.job().id.check_id() == check);
        let mark = |(slot, held): (&u64, &mut HeldJob)| {
            held.is_cancelled = true;
            *slot
        };
        of_check.map(mark).collect()
    }

    pub(super) fn get(&self, slot: u64) -> Option<&HeldJob> {
        self.held.get(&slot)
    }

    pub(super) fn get_mut(&mut self, slot: u64) -> Option<&mut HeldJob> {
        self.held.get_mut(&slot)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Estimated tokens held of a lane.
    pub(super) fn tokens(&self, lane: Lane) -> usize {
        self.tokens[lane_index(lane)]
    }

    /// Records what became of an item, and gives the job back once it was the last. Items of unknown jobs and items that have
    /// an outcome already change nothing.
    pub(super) fn settle(&mut self, slot: u64, index: usize, outcome: Outcome<Score>) -> Option<Finished> {
        let held = self.held.get_mut(&slot)?;
        let place = held.outcomes.get_mut(index).filter(|place| place.is_none())?;
        *place = Some(outcome);
        held.missing -= 1;
        if held.missing > 0 {
            return None;
        }
        let held = self.remove(slot)?;
        let id = held.delivery.job().id;
        let attempt = held.delivery.job().attempt;
        let answer = JobAnswer::Items(held.outcomes.into_iter().flatten().collect());
        let deliveries = std::iter::once(held.delivery).chain(held.later_attempts).collect();
        Some(Finished { result: JobResult { id, attempt, answer }, deliveries })
    }

    /// Extends every delivery whose time has come.
    pub(super) fn extend_due(&mut self, now: Moment) {
        for held in self.held.values_mut().filter(|held| held.extend_at <= now) {
            held.delivery.extend();
            held.later_attempts.iter().for_each(Delivery::extend);
            held.extend_at = now + extension_period(&held.delivery);
        }
    }

    /// When [`extend_due`](Self::extend_due) has something to do.
    pub(super) fn next_extension(&self) -> Option<Moment> {
        self.held.values().map(|held| held.extend_at).min()
    }

    /// Hands back to the bus what the device has not seen, so that another worker gets it now. Returns their numbers.
    pub(super) fn hand_back_unstarted(&mut self) -> Vec<u64> {
        let unstarted = self.held.iter().filter(|(_, held)| !held.is_started).map(|(slot, _)| *slot);
        let unstarted = unstarted.collect::<Vec<_>>();
        for slot in &unstarted {
            if let Some(held) = self.remove(*slot) {
                held.delivery.hand_back();
                held.later_attempts.into_iter().for_each(Delivery::hand_back);
            }
        }
        unstarted
    }

    /// Gives every job back to the bus: those that have begun to be tried again, the others as good as new.
    pub(super) fn give_back_all(&mut self) {
        drop(self.hand_back_unstarted());
        for held in std::mem::take(&mut self.held).into_values() {
            let deliveries = std::iter::once(held.delivery).chain(held.later_attempts);
            deliveries.for_each(|delivery| delivery.retry(Duration::ZERO));
        }
        self.by_id.clear();
        self.tokens = [0; 2];
    }

    fn remove(&mut self, slot: u64) -> Option<HeldJob> {
        let held = self.held.remove(&slot)?;
        let job = held.delivery.job();
        self.by_id.remove(&job.id);
        self.tokens[lane_index(job.lane.lane)] -= job.estimated_tokens;
        Some(held)
    }
}
