//! Settings of a worker.

use std::time::Duration;

/// Settings of a [`crate::Worker`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Tokens of a batch; `None`: what the engine recommends. Never less than the model's longest input.
    pub batch_tokens: Option<usize>,
    /// How long a batch should take the device, at the speed measured so far: what runs cannot be stopped, so that whoever
    /// comes next waits for it. A batch may have 1,024 tokens all the same, and never has more than
    /// [`WorkerOptions::batch_tokens`].
    pub batch_target: Duration,
    /// How many batches' worth of tokens the worker holds at most, running ones included. One runs and one is ready;
    /// more would only keep jobs from other workers, and from whoever comes next.
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
            batch_target: Duration::from_millis(10),
            held_batches: 2,
            max_wait_online: Duration::from_millis(4),
            max_wait_bulk: Duration::from_millis(50),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
