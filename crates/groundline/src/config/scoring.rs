//! Settings of the parts that score: cache, coordinator, worker.

use groundline_coordinator::CoordinatorOptions;
use groundline_worker::WorkerOptions;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The pair-score cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheConfig {
    /// Memory for scores; 0 turns the cache off.
    pub bytes: u64,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self { bytes: CoordinatorOptions::default().cache_bytes }
    }
}

/// The part that takes a response from text to verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoordinatorConfig {
    /// Checks that run at once.
    pub max_checks: usize,
    /// Jobs of one check under way at once.
    pub window_jobs: usize,
    /// Estimated tokens of all jobs under way at once.
    pub credit_tokens: usize,
    /// How long a job may wait behind others, by what workers say they get done; that replaces `credit_tokens` once they do.
    pub target_queue_ms: u64,
    /// How long jobs wait for any worker to be there before they are given up; 0: until their deadline.
    pub no_worker_timeout_ms: u64,
    /// How long a job may stay unanswered before it is sent again.
    pub resend_after_ms: u64,
    /// How often a job is sent before it is given up.
    pub max_attempts: u32,
    /// How long shutting down waits for running checks.
    pub stop_timeout_ms: u64,
    /// Checks of the durable queue that this process works on at once.
    pub queued_checks: u32,
}

/// As many as keep a few workers busy.
const DEFAULT_QUEUED_CHECKS: u32 = 16;

impl Default for CoordinatorConfig {
    fn default() -> Self {
        let options = CoordinatorOptions::default();
        Self {
            max_checks: options.max_checks,
            window_jobs: options.window_jobs,
            credit_tokens: options.credit_tokens,
            target_queue_ms: milliseconds(options.target_queue),
            no_worker_timeout_ms: options.no_worker_timeout.map_or(0, milliseconds),
            resend_after_ms: milliseconds(options.resend_after),
            max_attempts: options.max_attempts,
            stop_timeout_ms: milliseconds(options.stop_timeout),
            queued_checks: DEFAULT_QUEUED_CHECKS,
        }
    }
}

impl CoordinatorConfig {
    /// How long shutting down waits for running checks.
    pub fn stop_timeout(&self) -> Duration {
        Duration::from_millis(self.stop_timeout_ms)
    }
}

/// The part that forms batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerConfig {
    /// Tokens of a batch; 0: what the engine recommends.
    pub batch_tokens: usize,
    /// How long a batch should take the device.
    pub batch_target_ms: u64,
    /// Batches' worth of tokens held, running ones included.
    pub held_batches: usize,
    /// How long an online item waits for company.
    pub max_wait_online_ms: u64,
    /// How long a bulk item waits for company.
    pub max_wait_bulk_ms: u64,
    /// How long shutting down waits for running batches.
    pub drain_timeout_ms: u64,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        let options = WorkerOptions::default();
        Self {
            batch_tokens: options.batch_tokens.unwrap_or(0),
            batch_target_ms: milliseconds(options.batch_target),
            held_batches: options.held_batches,
            max_wait_online_ms: milliseconds(options.max_wait_online),
            max_wait_bulk_ms: milliseconds(options.max_wait_bulk),
            drain_timeout_ms: milliseconds(options.drain_timeout),
        }
    }
}

impl WorkerConfig {
    /// As the worker takes it.
    pub(crate) fn options(&self) -> WorkerOptions {
        WorkerOptions {
            batch_tokens: Some(self.batch_tokens).filter(|tokens| *tokens > 0),
            batch_target: Duration::from_millis(self.batch_target_ms),
            held_batches: self.held_batches.max(1),
            max_wait_online: Duration::from_millis(self.max_wait_online_ms),
            max_wait_bulk: Duration::from_millis(self.max_wait_bulk_ms),
            drain_timeout: Duration::from_millis(self.drain_timeout_ms),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
