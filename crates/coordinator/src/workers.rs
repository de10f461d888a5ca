//! Listens to workers, and tells the dispatcher what they can take.

use crate::dispatch::DispatchMessage;
use crate::fleet::{Fleet, Roster};
use groundline_actors::{Handle, OwnedTask, TaskKind, spawn_task};
use groundline_bus::{JobBus, Presence, SubjectToken, keep_listening};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::marker::PhantomData;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often the fleet is counted, and told to the dispatcher: one that was started again knows nothing.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) enum WorkersMessage {
    /// A worker speaks.
    Heard(Presence),
    /// Time to count.
    Tick,
}

/// What it works with.
#[derive(Clone)]
pub(crate) struct WorkersSetup<B> {
    pub(crate) bus: B,
    pub(crate) model: SubjectToken,
    pub(crate) target_queue: Duration,
    pub(crate) dispatch: Handle<DispatchMessage>,
    /// Where everybody else reads it.
    pub(crate) fleet: watch::Sender<Fleet>,
}

pub(crate) struct Workers<B>(PhantomData<fn() -> B>);

impl<B> Workers<B> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

pub(crate) struct WorkersState {
    roster: Roster,
    dispatch: Handle<DispatchMessage>,
    fleet: watch::Sender<Fleet>,
    /// Ends with the actor.
    _reader: OwnedTask,
}

impl WorkersState {
    fn count(&mut self) {
        let fleet = self.roster.fleet(Instant::now());
        self.fleet.send_replace(fleet);
        // A dispatcher between two lives is told with the next count.
        let _ = self.dispatch.send(DispatchMessage::Fleet(fleet));
    }
}

impl<B: JobBus> Actor for Workers<B> {
    type Msg = WorkersMessage;
    type State = WorkersState;
    type Arguments = WorkersSetup<B>;

    async fn pre_start(
        &self,
        myself: ActorRef<WorkersMessage>,
        setup: WorkersSetup<B>,
    ) -> Result<WorkersState, ActorProcessingErr> {
        myself.send_interval(COUNT_INTERVAL, || WorkersMessage::Tick);
        let (bus, model) = (setup.bus, setup.model);
        let reader = async move {
            // An actor that ended has ended this task as well.
            let hand_on = |presence| drop(myself.send_message(WorkersMessage::Heard(presence)));
            keep_listening(bus.state(), || bus.presences(&model), hand_on).await;
        };
        Ok(WorkersState {
            roster: Roster::new(setup.target_queue, Instant::now()),
            dispatch: setup.dispatch,
            fleet: setup.fleet,
            _reader: spawn_task(TaskKind::Presence, reader),
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<WorkersMessage>,
        message: WorkersMessage,
        state: &mut WorkersState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WorkersMessage::Heard(presence) => {
                state.roster.note(presence, Instant::now());
                if state.fleet.borrow().ready_workers == 0 {
                    // The first worker ends a wait: that is told at once.
                    state.count();
                }
            }
            WorkersMessage::Tick => state.count(),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<WorkersMessage>,
        _event: SupervisionEvent,
        _state: &mut WorkersState,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}
