//! Which workers there are and how much they get done, from what they say of themselves: pure.

use groundline_bus::{Presence, SubjectToken, TARGET_JOB_TOKENS};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// A worker that has not been heard of for this long is gone. Workers announce themselves every second, and a word or two may
/// get lost.
const GONE_AFTER: Duration = Duration::from_secs(5);
/// Tokens under way for each worker at least, whatever it says it can hold: a usual job or two.
const MIN_CREDIT_TOKENS_PER_WORKER: usize = 1024;

/// How long one job should take a worker.
const JOB_TIME: Duration = Duration::from_millis(10);
/// Estimated tokens of a job at least, where a check has them: some 16 pairs of sentences.
const MIN_JOB_TOKENS: usize = 1024;
/// The same, while no worker says how fast it is.
const UNKNOWN_JOB_TOKENS: usize = 4096;

/// All live workers together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fleet {
    /// Workers that take jobs.
    pub(crate) ready_workers: usize,
    /// Estimated tokens of jobs that should be under way; `None` where no worker says how fast it is.
    pub(crate) credit_tokens: Option<usize>,
    /// Estimated tokens at which a job is closed: what the slowest worker does in [`JOB_TIME`], so that a check is spread over
    /// workers where they are slow, and costs few messages where they are fast.
    pub(crate) job_tokens: usize,
    /// Since when no worker takes jobs; `None` while one does.
    pub(crate) no_worker_since: Option<Instant>,
}

impl Fleet {
    /// Nothing was heard yet.
    pub(crate) fn unknown(now: Instant) -> Self {
        Self {
            ready_workers: 0,
            credit_tokens: None,
            job_tokens: UNKNOWN_JOB_TOKENS,
            no_worker_since: Some(now),
        }
    }
}

/// What workers of one model said last.
#[derive(Debug)]
pub(crate) struct Roster {
    target_queue: Duration,
    workers: BTreeMap<SubjectToken, (Instant, Presence)>,
    no_worker_since: Option<Instant>,
}

impl Roster {
    /// Nobody yet. `target_queue`: how long a job may wait behind others that are under way.
    pub(crate) fn new(target_queue: Duration, now: Instant) -> Self {
        Self { target_queue, workers: BTreeMap::new(), no_worker_since: Some(now) }
    }

    /// A worker speaks.
    pub(crate) fn note(&mut self, presence: Presence, now: Instant) {
        self.workers.insert(presence.worker.clone(), (now, presence));
    }

    /// The workers that are live now, together. Those that are not are forgotten.
    pub(crate) fn fleet(&mut self, now: Instant) -> Fleet {
        self.workers.retain(|_, (heard, _)| now.saturating_duration_since(*heard) < GONE_AFTER);
        let ready = self.workers.values().filter(|(_, presence)| presence.is_ready).collect::<Vec<_>>();
        self.no_worker_since = if ready.is_empty() { self.no_worker_since.or(Some(now)) } else { None };
        let known = ready.iter().filter(|(_, presence)| presence.tokens_per_second > 0.0);
        let is_known = known.clone().next().is_some();
        // What it may hold keeps its device busy, so that less would only leave room unused. What is more waits at the bus, where
        // nobody's turn is looked at. All who send to a worker share it.
        let of_worker = |presence: &Presence| {
            let queue = presence.tokens_per_second * self.target_queue.as_secs_f64();
            let tokens = (queue as usize).max(presence.capacity_tokens).max(MIN_CREDIT_TOKENS_PER_WORKER);
            tokens / presence.coordinators.max(1) as usize
        };
        let tokens = ready.iter().map(|(_, presence)| of_worker(presence)).sum();
        let slowest = known.map(|(_, presence)| presence.tokens_per_second).reduce(f64::min);
        Fleet {
            ready_workers: ready.len(),
            job_tokens: slowest.map_or(UNKNOWN_JOB_TOKENS, job_tokens),
            credit_tokens: is_known.then_some(tokens),
            no_worker_since: self.no_worker_since,
        }
    }
}

fn job_tokens(tokens_per_second: f64) -> usize {
    let tokens = (tokens_per_second * JOB_TIME.as_secs_f64()) as usize;
    tokens.clamp(MIN_JOB_TOKENS, TARGET_JOB_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(worker: &str, is_ready: bool, tokens_per_second: f64) -> Presence {
        Presence {
            worker: SubjectToken::from_name(worker),
            model: SubjectToken::from_name("model"),
            engine: "toy".to_owned(),
            schema: "1.0".to_owned(),
            is_ready,
            capacity_tokens: 16_384,
            held_tokens: 0,
            tokens_per_second,
            coordinators: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn credits_are_what_ready_workers_do_in_the_time_that_a_queue_may_take() {
        let now = Instant::now();
        let mut roster = Roster::new(Duration::from_secs(2), now);
        assert_eq!(roster.fleet(now), Fleet::unknown(now));
        roster.note(presence("a", true, 0.0), now);
        let fleet = roster.fleet(now);
        assert_eq!((fleet.ready_workers, fleet.credit_tokens, fleet.no_worker_since), (1, None, None));
        roster.note(presence("a", true, 10_000.0), now);
        roster.note(presence("b", true, 1.0), now);
        roster.note(presence("c", true, 0.0), now);
        roster.note(presence("d", false, 50_000.0), now);
        let fleet = roster.fleet(now);
        assert_eq!((fleet.ready_workers, fleet.credit_tokens), (3, Some(20_000 + 2 * 16_384)));
        let tiny = Presence { capacity_tokens: 1, ..presence("b", true, 1.0) };
        roster.note(tiny, now);
        assert_eq!(roster.fleet(now).credit_tokens, Some(20_000 + 1024 + 16_384));
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_is_what_the_slowest_worker_does_in_its_time_within_bounds() {
        let now = Instant::now();
        let job_tokens = |speeds: &[f64]| {
            let mut roster = Roster::new(Duration::from_secs(2), now);
            for (worker, speed) in speeds.iter().enumerate() {
                roster.note(presence(&worker.to_string(), true, *speed), now);
            }
            roster.fleet(now).job_tokens
        };
        let of = [&[0.0][..], &[300_000.0, 0.0], &[200_000.0, 300_000.0], &[3000.0], &[1e9]].map(job_tokens);
        assert_eq!(of, [UNKNOWN_JOB_TOKENS, 3000, 2000, MIN_JOB_TOKENS, TARGET_JOB_TOKENS]);
    }

    #[tokio::test(start_paused = true)]
    async fn coordinators_that_send_to_the_same_worker_share_it() {
        let now = Instant::now();
        let mut roster = Roster::new(Duration::from_secs(2), now);
        roster.note(Presence { coordinators: 2, ..presence("a", true, 10_000.0) }, now);
        roster.note(presence("b", true, 10_000.0), now);
        assert_eq!(roster.fleet(now).credit_tokens, Some(10_000 + 20_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_is_not_heard_of_is_gone_and_the_time_without_any_is_known() {
        let start = Instant::now();
        let mut roster = Roster::new(Duration::from_secs(2), start);
        roster.note(presence("a", true, 9000.0), start);
        assert_eq!(roster.fleet(start + Duration::from_secs(4)).ready_workers, 1);
        let lost = start + Duration::from_secs(5);
        let fleet = roster.fleet(lost);
        assert_eq!((fleet.ready_workers, fleet.credit_tokens, fleet.no_worker_since), (0, None, Some(lost)));
        assert_eq!(roster.fleet(lost + Duration::from_secs(9)).no_worker_since, Some(lost));
    }
}
