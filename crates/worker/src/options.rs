//! Settings of a worker.

use std::time::Duration;

/// Settings of a [`crate::Worker`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Tokens of a batch; `None`: what the engine recommends. Never less than the model's longest input.
    pub batch_tokens: Option<usize>,
    /// How many batches' worth of tokens the worker holds at most, running ones included. Two are with the device; the rest is
    /// what batches are formed from. More would only keep jobs from other workers.
    pub held_batches: usize,
    /// How long an online item waits for company before its batch is closed.
    pub max_wait_online: Duration,
    /// The same for a bulk item.
    pub max_wait_bulk: Duration,
    /// How long a drain waits for running batches.
    pub drain_timeout: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            batch_tokens: None,
            held_batches: 4,
            max_wait_online: Duration::from_millis(4),
            max_wait_bulk: Duration::from_millis(50),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
