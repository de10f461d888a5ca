//! Scores that are known, and scores that are on their way.

use crate::key::Key;
use groundline_types::Score;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an entry costs besides its numbers: key, bookkeeping, allocations, and the keys of entries that went lately. As measured of a
/// full cache: 151 bytes with the numbers of a pair, 182 with those of a text.
const ENTRY_OVERHEAD_BYTES: usize = 160;
/// What an entry is expected to cost, for sizing the table.
const EXPECTED_ENTRY_BYTES: u64 = 172;

/// What a check is told when a flight that it waits for ends: the score, or `None` where the leader gave up and the check must
/// claim the key anew.
pub(crate) type FlightEnd = (Key, Option<Score>);

/// Someone who can wait for the score of another one's job.
pub(crate) trait Waiter: Clone + Send + Sync + 'static {
    /// Names the waiter, so that it is told of many ends at once.
    fn id(&self) -> u64;
    /// Tells it.
    fn landed(&self, ends: Vec<FlightEnd>);
}

/// What became of asking for a score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Claimed {
    /// It is known.
    Hit(Score),
    /// Nobody knows it: the asker must get it, and [`resolve`](Leads::resolve) it.
    Lead,
    /// Somebody else is getting it: the asker will be told.
    Wait,
}

/// Remembers scores, bounded by bytes, and lets one check at a time get each score that is not known.
///
/// There is no expiry: the model's revision is part of the key. Failures are never remembered.
#[derive(Debug)]
pub(crate) struct ScoreCache<W> {
    scores: Option<Cache<Key, Score, ByBytes>>,
    flights: Mutex<HashMap<Key, Vec<W>>>,
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, Score> for ByBytes {
    fn weight(&self, _key: &Key, score: &Score) -> u64 {
        (score.size_bytes() + ENTRY_OVERHEAD_BYTES) as u64
    }
}

impl<W: Waiter> ScoreCache<W> {
    /// A cache of at most `bytes`; 0: only flights.
    pub(crate) fn new(bytes: u64) -> Self {
        let entries = usize::try_from(bytes / EXPECTED_ENTRY_BYTES).unwrap_or(usize::MAX);
        let scores = (bytes > 0).then(|| Cache::with_weighter(entries.max(1), bytes, ByBytes));
        Self { scores, flights: Mutex::default() }
    }

    /// The scores of `keys` where they are remembered. It takes no lock that a claim takes, and leads nothing.
    pub(crate) fn known(&self, keys: &[Key]) -> Vec<Option<Score>> {
        keys.iter().map(|key| self.scores.as_ref().and_then(|scores| scores.get(key))).collect()
    }

    /// Asks for the scores of `keys`, a few at a time, for `waiter`. The keys that it leads are added to `leads`, which gives them up when dropped.
    pub(crate) fn claim(&self, keys: &[Key], waiter: &W, leads: &mut Leads<W>) -> Vec<Claimed> {
        // Looked up under the lock of the flights: between a look and a take-off, a flight could land unseen.
        let mut flights = self.flights();
        let claim = |key: &Key| {
            if let Some(score) = self.scores.as_ref().and_then(|scores| scores.get(key)) {
                return Claimed::Hit(score);
            }
            match flights.entry(*key) {
                Entry::Occupied(mut waiters) => {
                    waiters.get_mut().push(waiter.clone());
                    Claimed::Wait
                }
                Entry::Vacant(flight) => {
                    flight.insert(Vec::new());
                    leads.keys.insert(*key);
                    Claimed::Lead
                }
            }
        };
        keys.iter().map(claim).collect()
    }

    fn land(&self, ends: Vec<FlightEnd>) {
        let mut told: BTreeMap<u64, (W, Vec<FlightEnd>)> = BTreeMap::new();
        let mut flights = self.flights();
        for (key, score) in ends {
            if let (Some(scores), Some(score)) = (&self.scores, &score) {
                scores.insert(key, score.clone());
            }
            for waiter in flights.remove(&key).unwrap_or_default() {
                let ends = &mut told.entry(waiter.id()).or_insert_with(|| (waiter, Vec::new())).1;
                ends.push((key, score.clone()));
            }
        }
        drop(flights);
        for (waiter, ends) in told.into_values() {
            waiter.landed(ends);
        }
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<Key, Vec<W>>> {
        // Nothing that holds the lock panics half-way through a change.
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keys that one check leads. Dropping it gives up those that have no score, so that whoever waits goes on: a check that
/// panics, is cancelled or is past its deadline holds up nobody.
#[derive(Debug)]
pub(crate) struct Leads<W: Waiter> {
    cache: Arc<ScoreCache<W>>,
    /// Ordered, so that whoever waits is told in an order that does not change from run to run.
    keys: BTreeSet<Key>,
}

impl<W: Waiter> Leads<W> {
    /// No key yet.
    pub(crate) fn new(cache: Arc<ScoreCache<W>>) -> Self {
        Self { cache, keys: BTreeSet::new() }
    }

    /// Ends flights: with a score, which is remembered, or without. Keys that are not led are left out.
    pub(crate) fn resolve(&mut self, ends: Vec<FlightEnd>) {
        let ends = ends.into_iter().filter(|(key, _)| self.keys.remove(key)).collect::<Vec<_>>();
        if !ends.is_empty() {
            self.cache.land(ends);
        }
    }

    /// Gives up every key that is still led.
    pub(crate) fn give_up(&mut self) {
        let ends = std::mem::take(&mut self.keys).into_iter().map(|key| (key, None)).collect::<Vec<_>>();
        if !ends.is_empty() {
            self.cache.land(ends);
        }
    }
}

impl<W: Waiter> Drop for Leads<W> {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests;
