//! Which items go into the next batch, and when: pure.

use groundline_telemetry::CloseReason;
use groundline_types::Lane;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time since the worker started.
pub(crate) type Moment = Duration;

/// Items whose deadlines fall into the same slot are ordered by length instead.
const DEADLINE_SLOT_MS: u128 = 250;
/// Share of a batch that waiting bulk items get while online items wait too, in percent.
const BULK_SHARE_PERCENT: usize = 10;

/// Bounds of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchLimits {
    /// Most tokens, except that an item that is larger goes alone.
    pub(crate) batch_tokens: usize,
    /// How long an online item may wait while the device has room.
    pub(crate) max_wait_online: Duration,
    /// The same for a bulk item.
    pub(crate) max_wait_bulk: Duration,
}

/// Something to score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item<P> {
    /// Its job, as the batcher numbers them.
    pub(crate) job: u64,
    /// Its place in the job.
    pub(crate) index: usize,
    pub(crate) tokens: usize,
    pub(crate) lane: Lane,
    pub(crate) deadline: Moment,
    pub(crate) payload: P,
}

/// A batch that is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Closed<P> {
    pub(crate) items: Vec<Item<P>>,
    pub(crate) tokens: usize,
    pub(crate) reason: CloseReason,
    /// How long the item that waited longest did so.
    pub(crate) longest_wait: Duration,
}

/// Lane, then deadline, then length, then arrival.
type Rank = (Lane, u128, u32, u64);

/// The items that wait.
#[derive(Debug)]
pub(crate) struct Machine<P> {
    limits: BatchLimits,
    /// Each with the moment when it has waited long enough.
    waiting: BTreeMap<Rank, (Moment, Item<P>)>,
    due: BTreeSet<(Moment, Rank)>,
    deadlines: BTreeSet<(Moment, Rank)>,
    arrivals: u64,
    tokens: usize,
}

impl<P> Machine<P> {
    pub(crate) fn new(limits: BatchLimits) -> Self {
        Self {
            limits,
            waiting: BTreeMap::new(),
            due: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            arrivals: 0,
            tokens: 0,
        }
    }

    /// What a batch may hold from now on.
    pub(crate) fn set_batch_tokens(&mut self, batch_tokens: usize) {
        self.limits.batch_tokens = batch_tokens;
    }

    /// Adds an item that arrives `now`.
    pub(crate) fn push(&mut self, item: Item<P>, now: Moment) {
        let rank = (
            item.lane,
            item.deadline.as_millis() / DEADLINE_SLOT_MS,
            length_bucket(item.tokens),
            self.arrivals,
        );
        self.arrivals += 1;
        self.tokens += item.tokens;
        let due = now + self.max_wait(item.lane);
        self.due.insert((due, rank));
        self.deadlines.insert((item.deadline, rank));
        self.waiting.insert(rank, (due, item));
    }

    /// Takes out every item whose deadline has passed.
    pub(crate) fn tick(&mut self, now: Moment) -> Vec<Item<P>> {
        let mut expired = Vec::new();
        while let Some(&(deadline, rank)) = self.deadlines.first()
            && deadline <= now
        {
            expired.extend(self.remove(rank));
        }
        expired
    }

    /// The next batch, where it is time to close one: it is full, an item has waited long enough, or the device is idle.
    pub(crate) fn take(&mut self, now: Moment, device_is_idle: bool) -> Option<Closed<P>> {
        let waited = self.due.first().is_some_and(|(due, _)| *due <= now);
        let full = self.tokens >= self.limits.batch_tokens;
        let reason = match (full, waited, device_is_idle) {
            _ if self.waiting.is_empty() => return None,
            (true, _, _) => CloseReason::Full,
            (_, true, _) => CloseReason::Waited,
            (_, _, true) => CloseReason::Idle,
            (false, false, false) => return None,
        };
        let mut batch = Fill { tokens: 0, items: Vec::new(), arrived: now };
        let budget = self.limits.batch_tokens;
        if self.first(Lane::Online).is_some() {
            let reserved = budget * BULK_SHARE_PERCENT / 100;
            while batch.tokens < reserved && self.move_one(Lane::Bulk, budget, &mut batch) {}
        }
        while self.move_one(Lane::Online, budget, &mut batch) {}
        if self.first(Lane::Online).is_none() {
            while self.move_one(Lane::Bulk, budget, &mut batch) {}
        }
        let Fill { tokens, items, arrived } = batch;
        Some(Closed { items, tokens, reason, longest_wait: now.saturating_sub(arrived) })
    }

    /// When [`tick`](Self::tick) or [`take`](Self::take) may have something to say, if nothing is pushed until then.
    pub(crate) fn next_wake(&self, device_has_room: bool) -> Option<Moment> {
        let due = self.due.first().filter(|_| device_has_room).map(|(at, _)| *at);
        let deadline = self.deadlines.first().map(|(at, _)| *at);
        due.into_iter().chain(deadline).min()
    }

    /// Takes out the items of some jobs.
    pub(crate) fn remove_jobs(&mut self, is_gone: impl Fn(u64) -> bool) -> Vec<Item<P>> {
        let gone = self.waiting.iter().filter(|(_, (_, item))| is_gone(item.job)).map(|(rank, _)| *rank);
        gone.collect::<Vec<_>>().into_iter().filter_map(|rank| self.remove(rank)).collect()
    }

    fn max_wait(&self, lane: Lane) -> Duration {
        match lane {
            Lane::Online => self.limits.max_wait_online,
            Lane::Bulk => self.limits.max_wait_bulk,
        }
    }

    fn first(&self, lane: Lane) -> Option<Rank> {
        let from = (lane, 0, 0, 0)..=(lane, u128::MAX, u32::MAX, u64::MAX);
        self.waiting.range(from).next().map(|(rank, _)| *rank)
    }

    /// Moves the first item of a lane into the batch, if there is one and it fits. An empty batch takes any.
    fn move_one(&mut self, lane: Lane, budget: usize, batch: &mut Fill<P>) -> bool {
        let Some(rank) = self.first(lane) else { return false };
        let Some((due, item)) = self.waiting.get(&rank) else { return false };
        let (fits, arrived) = (batch.tokens + item.tokens <= budget, due.saturating_sub(self.max_wait(lane)));
        if !fits && !batch.items.is_empty() {
            return false;
        }
        if let Some(item) = self.remove(rank) {
            batch.tokens += item.tokens;
            batch.arrived = batch.arrived.min(arrived);
            batch.items.push(item);
        }
        true
    }

    fn remove(&mut self, rank: Rank) -> Option<Item<P>> {
        let (due, item) = self.waiting.remove(&rank)?;
        self.tokens -= item.tokens;
        self.due.remove(&(due, rank));
        self.deadlines.remove(&(item.deadline, rank));
        Some(item)
    }
}

#[derive(Debug)]
struct Fill<P> {
    tokens: usize,
    items: Vec<Item<P>>,
    /// When its first item came.
    arrived: Moment,
}

/// Powers of the square root of 2: lengths in a bucket differ by at most 41 %.
fn length_bucket(tokens: usize) -> u32 {
    let tokens = tokens.max(1) as u64;
    let octave = tokens.ilog2();
    // tokens² ≥ 2^(2·octave + 1) says that tokens is above the geometric middle of its octave.
    2 * octave + u32::from(u128::from(tokens) * u128::from(tokens) >= 1 << (2 * octave + 1))
}

#[cfg(test)]
mod tests;
