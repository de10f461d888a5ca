//! Watching and cancelling a check.

use std::sync::Arc;
use tokio::sync::watch;

/// How a caller follows a check. Both are optional.
#[derive(Debug, Clone, Default)]
pub struct CheckObserver {
    /// Receives how far the check is.
    pub progress: Option<watch::Sender<Progress>>,
    /// Ends the check early: it then answers with what it has, and what is unchecked has the reason
    /// [`CANCELLED`](groundline_types::Code::CANCELLED). To stop a check without an answer, drop its future.
    pub cancel: Option<CancelToken>,
}

/// How far a check is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub stage: Stage,
    /// Pairs, texts and questions that its methods will ask for, each method's counted by itself. 0 until the stage is
    /// [`Stage::Scoring`]; may grow where later work depends on scores.
    pub planned_items: usize,
    /// How many of them have an outcome.
    pub done_items: usize,
    /// Roughly how many tokens the planned items have.
    pub planned_tokens: usize,
    /// Distinct pairs and texts that were answered without a job.
    pub cache_hits: usize,
}

/// What a check is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Splitting the texts.
    #[default]
    Preparing,
    /// Scoring pairs.
    Scoring,
    /// Making the verdict.
    Deciding,
    /// Done.
    Done,
}

/// A switch that ends checks early. Clones are the same switch; it cannot be switched back.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    switch: Arc<watch::Sender<bool>>,
}

impl CancelToken {
    /// Ends every check that observes this token.
    pub fn cancel(&self) {
        self.switch.send_replace(true);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.switch.borrow()
    }

    /// Waits until it is cancelled.
    pub async fn cancelled(&self) {
        let mut switch = self.switch.subscribe();
        // The sender lives as long as `self`, so waiting ends by the switch alone.
        let _ = switch.wait_for(|is_on| *is_on).await;
    }
}
