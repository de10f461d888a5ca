//! What this process remembers of jobs: those that it published, and what became of deliveries.

use crate::{CheckId, JobId};
use groundline_types::Lane;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most published jobs remembered.
const MAX_PUBLISHED: usize = 1 << 17;
/// Most cancelled checks remembered.
const MAX_CANCELLED: usize = 1 << 12;
/// Most deliveries remembered.
const MAX_NOTED: usize = 1 << 13;

/// Where the jobs are that this process published and got no answer to.
#[derive(Debug, Default)]
pub(super) struct PublishedJobs {
    inner: Mutex<Published>,
}

/// Where a job was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) lane: Lane,
    /// Its number in the stream.
    pub(super) sequence: u64,
}

#[derive(Debug, Default)]
struct Published {
    places: BTreeMap<JobId, Place>,
    order: VecDeque<JobId>,
}

impl PublishedJobs {
    fn inner(&self) -> MutexGuard<'_, Published> {
        // No code that holds the lock panics half-way through a change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, id: JobId, place: Place) {
        let mut inner = self.inner();
        if inner.places.insert(id, place).is_none() {
            inner.order.push_back(id);
        }
        while inner.order.len() > MAX_PUBLISHED
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.places.remove(&oldest);
        }
    }

    pub(super) fn sequence(&self, id: JobId) -> Option<u64> {
        self.inner().places.get(&id).map(|place| place.sequence)
    }

    pub(super) fn forget(&self, id: JobId) {
        let mut inner = self.inner();
        inner.places.remove(&id);
        // Answers come roughly in the order of publishing, so the front is mostly what has been answered.
        while let Some(front) = inner.order.front().copied()
            && !inner.places.contains_key(&front)
        {
            inner.order.pop_front();
        }
    }

    /// Forgets everything: the numbers are of a stream that is no more.
    pub(super) fn clear(&self) {
        *self.inner() = Published::default();
    }

    /// The jobs of a check and where they are.
    pub(super) fn of_check(&self, check: CheckId) -> Vec<(JobId, Place)> {
        let first = JobId { reply_to: check.reply_to, check: check.check, serial: 0 };
        let last = JobId { serial: u32::MAX, ..first };
        self.inner().places.range(first..=last).map(|(id, place)| (*id, *place)).collect()
    }
}

/// Checks that nobody wants any more, as far as this process was told.
#[derive(Debug, Default)]
pub(super) struct CancelledChecks {
    inner: Mutex<(BTreeSet<CheckId>, VecDeque<CheckId>)>,
}

impl CancelledChecks {
    fn inner(&self) -> MutexGuard<'_, (BTreeSet<CheckId>, VecDeque<CheckId>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, check: CheckId) {
        let (set, order) = &mut *self.inner();
        if set.insert(check) {
            order.push_back(check);
        }
        if order.len() > MAX_CANCELLED
            && let Some(oldest) = order.pop_front()
        {
            set.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, check: CheckId) -> bool {
        self.inner().0.contains(&check)
    }
}

/// What this process did with deliveries, by the number of the message.
#[derive(Debug, Default)]
pub(super) struct Notes {
    inner: Mutex<BTreeMap<u64, Vec<(u32, &'static str)>>>,
}

impl Notes {
    fn inner(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<(u32, &'static str)>>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, sequence: u64, delivered: u32, what: &'static str) {
        let mut inner = self.inner();
        inner.entry(sequence).or_default().push((delivered, what));
        while inner.len() > MAX_NOTED {
            inner.pop_first();
        }
    }

    pub(super) fn forget(&self, sequence: u64) {
        self.inner().remove(&sequence);
    }

    /// Forgets everything: the numbers are of a stream that is no more.
    pub(super) fn clear(&self) {
        self.inner().clear();
    }

    /// One line for each of `delivered` deliveries. A broker keeps no notes, so other processes' decisions are not known.
    pub(super) fn history(&self, sequence: u64, delivered: u32) -> Vec<String> {
        let noted = self.inner().remove(&sequence).unwrap_or_default();
        let what = |number| {
            let mine = noted.iter().find(|(delivered, _)| *delivered == number);
            mine.map_or("no decision is known here", |(_, what)| what)
        };
        (1..=delivered.min(1000)).map(|number| format!("delivery {number}: {}", what(number))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::job;

    fn at(sequence: u64) -> Place {
        Place { lane: Lane::Online, sequence }
    }

    #[test]
    fn published_jobs_are_found_by_check_and_forgotten_when_answered() {
        let known = PublishedJobs::default();
        for serial in 0..3 {
            known.insert(job(serial).id, at(u64::from(serial) + 10));
        }
        let other = JobId { check: 2, ..job(9).id };
        known.insert(other, at(99));
        known.forget(job(1).id);
        assert_eq!(known.of_check(job(0).id.check_id()), [(job(0).id, at(10)), (job(2).id, at(12))]);
        assert_eq!((known.sequence(other), known.sequence(job(1).id)), (Some(99), None));
    }

    #[test]
    fn memory_of_published_jobs_is_bounded() {
        let known = PublishedJobs::default();
        for serial in 0..MAX_PUBLISHED as u32 + 5 {
            known.insert(job(serial).id, at(1));
        }
        assert_eq!(known.sequence(job(4).id), None);
        assert_eq!(known.sequence(job(5).id), Some(1));
    }

    #[test]
    fn a_history_has_a_line_for_each_delivery() {
        let notes = Notes::default();
        notes.add(7, 2, "retry");
        assert_eq!(notes.history(7, 2), ["delivery 1: no decision is known here", "delivery 2: retry"]);
        assert_eq!(notes.history(7, 1), ["delivery 1: no decision is known here"]);
    }
}
