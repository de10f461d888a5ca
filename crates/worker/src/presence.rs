//! Tells the cluster what this worker is and can do.

use crate::load::Load;
use groundline_actors::{Condition, HealthBoard};
use groundline_bus::{JobBus, Presence, SubjectToken};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::marker::PhantomData;
use std::time::Duration;
use tokio::sync::watch;

/// How often a worker announces itself.
const INTERVAL: Duration = Duration::from_secs(1);
/// Of the messages that a worker speaks.
const SCHEMA: &str = "1.0";

pub(crate) enum AnnouncerMessage {
    /// It is time.
    Tick,
}

/// What it works with.
#[derive(Clone)]
pub(crate) struct AnnouncerSetup<B> {
    pub(crate) bus: B,
    /// One name for each life of the worker.
    pub(crate) worker: SubjectToken,
    pub(crate) model: SubjectToken,
    pub(crate) engine: String,
    pub(crate) load: watch::Receiver<Load>,
    pub(crate) health: HealthBoard,
}

pub(crate) struct Announcer<B>(PhantomData<fn() -> B>);

impl<B> Announcer<B> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

fn presence<B>(setup: &AnnouncerSetup<B>) -> Presence {
    let load = *setup.load.borrow();
    let has_failed =
        setup.health.all().values().any(|health| matches!(health.condition, Condition::Failed(_)));
    Presence {
        worker: setup.worker.clone(),
        model: setup.model.clone(),
        engine: setup.engine.clone(),
        schema: SCHEMA.to_owned(),
        is_ready: load.takes_jobs && !has_failed,
        capacity_tokens: load.capacity_tokens,
        held_tokens: load.held_tokens,
        tokens_per_second: load.tokens_per_second,
        coordinators: load.coordinators,
    }
}

impl<B: JobBus> Actor for Announcer<B> {
    type Msg = AnnouncerMessage;
    type State = AnnouncerSetup<B>;
    type Arguments = AnnouncerSetup<B>;

    async fn pre_start(
        &self,
        myself: ActorRef<AnnouncerMessage>,
        setup: AnnouncerSetup<B>,
    ) -> Result<AnnouncerSetup<B>, ActorProcessingErr> {
        // At once, so that nobody waits a second for a worker that is there.
        myself.send_message(AnnouncerMessage::Tick)?;
        myself.send_interval(INTERVAL, || AnnouncerMessage::Tick);
        Ok(setup)
    }

    async fn handle(
        &self,
        _myself: ActorRef<AnnouncerMessage>,
        _tick: AnnouncerMessage,
        setup: &mut AnnouncerSetup<B>,
    ) -> Result<(), ActorProcessingErr> {
        // Best effort: a bus that is closed hears nothing any more, and the next word comes soon.
        let _ = tokio::time::timeout(INTERVAL, setup.bus.announce(presence(setup))).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<AnnouncerMessage>,
        _event: SupervisionEvent,
        _state: &mut AnnouncerSetup<B>,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}
