//! What a batcher is given and told.

use super::machine::BatchLimits;
use crate::device::{BatchResults, DeviceMessage};
use crate::load::Load;
use groundline_actors::{Handle, Reporter};
use groundline_bus::{CheckId, Delivery, SubjectToken};
use groundline_inference::{Encoded, Engine};
use groundline_types::{Lane, Problem};
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// Tokens that a worker has room for, a channel for each lane. Clones are the same room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    online_tokens: watch::Sender<usize>,
    bulk_tokens: watch::Sender<usize>,
}

impl Room {
    fn of(&self, lane: Lane) -> &watch::Sender<usize> {
        match lane {
            Lane::Online => &self.online_tokens,
            Lane::Bulk => &self.bulk_tokens,
        }
    }

    pub(crate) fn watch(&self, lane: Lane) -> watch::Receiver<usize> {
        self.of(lane).subscribe()
    }

    pub(crate) fn publish(&self, lane: Lane, tokens: usize) {
        self.of(lane).send_if_modified(|current| std::mem::replace(current, tokens) != tokens);
    }
}

/// What a batcher works with.
#[derive(Clone)]
pub(crate) struct BatcherSetup<B> {
    pub(crate) bus: B,
    /// What the engine serves.
    pub(crate) model: SubjectToken,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) device: Handle<DeviceMessage>,
    pub(crate) limits: BatchLimits,
    /// Most estimated tokens held.
    pub(crate) held_tokens: usize,
    pub(crate) room: Room,
    pub(crate) load: watch::Sender<Load>,
    pub(crate) health: Reporter,
}

pub(crate) enum BatcherMessage {
    /// Jobs from the bus; the reply says that [`Room`] counts them.
    Delivered(Vec<Delivery>, oneshot::Sender<()>),
    /// The items of a job as tokens.
    Encoded(u64, Vec<Result<Encoded, Problem>>),
    /// A batch is done.
    Scored(BatchResults),
    /// Nobody wants the results of this check any more.
    Cancelled(CheckId),
    /// Something may be due.
    Tick,
    /// An answer is sent.
    Answered,
    /// Nothing is scored any more: give every job back.
    DeviceLost,
    /// Hand back what has not begun, finish the rest, then reply.
    Drain(oneshot::Sender<()>),
    /// Fail, as a bug would.
    #[cfg(any(test, feature = "sim"))]
    Panic,
}
