//! What a batcher is given and told.

use super::machine::BatchLimits;
use crate::device::{BatchResults, DeviceMessage};
use crate::load::{BatchSizes, Load};
use groundline_actors::{Handle, Reporter};
use groundline_bus::{CheckId, Delivery, SubjectToken};
use groundline_inference::{Encoded, Engine};
use groundline_types::{Lane, Problem};
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// What a worker has room for. Clones are the same room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    online: LaneRoom,
    bulk: LaneRoom,
}

/// The same for one lane.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaneRoom {
    offer: watch::Sender<Offer>,
    /// Pulls under way, up to where the batcher has what they brought.
    pulls: watch::Sender<usize>,
}

/// How much a pull may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) tokens: usize,
    /// Whether even a pull that has begun must end.
    pub(crate) bars_pulls: bool,
}

/// A pull; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pulls: watch::Sender<usize>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.pulls.send_modify(|pulls| *pulls -= 1);
    }
}

impl LaneRoom {
    pub(crate) fn watch(&self) -> watch::Receiver<Offer> {
        self.offer.subscribe()
    }

    /// A pull begins. It must look once more then whether it may.
    pub(crate) fn begin_pull(&self) -> UnderWay {
        self.pulls.send_modify(|pulls| *pulls += 1);
        UnderWay { pulls: self.pulls.clone() }
    }
}

impl Room {
    pub(crate) fn of(&self, lane: Lane) -> &LaneRoom {
        match lane {
            Lane::Online => &self.online,
            Lane::Bulk => &self.bulk,
        }
    }

    pub(crate) fn publish(&self, lane: Lane, offer: Offer) {
        self.of(lane).offer.send_if_modified(|current| std::mem::replace(current, offer) != offer);
    }

    /// Waits until no pull is under way.
    pub(crate) async fn without_pulls(&self) {
        for lane in [&self.online, &self.bulk] {
            // Its sender lives as long as this.
            let _ = lane.pulls.subscribe().wait_for(|pulls| *pulls == 0).await;
        }
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
    pub(crate) sizes: BatchSizes,
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
    /// No pull is under way, for the suspect of this number.
    PullsOver(u64),
    /// The bus knows every decision, for the suspect of this number.
    BusKnows(u64),
    /// Nothing is scored any more: give every job back.
    DeviceLost,
    /// Hand back what has not begun, finish the rest, then reply.
    Drain(oneshot::Sender<()>),
    /// Fail, as a bug would.
    #[cfg(any(test, feature = "sim"))]
    Panic,
}
