//! One supervisor for a fixed list of children.

use crate::{Condition, Handle, Reporter, RestartDecision, RestartHistory, RestartPolicy};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a child may take to stop before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Which children are started again when one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The one that failed.
    OneForOne,
    /// It and every later one of the list, which build on it.
    RestForOne,
}

type Started = Pin<Box<dyn Future<Output = Result<ActorCell, SpawnErr>> + Send>>;

/// How to start one child.
pub struct ChildSpec {
    name: &'static str,
    start: Box<dyn Fn(ActorCell) -> Started + Send + Sync>,
}

impl ChildSpec {
    /// A child that `make` makes, at the first start and at each restart, and that is given the role `handle`.
    pub fn new<A: Actor>(
        name: &'static str,
        handle: Handle<A::Msg>,
        make: impl Fn() -> (A, A::Arguments) + Send + Sync + 'static,
    ) -> Self {
        let start = move |supervisor: ActorCell| -> Started {
            let (handle, (actor, arguments)) = (handle.clone(), make());
            Box::pin(async move {
                let (actor, _) = Actor::spawn_linked(None, actor, arguments, supervisor).await?;
                let cell = actor.get_cell();
                handle.assign(actor);
                Ok(cell)
            })
        };
        Self { name, start: Box::new(start) }
    }
}

impl fmt::Debug for ChildSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a [`Supervisor`] looks after, and how.
#[derive(Debug)]
pub struct SupervisorSpec {
    /// The children in order of start; they are stopped in the opposite order.
    pub children: Vec<ChildSpec>,
    /// Which of them are started again with one that failed.
    pub strategy: Strategy,
    /// How many failures are too many.
    pub policy: RestartPolicy,
    /// Where a meltdown is reported.
    pub health: Reporter,
}

/// The root of a process's actors: starts its children, starts them again when one ends in any way, and gives up when that
/// happens too often. It does nothing else, so it does not fail itself.
#[derive(Debug)]
pub struct Supervisor;

/// What a [`Supervisor`] is told.
#[derive(Debug)]
pub enum SupervisorMessage {
    /// Start the children. Sent once by [`Supervisor::start`].
    Start(oneshot::Sender<Result<(), SpawnErr>>),
    /// Stop the children, last first, each after the message that it is handling, then the supervisor.
    Stop(oneshot::Sender<()>),
}

/// What a [`Supervisor`] remembers.
#[derive(Debug)]
pub struct SupervisorState {
    spec: SupervisorSpec,
    running: Vec<Option<ActorCell>>,
    history: RestartHistory,
    started_at: Instant,
}

impl Supervisor {
    /// Starts a supervisor and all its children.
    ///
    /// # Errors
    /// Where one of them does not start; those before it are stopped.
    pub async fn start(spec: SupervisorSpec) -> Result<ActorRef<SupervisorMessage>, SpawnErr> {
        let (root, _) = Actor::spawn(None, Supervisor, spec).await?;
        let (reply, answer) = oneshot::channel();
        // A supervisor that ended before the message came drops `reply`, which is the same failure.
        let _ = root.send_message(SupervisorMessage::Start(reply));
        answer.await.unwrap_or_else(|_| Err(SpawnErr::ActorAlreadyStarted)).map(|()| root)
    }
}

impl SupervisorState {
    async fn start_from(&mut self, first: usize, supervisor: &ActorCell) -> Result<(), SpawnErr> {
        for index in first..self.spec.children.len() {
            if self.running[index].is_none() {
                self.running[index] = Some((self.spec.children[index].start)(supervisor.clone()).await?);
            }
        }
        Ok(())
    }

    async fn stop_from(&mut self, first: usize) {
        for index in (first..self.running.len()).rev() {
            // Taken out first: the event of its end must not count as a failure.
            if let Some(child) = self.running[index].take()
                && child.stop_and_wait(None, Some(STOP_TIMEOUT)).await.is_err()
            {
                child.kill();
            }
        }
    }

    fn index_of(&self, who: ActorId) -> Option<usize> {
        self.running.iter().position(|child| child.as_ref().is_some_and(|child| child.get_id() == who))
    }

    /// Brings the children back after `failed` ended. False: too many failures.
    async fn recover(&mut self, failed: usize, supervisor: &ActorCell) -> bool {
        self.running[failed] = None;
        loop {
            let now = self.started_at.elapsed();
            if self.spec.policy.decide(&mut self.history, now) == RestartDecision::Meltdown {
                return false;
            }
            if self.spec.strategy == Strategy::RestForOne {
                self.stop_from(failed + 1).await;
            }
            match self.start_from(0, supervisor).await {
                Ok(()) => return true,
                Err(error) => tracing::error!(%error, "a child did not start again"),
            }
        }
    }
}

impl Actor for Supervisor {
    type Msg = SupervisorMessage;
    type State = SupervisorState;
    type Arguments = SupervisorSpec;

    async fn pre_start(
        &self,
        _myself: ActorRef<SupervisorMessage>,
        spec: SupervisorSpec,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        let running = spec.children.iter().map(|_| None).collect();
        Ok(SupervisorState { spec, running, history: RestartHistory::default(), started_at: Instant::now() })
    }

    async fn handle(
        &self,
        myself: ActorRef<SupervisorMessage>,
        message: SupervisorMessage,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SupervisorMessage::Start(reply) => {
                let started = state.start_from(0, &myself.get_cell()).await;
                if started.is_ok() {
                    state.spec.health.report(Condition::Idle);
                } else {
                    state.stop_from(0).await;
                    myself.stop(None);
                }
                let _ = reply.send(started);
            }
            SupervisorMessage::Stop(reply) => {
                state.stop_from(0).await;
                myself.stop(None);
                let _ = reply.send(());
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<SupervisorMessage>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        let (who, why) = match event {
            SupervisionEvent::ActorFailed(who, error) => (who, error.to_string()),
            SupervisionEvent::ActorTerminated(who, _, reason) => {
                (who, reason.unwrap_or_else(|| "ended".to_owned()))
            }
            _ => return Ok(()),
        };
        let Some(failed) = state.index_of(who.get_id()) else { return Ok(()) };
        tracing::error!(
            child = state.spec.children[failed].name,
            why,
            "an actor failed and is started again"
        );
        if !state.recover(failed, &myself.get_cell()).await {
            tracing::error!("too many failures: the supervisor gives up");
            state.spec.health.report(Condition::Failed("too many failures"));
            state.stop_from(0).await;
            myself.stop(None);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
