//! Load: as many callers as are told, or arrivals at a rate that waits for nobody.

use crate::histogram::Histogram;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Answered in full.
    Whole,
    /// Refused before any work, with an HTTP status that says so.
    Refused(u16),
    /// Anything else: an error, an answer with something unchecked.
    Failed(String),
}

/// Asks the request of a number.
pub(crate) type Ask = Arc<dyn Fn(u64) -> Pin<Box<dyn Future<Output = Ended> + Send>> + Send + Sync>;

/// Numbers of requests: each is used once in a process, whoever asks.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// What happened within the time that was measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) whole: u64,
    pub(crate) refused: BTreeMap<u16, u64>,
    pub(crate) failed: BTreeMap<String, u64>,
    /// Of requests answered in full. In an open loop from the moment at which they were due, whenever they were sent.
    pub(crate) latency: Histogram,
    pub(crate) seconds: f64,
}

impl Tally {
    /// Answers in full a second.
    pub(crate) fn rate(&self) -> f64 {
        self.whole as f64 / self.seconds
    }

    /// Requests that were neither answered in full nor refused.
    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Requests that were refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }

    /// As a report shows it.
    pub(crate) fn json(&self) -> serde_json::Value {
        let refused = self.refused.iter().map(|(status, count)| (status.to_string(), count));
        serde_json::json!({
            "seconds": self.seconds,
            "whole": self.whole,
            "whole_per_second": self.rate(),
            "refused": refused.collect::<BTreeMap<_, _>>(),
            "failed": self.failed,
            "latency": self.latency.json(),
        })
    }
}

/// When counting begins and ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

impl Window {
    /// After so long, for so long.
    pub(crate) fn after(warm_up: Duration, measured: Duration) -> Self {
        let from = Instant::now() + warm_up;
        Self { from, to: from + measured }
    }

    fn holds(&self, at: Instant) -> bool {
        (self.from..self.to).contains(&at)
    }
}

/// Collects what happens.
#[derive(Debug, Clone)]
struct Recorder {
    window: Window,
    tally: Arc<Mutex<Tally>>,
}

impl Recorder {
    fn new(window: Window) -> Self {
        let seconds = (window.to - window.from).as_secs_f64();
        Self { window, tally: Arc::new(Mutex::new(Tally { seconds, ..Tally::default() })) }
    }

    /// Counts a request by the moment of its end, or by that of its arrival: `counted_at`.
    fn note(&self, counted_at: Instant, took: Duration, ended: Ended) {
        if !self.window.holds(counted_at) {
            return;
        }
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Ended::Whole => {
                tally.whole += 1;
                tally.latency.record(took);
            }
            Ended::Refused(status) => *tally.refused.entry(status).or_default() += 1,
            Ended::Failed(why) => *tally.failed.entry(why).or_default() += 1,
        }
    }

    fn into_tally(self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Callers that ask again as soon as they are answered; after a refusal they wait a little. Counts ends within the window.
pub(crate) async fn closed_loop(ask: &Ask, callers: usize, window: Window) -> Tally {
    let recorder = Recorder::new(window);
    let mut set = JoinSet::new();
    for _ in 0..callers {
        let (ask, recorder) = (Arc::clone(ask), recorder.clone());
        set.spawn(async move {
            while Instant::now() < window.to {
                let began = Instant::now();
                let ended = ask(NEXT.fetch_add(1, Ordering::Relaxed)).await;
                let was_refused = matches!(ended, Ended::Refused(_));
                let now = Instant::now();
                recorder.note(now, now - began, ended);
                if was_refused {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        });
    }
    while set.join_next().await.is_some() {}
    recorder.into_tally()
}

/// Arrivals of a Poisson process, from a thread that waits for no answer, so that a slow answer delays no other request and hides
/// no latency. Counts by arrival within the window, and waits for the last answer.
pub(crate) async fn open_loop(ask: &Ask, per_second: f64, window: Window) -> Tally {
    let recorder = Recorder::new(window);
    let (ask, for_thread) = (Arc::clone(ask), recorder.clone());
    let runtime = tokio::runtime::Handle::current();
    let arrivals = move || {
        let (mut set, mut due, mut dice) = (JoinSet::new(), Instant::now(), Dice(0x9e37_79b9_7f4a_7c15));
        while due < window.to {
            due += Duration::from_secs_f64(dice.exponential() / per_second);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let (ask, recorder) = (Arc::clone(&ask), for_thread.clone());
            let request = async move {
                let ended = ask(NEXT.fetch_add(1, Ordering::Relaxed)).await;
                recorder.note(due, due.elapsed(), ended);
            };
            set.spawn_on(request, &runtime);
            while set.try_join_next().is_some() {}
        }
        set
    };
    let started = tokio::task::spawn_blocking(arrivals).await;
    let mut set = started.unwrap_or_default();
    while set.join_next().await.is_some() {}
    recorder.into_tally()
}

/// Numbers that look random and are the same in every run (xorshift64*).
struct Dice(u64);

impl Dice {
    /// Exponentially distributed with mean 1.
    fn exponential(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        // Above 0, so that the logarithm is finite.
        -((bits as f64 + 1.0) / (1_u64 << 53) as f64).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_arrivals_have_the_mean_that_is_asked_for() {
        let mut dice = Dice(1);
        let gaps = (0..20_000).map(|_| dice.exponential()).collect::<Vec<_>>();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((0.97..1.03).contains(&mean), "{mean}");
        let beyond = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
        assert!((0.35..0.39).contains(&beyond), "{beyond}: not exponential");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_open_loop_counts_the_wait_of_those_who_came_while_nobody_was_served() {
        // One place, and every answer takes 50 ms: at 100 a second, all but the first few wait long.
        let place = Arc::new(tokio::sync::Semaphore::new(1));
        let ask: Ask = Arc::new(move |_| {
            let place = Arc::clone(&place);
            Box::pin(async move {
                let _permit = place.acquire().await;
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ended::Whole
            })
        });
        let tally = open_loop(&ask, 100.0, Window::after(Duration::ZERO, Duration::from_millis(300))).await;
        assert!(tally.whole > 10 && tally.latency.quantile_ms(0.9) > 500.0, "{tally:?}");
    }
}
