//! Admits checks, and looks after those that run.

use crate::check::{Check, CheckMessage, CheckSetup, Observed, Reply, Shared};
use crate::dispatch::DispatchMessage;
use crate::observer::Progress;
use crate::places::Places;
use crate::router::RouterMessage;
use crate::stream::Part;
use groundline_actors::{OwnedTask, TaskKind, spawn_task};
use groundline_bus::SubjectToken;
use groundline_telemetry::{AdmissionRefusal, Parent, record};
use groundline_types::{CheckRequest, Code, Problem, Reason};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio::time::Instant;

/// A request as it comes from a caller.
pub(crate) struct Admission {
    pub(crate) number: u64,
    pub(crate) tenant: SubjectToken,
    pub(crate) request: CheckRequest,
    pub(crate) part: Option<Arc<Part>>,
    pub(crate) progress: Option<watch::Sender<Progress>>,
    /// The span of the caller.
    pub(crate) parent: Parent,
    pub(crate) reply: Reply,
}

pub(crate) enum ChecksMessage {
    /// Check this, if there is room.
    Start(Box<Admission>),
    /// Tell one check.
    Tell(u64, CheckMessage),
    /// The router was started again.
    RouterLost,
    /// The dispatcher was started again.
    DispatchLost,
    /// Admit no more; reply once none runs.
    Refuse(oneshot::Sender<()>),
    /// Make every check answer with what it has.
    FinishAll(Reason),
    /// Fail, as a bug would.
    #[cfg(test)]
    Panic,
}

pub(crate) struct Checks;

pub(crate) struct ChecksState {
    shared: Arc<Shared>,
    running: BTreeMap<u64, ActorRef<CheckMessage>>,
    by_actor: BTreeMap<ActorId, (u64, SubjectToken)>,
    places: Places,
    refusing: bool,
    idle: Option<oneshot::Sender<()>>,
    /// Watches for new routers and dispatchers.
    _watch: OwnedTask,
}

impl ChecksState {
    async fn start(&mut self, admission: Admission, supervisor: &ActorRef<ChecksMessage>) {
        let Admission { number, tenant, request, part, progress, parent, reply } = admission;
        let permit = match self.permit(&tenant) {
            Ok(permit) => permit,
            Err(problem) => {
                let _ = reply.send(Err(problem));
                return;
            }
        };
        let deadline_ms =
            request.deadline_ms.unwrap_or_else(|| request.lane.unwrap_or_default().default_deadline_ms());
        let now = Instant::now();
        let setup = CheckSetup {
            observed: Observed::begin(&request, &parent),
            shared: Arc::clone(&self.shared),
            number,
            tenant: tenant.clone(),
            request: Arc::new(request),
            part,
            progress,
            deadline: now.checked_add(Duration::from_millis(deadline_ms)).unwrap_or(now + FAR_AWAY),
            permit: Some(Arc::new(permit)),
        };
        match Actor::spawn_linked(None, Check, (setup, reply), supervisor.get_cell()).await {
            Ok((actor, _)) => {
                self.places.take(&tenant);
                self.by_actor.insert(actor.get_id(), (number, tenant));
                self.running.insert(number, actor);
            }
            // The caller's reply is dropped with the check, which it reads as a failure.
            Err(error) => tracing::error!(%error, "a check did not start"),
        }
    }

    /// A place for a check of a tenant.
    fn permit(&mut self, tenant: &SubjectToken) -> Result<OwnedSemaphorePermit, Problem> {
        let limit = self.shared.options.max_checks;
        let (why, message) = if self.refusing {
            (AdmissionRefusal::Stopping, "the coordinator is stopping".to_owned())
        } else if !self.places.may_take(tenant, Instant::now()) {
            let message = "as many checks of this tenant run as may while others ask too; try again later";
            (AdmissionRefusal::Full, message.to_owned())
        } else {
            match Arc::clone(&self.shared.admission).try_acquire_owned() {
                Ok(permit) => return Ok(permit),
                Err(_) => {
                    let message = format!("{limit} checks run already, which is the limit; try again later");
                    (AdmissionRefusal::Full, message)
                }
            }
        };
        record::check_refused(why);
        Err(Problem::new(Code::OVERLOADED, message))
    }

