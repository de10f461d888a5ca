//! Asks the bus for what the batcher has room for.

use crate::batcher::{BatcherMessage, LaneRoom};
use groundline_actors::{Handle, OwnedTask, TaskKind, Unsent, spawn_task};
use groundline_bus::{Delivery, JobBus, LaneId, MAX_JOB_ITEMS, PullBudget};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::marker::PhantomData;
use std::time::Duration;
use tokio::sync::oneshot;

/// Most jobs of one pull.
const MAX_JOBS_PER_PULL: usize = 2 * MAX_JOB_ITEMS;
/// How long one pull waits for a job; then the room is looked at anew.
const PULL_WAIT: Duration = Duration::from_secs(5);

/// What a puller works with.
#[derive(Clone)]
pub(crate) struct PullerSetup<B> {
    pub(crate) bus: B,
    pub(crate) lane: LaneId,
    pub(crate) batcher: Handle<BatcherMessage>,
    /// Of this lane.
    pub(crate) room: LaneRoom,
}

pub(crate) enum PullerMessage {
    /// Pull no more; the reply comes when no pull is under way.
    Stop(oneshot::Sender<()>),
}

pub(crate) struct Puller<B>(PhantomData<fn() -> B>);

impl<B> Puller<B> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<B: JobBus> Actor for Puller<B> {
    type Msg = PullerMessage;
    type State = Option<OwnedTask>;
    type Arguments = PullerSetup<B>;

    async fn pre_start(
        &self,
        _myself: ActorRef<PullerMessage>,
        setup: PullerSetup<B>,
    ) -> Result<Option<OwnedTask>, ActorProcessingErr> {
        Ok(Some(spawn_task(TaskKind::Pull, pull_while_there_is_room(setup))))
    }

    async fn handle(
        &self,
        _myself: ActorRef<PullerMessage>,
        message: PullerMessage,
        state: &mut Option<OwnedTask>,
    ) -> Result<(), ActorProcessingErr> {
        let PullerMessage::Stop(reply) = message;
        *state = None;
        let _ = reply.send(());
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<PullerMessage>,
        _event: SupervisionEvent,
        _state: &mut Option<OwnedTask>,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

/// Ends with the bus, or with the worker.
async fn pull_while_there_is_room<B: JobBus>(setup: PullerSetup<B>) {
    let mut bus_state = setup.bus.state();
    let mut offers = setup.room.watch();
    loop {
        // Without a connection there is nothing to pull; what is held goes on.
        if bus_state.wait_for(|now| now.connected).await.is_err() {
            return;
        }
        if offers.wait_for(|offer| offer.tokens > 0).await.is_err() {
            return;
        }
        let _under_way = setup.room.begin_pull();
        let offer = *offers.borrow();
        if offer.tokens == 0 {
            continue;
        }
        let budget = PullBudget { max_jobs: MAX_JOBS_PER_PULL, max_tokens: offer.tokens, wait: PULL_WAIT };
        let pulled = tokio::select! {
            biased;
            // What it has taken is handed back.
            Ok(_) = offers.wait_for(|offer| offer.bars_pulls) => continue,
            pulled = setup.bus.pull(&setup.lane, budget) => pulled,
        };
        let Ok(deliveries) = pulled else { return };
        if deliveries.is_empty() {
            continue;
        }
        let (reply, accepted) = oneshot::channel();
        // Where the batcher failed, this puller is about to be started again with it.
        match setup.batcher.send(BatcherMessage::Delivered(deliveries, reply)) {
            Err(Unsent(BatcherMessage::Delivered(deliveries, _))) => {
                return deliveries.into_iter().for_each(Delivery::hand_back);
            }
            Err(_) => return,
            Ok(()) if accepted.await.is_err() => return,
            Ok(()) => {}
        }
    }
}
