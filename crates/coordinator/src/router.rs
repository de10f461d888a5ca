//! Brings results to the checks that wait for them.

use crate::check::CheckMessage;
use crate::dispatch::DispatchMessage;
use groundline_actors::{Handle, OwnedTask, TaskKind, spawn_task};
use groundline_bus::{Incarnation, JobBus, JobResult, keep_listening};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use tokio::sync::oneshot;

pub(crate) enum RouterMessage {
    /// Results of jobs of this check go there.
    Register(u64, ActorRef<CheckMessage>),
    /// Nobody waits for this check's results any more.
    Forget(u64),
    /// No check is left.
    AllGone,
    /// A result from the bus.
    Result(JobResult),
    /// Results are being received from now on. After the first time: some may be lost.
    Subscribed,
    /// The bus gives no results, or no more.
    Ended,
    /// Reply once they are; the reply is dropped where they never will be.
    WhenSubscribed(oneshot::Sender<()>),
    /// Fail, as a bug would.
    #[cfg(test)]
    Panic,
}

pub(crate) struct ResultRouter<B>(PhantomData<fn() -> B>);

impl<B> ResultRouter<B> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subscription {
    Pending,
    Open,
    Ended,
}

pub(crate) struct RouterState {
    checks: BTreeMap<u64, ActorRef<CheckMessage>>,
    subscription: Subscription,
    waiting: Vec<oneshot::Sender<()>>,
    dispatch: Handle<DispatchMessage>,
    /// Ends with the actor, so that the next one's subscription takes its place.
    _reader: OwnedTask,
}

impl<B: JobBus> Actor for ResultRouter<B> {
    type Msg = RouterMessage;
    type State = RouterState;
    type Arguments = (B, Incarnation, Handle<DispatchMessage>);

    async fn pre_start(
        &self,
        myself: ActorRef<RouterMessage>,
        (bus, me, dispatch): (B, Incarnation, Handle<DispatchMessage>),
    ) -> Result<RouterState, ActorProcessingErr> {
        let reader = spawn_task(TaskKind::Results, read_results(bus, me, myself));
        Ok(RouterState {
            checks: BTreeMap::new(),
            subscription: Subscription::Pending,
            waiting: Vec::new(),
            dispatch,
            _reader: reader,
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<RouterMessage>,
        message: RouterMessage,
        state: &mut RouterState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RouterMessage::Register(check, actor) => {
                state.checks.insert(check, actor);
            }
            RouterMessage::Forget(check) => {
                state.checks.remove(&check);
            }
            RouterMessage::AllGone => state.checks.clear(),
            RouterMessage::Result(result) => {
                let id = result.id;
                match state.checks.get(&id.check) {
                    Some(check) => {
                        // A check that just ended needs no result.
                        let _ = check.send_message(CheckMessage::JobResult(result));
                    }
                    None => tracing::debug!(job = %id, "a result came after its check had ended"),
                }
                // Wanted or not, its credits are free. A dispatcher between two lives counts anew.
                let _ = state.dispatch.send(DispatchMessage::Settled(id));
            }
            RouterMessage::Subscribed => {
                let is_first = state.subscription == Subscription::Pending;
                state.subscription = Subscription::Open;
                for waiting in state.waiting.drain(..) {
                    let _ = waiting.send(());
                }
                if !is_first {
                    for check in state.checks.values() {
                        // A check that just ended needs no word.
                        let _ = check.send_message(CheckMessage::ResultsLost);
                    }
                }
            }
            RouterMessage::Ended => {
                state.subscription = Subscription::Ended;
                state.waiting.clear();
            }
            RouterMessage::WhenSubscribed(reply) => match state.subscription {
                Subscription::Pending => state.waiting.push(reply),
                Subscription::Open => {
                    let _ = reply.send(());
                }
                Subscription::Ended => {}
            },
            #[cfg(test)]
            RouterMessage::Panic => panic!("the test asked for it"),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<RouterMessage>,
        _event: SupervisionEvent,
        _state: &mut RouterState,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

/// Reads results, and subscribes again with every new connection. Ends with the bus, or with the router.
async fn read_results<B: JobBus>(bus: B, me: Incarnation, router: ActorRef<RouterMessage>) {
    // A router that ended has ended this task as well, so a refusal needs no answer.
    let tell = |message| drop(router.send_message(message));
    let open = async || {
        let results = bus.results(me).await;
        if results.is_ok() {
            tell(RouterMessage::Subscribed);
        }
        results
    };
    keep_listening(bus.state(), open, |result| tell(RouterMessage::Result(result))).await;
    tell(RouterMessage::Ended);
}
