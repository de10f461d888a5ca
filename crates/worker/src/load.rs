//! How much a worker holds, and how fast it is: pure.

use groundline_bus::Incarnation;
use std::collections::BTreeMap;
use std::time::Duration;

/// Busy time after which what was measured before counts half.
const HALF_LIFE: Duration = Duration::from_secs(10);
/// Busy time from which on a speed is known.
const MIN_MEASURED: Duration = Duration::from_millis(20);

/// A batch may have this many tokens however slow the engine is: less, and a processor's cores get too little at a time. A job
/// of a slow worker has as many, so that less could not be held either.
pub(crate) const MIN_BATCH_TOKENS: usize = 1024;

/// A worker as it is now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Load {
    /// Whether it takes jobs.
    pub(crate) takes_jobs: bool,
    /// Most estimated tokens that it holds.
    pub(crate) capacity_tokens: usize,
    /// Estimated tokens of the jobs that it holds.
    pub(crate) held_tokens: usize,
    /// Estimated tokens of jobs that it finishes in a second while its device is busy; 0 while that is not known.
    pub(crate) tokens_per_second: f64,
    /// Coordinators whose jobs it received lately.
    pub(crate) coordinators: u32,
}

/// How long a coordinator counts after its last job: longer than the pauses of one that is at work.
const ACTIVE_FOR: Duration = Duration::from_secs(5);

/// Who sends jobs.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    heard: BTreeMap<Incarnation, Duration>,
}

impl Callers {
    /// A job of a coordinator came.
    pub(crate) fn note(&mut self, coordinator: Incarnation, now: Duration) {
        self.heard.insert(coordinator, now);
    }

    /// Coordinators that sent something lately.
    pub(crate) fn active(&mut self, now: Duration) -> u32 {
        self.heard.retain(|_, heard| now.saturating_sub(*heard) < ACTIVE_FOR);
        u32::try_from(self.heard.len()).unwrap_or(u32::MAX)
    }
}

/// How large batches are, and how much is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchSizes {
    /// Tokens of a batch at most.
    pub(crate) most_tokens: usize,
    /// However slow the device is, a batch may have this many.
    pub(crate) least_tokens: usize,
    /// How long a batch should take.
    pub(crate) target: Duration,
    /// Batches' worth of tokens that are held.
    pub(crate) held_batches: usize,
}

impl BatchSizes {
    /// Tokens of a batch, at a speed; 0: not known.
    pub(crate) fn batch_tokens(&self, tokens_per_second: f64) -> usize {
        if tokens_per_second <= 0.0 {
            return self.most_tokens;
        }
        let tokens = tokens_per_second * self.target.as_secs_f64();
        (tokens as usize).clamp(self.least_tokens, self.most_tokens)
    }

    /// Most estimated tokens that are held, at a speed.
    pub(crate) fn held_tokens(&self, tokens_per_second: f64) -> usize {
        self.batch_tokens(tokens_per_second).max(MIN_BATCH_TOKENS).saturating_mul(self.held_batches)
    }
}

/// Measures how fast a worker is while its device is busy.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    busy_since: Option<Duration>,
    busy_seconds: f64,
    tokens: f64,
}

impl Meter {
    /// The device is busy or not, as of `now`, and jobs of so many estimated tokens were finished since the last call.
    pub(crate) fn note(&mut self, is_busy: bool, finished_tokens: usize, now: Duration) {
        let busy = self.busy_since.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        let keep = 0.5_f64.powf(busy.as_secs_f64() / HALF_LIFE.as_secs_f64());
        self.busy_seconds = self.busy_seconds * keep + busy.as_secs_f64();
        self.tokens = self.tokens * keep + finished_tokens as f64;
        self.busy_since = is_busy.then_some(now);
    }

    /// Estimated tokens in a second of busy time; 0 while that is not known.
    pub(crate) fn tokens_per_second(&self) -> f64 {
        if self.busy_seconds < MIN_MEASURED.as_secs_f64() { 0.0 } else { self.tokens / self.busy_seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_counts_for_some_seconds_after_its_last_job() {
        let (mut callers, at) = (Callers::default(), Duration::from_secs);
        let (one, other) = (Incarnation::random(), Incarnation::random());
        assert_eq!(callers.active(at(0)), 0);
        callers.note(one, at(1));
        callers.note(other, at(3));
        callers.note(one, at(4));
        assert_eq!([at(5), at(8), at(9)].map(|now| callers.active(now)), [2, 1, 0]);
    }

    #[test]
    fn a_batch_takes_the_time_it_should_within_bounds() {
        let sizes = BatchSizes {
            most_tokens: 16_384,
            least_tokens: 1024,
            target: Duration::from_millis(10),
            held_batches: 3,
        };
        let tokens = [0.0, 300.0, 200_000.0, 1e9].map(|speed| sizes.batch_tokens(speed));
        assert_eq!(tokens, [16_384, 1024, 2000, 16_384]);
        assert_eq!(sizes.held_tokens(200_000.0), 6000);
        let small = BatchSizes { most_tokens: 512, least_tokens: 512, ..sizes };
        assert_eq!((small.batch_tokens(200_000.0), small.held_tokens(200_000.0)), (512, 3072));
    }

    #[test]
    fn idle_time_does_not_count_and_old_speed_fades() {
        let mut meter = Meter::default();
        let at = Duration::from_millis;
        meter.note(true, 0, at(0));
        meter.note(false, 100, at(10));
        assert_eq!(meter.tokens_per_second(), 0.0, "too short to say");
        meter.note(true, 0, at(60_000));
        for step in 1..=100 {
            meter.note(true, 1000, at(60_000 + step * 100));
        }
        let speed = meter.tokens_per_second();
        assert!((9_500.0..10_500.0).contains(&speed), "{speed}");
        for step in 1..=600 {
            meter.note(true, 100, at(70_000 + step * 100));
        }
        let slower = meter.tokens_per_second();
        assert!((950.0..1_400.0).contains(&slower), "{slower}");
    }
}