    fn ended(&mut self, who: ActorId) {
        let Some((number, tenant)) = self.by_actor.remove(&who) else { return };
        self.running.remove(&number);
        self.places.leave(&tenant);
        // Both are told again of everything after a new start, so that a message into a gap is no loss.
        let _ = self.shared.router.send(RouterMessage::Forget(number));
        let _ = self.shared.dispatch.send(DispatchMessage::CheckGone(number));
        self.tell_idle();
    }

    fn tell_idle(&mut self) {
        if self.refusing
            && self.running.is_empty()
            && let Some(idle) = self.idle.take()
        {
            let _ = idle.send(());
        }
    }

    fn tell_all(&self, message: impl Fn() -> CheckMessage) {
        for check in self.running.values() {
            // A check that just ended needs no word.
            let _ = check.send_message(message());
        }
    }
}

/// A deadline beyond what the clock can say.
const FAR_AWAY: Duration = Duration::from_secs(365 * 24 * 3600);

impl Actor for Checks {
    type Msg = ChecksMessage;
    type State = ChecksState;
    type Arguments = Arc<Shared>;

    async fn pre_start(
        &self,
        myself: ActorRef<ChecksMessage>,
        shared: Arc<Shared>,
    ) -> Result<ChecksState, ActorProcessingErr> {
        // The checks of an earlier life ended with it.
        let _ = shared.router.send(RouterMessage::AllGone);
        let _ = shared.dispatch.send(DispatchMessage::AllGone);
        let (router, dispatch) = (shared.router.generations(), shared.dispatch.generations());
        let watch = spawn_task(TaskKind::Generations, watch_parts(router, dispatch, myself));
        Ok(ChecksState {
            places: Places::new(shared.options.max_checks, Instant::now()),
            shared,
            running: BTreeMap::new(),
            by_actor: BTreeMap::new(),
            refusing: false,
            idle: None,
            _watch: watch,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<ChecksMessage>,
        message: ChecksMessage,
        state: &mut ChecksState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ChecksMessage::Start(admission) => state.start(*admission, &myself).await,
            ChecksMessage::Tell(number, message) => {
                if let Some(check) = state.running.get(&number) {
                    // A check that just ended needs no word.
                    let _ = check.send_message(message);
                }
            }
            ChecksMessage::RouterLost => state.tell_all(|| CheckMessage::RouterLost),
            ChecksMessage::DispatchLost => state.tell_all(|| CheckMessage::DispatchLost),
            ChecksMessage::Refuse(reply) => {
                state.refusing = true;
                state.idle = Some(reply);
                state.tell_idle();
            }
            ChecksMessage::FinishAll(reason) => state.tell_all(|| CheckMessage::Finish(reason.clone())),
            #[cfg(test)]
            ChecksMessage::Panic => panic!("the test asked for it"),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<ChecksMessage>,
        event: SupervisionEvent,
        state: &mut ChecksState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(who, _, _) => state.ended(who.get_id()),
            SupervisionEvent::ActorFailed(who, error) => {
                tracing::error!(%error, "a check failed");
                state.ended(who.get_id());
            }
            _ => {}
        }
        Ok(())
    }
}

/// Ends with the actor. A generation that came between the start and the first look is seen as a change, which does no harm.
async fn watch_parts(
    mut router: watch::Receiver<u64>,
    mut dispatch: watch::Receiver<u64>,
    checks: ActorRef<ChecksMessage>,
) {
    loop {
        let message = tokio::select! {
            biased;
            changed = router.changed() => changed.map(|()| ChecksMessage::RouterLost),
            changed = dispatch.changed() => changed.map(|()| ChecksMessage::DispatchLost),
        };
        let Ok(message) = message else { return };
        if checks.send_message(message).is_err() {
            return;
        }
    }
}
