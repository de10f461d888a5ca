//! How many requests and tokens a minute, as a pure machine.

use std::time::Duration;
use tokio::time::Instant;

/// How much of a minute's allowance may go at once.
const BURST: Duration = Duration::from_secs(5);
const MINUTE: Duration = Duration::from_secs(60);

/// A bucket that may go into debt by one taking, so that a taking larger than the bucket still passes, alone.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    capacity: f64,
    level: f64,
    filled_at: Instant,
}

impl Bucket {
    fn new(per_minute: u64, now: Instant) -> Option<Self> {
        if per_minute == 0 {
            return None;
        }
        let per_second = per_minute as f64 / MINUTE.as_secs_f64();
        let capacity = (per_second * BURST.as_secs_f64()).max(1.0);
        Some(Self { per_second, capacity, level: capacity, filled_at: now })
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.level = (self.level + passed * self.per_second).min(self.capacity);
        self.filled_at = now;
    }

    /// How long until something may be taken. One unit must be there, or a full bucket where it holds less.
    fn wait(&self) -> Duration {
        let missing = 1.0_f64.min(self.capacity) - self.level;
        if missing <= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(missing / self.per_second) }
    }
}

/// The limits of one backend: requests and tokens a minute, and a time until which the backend asked to be left alone.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    paused_until: Option<Instant>,
}

impl RateLimiter {
    /// Limits a minute; 0 means none.
    pub(crate) fn new(requests: u32, tokens: u64, now: Instant) -> Self {
        Self {
            requests: Bucket::new(u64::from(requests), now),
            tokens: Bucket::new(tokens, now),
            paused_until: None,
        }
    }

    /// Takes one request of about `tokens` tokens, or says how long to wait before asking again.
    pub(crate) fn take(&mut self, tokens: u64, now: Instant) -> Result<(), Duration> {
        let paused = self.paused_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let mut wait = paused;
        for bucket in [&mut self.requests, &mut self.tokens].into_iter().flatten() {
            bucket.fill(now);
            wait = wait.max(bucket.wait());
        }
        if wait > Duration::ZERO {
            return Err(wait.max(Duration::from_millis(1)));
        }
        if let Some(requests) = &mut self.requests {
            requests.level -= 1.0;
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.level -= tokens as f64;
        }
        Ok(())
    }

    /// Puts right what [`Self::take`] guessed.
    pub(crate) fn settle(&mut self, guessed_tokens: u64, used_tokens: u64) {
        if let Some(bucket) = &mut self.tokens {
            bucket.level = (bucket.level + guessed_tokens as f64 - used_tokens as f64).min(bucket.capacity);
        }
    }

    /// The backend asked to be left alone until then; the latest such time counts.
    pub(crate) fn pause_until(&mut self, until: Instant) {
        self.paused_until = Some(self.paused_until.map_or(until, |other| other.max(until)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many takings of `tokens` pass within `span`, asking as often as they are told to.
    fn passed(limiter: &mut RateLimiter, tokens: u64, start: Instant, span: Duration) -> usize {
        let (mut now, mut count) = (start, 0);
        while now < start + span {
            match limiter.take(tokens, now) {
                Ok(()) => count += 1,
                Err(wait) => now += wait,
            }
        }
        count
    }

    #[test]
    fn requests_keep_to_their_number_a_minute_but_for_a_burst() {
        let now = Instant::now();
        let count = passed(&mut RateLimiter::new(60, 0, now), 1, now, 2 * MINUTE);
        assert!((120..=126).contains(&count), "{count}");
        let count = passed(&mut RateLimiter::new(3, 0, now), 1, now, 2 * MINUTE);
        assert!((6..=8).contains(&count), "{count}");
    }

    #[test]
    fn tokens_keep_to_their_number_even_where_one_request_is_larger_than_the_bucket() {
        let now = Instant::now();
        let count = passed(&mut RateLimiter::new(0, 600, now), 100, now, 3 * MINUTE);
        assert!((18..=20).contains(&count), "{count}");
        let count = passed(&mut RateLimiter::new(0, 600, now), 1_200, now, 10 * MINUTE);
        assert!((4..=6).contains(&count), "{count}");
    }

    #[test]
    fn what_was_guessed_too_high_is_given_back() {
        let now = Instant::now();
        let mut limiter = RateLimiter::new(0, 600, now);
        limiter.take(1_000, now).unwrap();
        assert!(limiter.take(1, now).is_err());
        limiter.settle(1_000, 10);
        assert!(limiter.take(1, now).is_ok());
    }

    #[test]
    fn a_pause_that_the_backend_asked_for_holds_everybody() {
        let now = Instant::now();
        let mut limiter = RateLimiter::new(0, 0, now);
        limiter.pause_until(now + Duration::from_secs(7));
        limiter.pause_until(now + Duration::from_secs(3));
        assert_eq!(limiter.take(1, now), Err(Duration::from_secs(7)));
        assert_eq!(limiter.take(1, now + Duration::from_secs(7)), Ok(()));
    }
}
