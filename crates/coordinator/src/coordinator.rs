//! The tree of one coordinator, and the face that callers see.

use crate::CoordinatorOptions;
use crate::cache::ScoreCache;
use crate::cascade::validate_policies;
use crate::check::{CheckMessage, Shared};
use crate::checks::{Admission, Checks, ChecksMessage};
use crate::dispatch::{Dispatch, DispatchSetup};
use crate::fleet::Fleet;
use crate::observer::{CancelToken, CheckObserver};
use crate::router::{ResultRouter, RouterMessage};
use crate::stream::Part;
use crate::workers::{Workers, WorkersSetup};
use groundline_actors::{
    ChildSpec, Handle, HealthBoard, RestartPolicy, Strategy, Supervisor, SupervisorMessage, SupervisorSpec,
};
use groundline_bus::{Incarnation, JobBus, SubjectToken};
use groundline_judge::Judge;
use groundline_telemetry::Parent;
use groundline_types::{CheckRequest, CheckResult, Code, ModelFacts, Problem, Reason};
use ractor::ActorRef;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::Instant;

/// More failures than this within [`MELTDOWN_WINDOW`] end the coordinator.
const MAX_RESTARTS: usize = 5;
const MELTDOWN_WINDOW: Duration = Duration::from_secs(60);
/// How long checks that were told to finish may take, at a stop.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);
/// What the whole coordinator reports its health as.
const ROOT_COMPONENT: &str = "coordinator";
/// The tenant of callers that name none.
const ANONYMOUS: &str = "anonymous";

/// Takes responses from text to verdict. Clones are the same coordinator; it ends with the last of them.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    root: ActorRef<SupervisorMessage>,
    pub(crate) checks: Handle<ChecksMessage>,
    pub(crate) shared: Arc<Shared>,
    health: HealthBoard,
    fleet: watch::Sender<Fleet>,
    next_check: AtomicU64,
    anonymous: SubjectToken,
}

impl Coordinator {
    /// Starts a coordinator on a bus, for the model with these facts. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] for settings out of range; [`Code::BUS_UNAVAILABLE`] where the bus gives no results.
    pub async fn start<B: JobBus>(
        bus: B,
        facts: ModelFacts,
        options: CoordinatorOptions,
    ) -> Result<Self, Problem> {
        Self::start_with_judge(bus, facts, options, None).await
    }

    /// The same with a judge for the methods that need one. The judge's own limits hold for all checks together.
    ///
    /// # Errors
    /// As [`Coordinator::start`].
    pub async fn start_with_judge<B: JobBus>(
        bus: B,
        facts: ModelFacts,
        options: CoordinatorOptions,
        judge: Option<Judge>,
    ) -> Result<Self, Problem> {
        options.detectors.validate()?;
        validate_policies(&options.policies)?;
        let health = HealthBoard::default();
        let (router, dispatch, me) = (Handle::vacant(), Handle::vacant(), Incarnation::random());
        let setup = DispatchSetup {
            bus: bus.clone(),
            me,
            model: SubjectToken::from_name(&facts.id.revision),
            credit_tokens: options.credit_tokens,
            resend_after: options.resend_after,
            max_attempts: options.max_attempts.max(1),
            no_worker_timeout: options.no_worker_timeout,
        };
        let fleet = watch::Sender::new(Fleet::unknown(Instant::now()));
        let workers = WorkersSetup {
            bus: bus.clone(),
            model: SubjectToken::from_name(&facts.id.revision),
            target_queue: options.target_queue,
            dispatch: dispatch.clone(),
            fleet: fleet.clone(),
        };
        let admission = Arc::new(Semaphore::new(options.max_checks.min(Semaphore::MAX_PERMITS)));
        let shared = Arc::new(Shared {
            me,
            model: SubjectToken::from_name(&facts.id.revision),
            facts,
            cache: Arc::new(ScoreCache::new(options.cache_bytes)),
            options,
            judge,
            judge_spending: Default::default(),
            router: router.clone(),
            dispatch: dispatch.clone(),
            fleet: fleet.subscribe(),
            admission,
        });
        let (checks, for_checks) = (Handle::vacant(), Arc::clone(&shared));
        let for_router = dispatch.clone();
        let children = vec![
            ChildSpec::new("router", router.clone(), move || {
                (ResultRouter::new(), (bus.clone(), me, for_router.clone()))
            }),
            ChildSpec::new("dispatch", dispatch, move || (Dispatch::new(), setup.clone())),
            ChildSpec::new("workers", Handle::vacant(), move || (Workers::new(), workers.clone())),
            ChildSpec::new("checks", checks.clone(), move || (Checks, Arc::clone(&for_checks))),
        ];
        let spec = SupervisorSpec {
            children,
            strategy: Strategy::OneForOne,
            policy: RestartPolicy { max_restarts: MAX_RESTARTS, within: MELTDOWN_WINDOW },
            health: health.component(ROOT_COMPONENT),
        };
        let root = Supervisor::start(spec)
            .await
            .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start a coordinator: {error}")))?;
        let inner = Inner {
            root,
            checks,
            shared,
            health,
            fleet,
            next_check: AtomicU64::new(1),
            anonymous: SubjectToken::from_name(ANONYMOUS),
        };
        wait_for_results(&router).await?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Checks a response. Dropping the future stops the check.
    ///
    /// # Errors
    /// A request that cannot be checked as asked (`GL1xxx`), too many checks ([`Code::OVERLOADED`]), or a bug. What fails
    /// later, and a deadline however early, makes sentences unchecked in the result.
    pub async fn check(&self, request: CheckRequest) -> Result<CheckResult, Problem> {
        self.check_with(request, CheckObserver::default()).await
    }

    /// Checks a response, observed; otherwise as [`Coordinator::check`].
    ///
    /// # Errors
    /// As [`Coordinator::check`].
    pub async fn check_with(
        &self,
        request: CheckRequest,
        observer: CheckObserver,
    ) -> Result<CheckResult, Problem> {
        self.check_for(self.inner.anonymous.clone(), request, observer).await
    }

    /// Checks a response for a tenant: tenants share workers fairly, and no scores.
    ///
    /// # Errors
    /// As [`Coordinator::check_with`].
    pub async fn check_for(
        &self,
        tenant: SubjectToken,
        request: CheckRequest,
        observer: CheckObserver,
    ) -> Result<CheckResult, Problem> {
        request.validate(&self.inner.shared.options.limits)?;
        self.run(tenant, request, observer, None).await
    }

    /// Settings.
    pub(crate) fn options(&self) -> &CoordinatorOptions {
        &self.inner.shared.options
    }

    /// Checks a validated request, or a part of one.
    pub(crate) async fn run(
        &self,
        tenant: SubjectToken,
        request: CheckRequest,
        observer: CheckObserver,
        part: Option<Arc<Part>>,
    ) -> Result<CheckResult, Problem> {
        let number = self.inner.next_check.fetch_add(1, Ordering::Relaxed);
        let (reply, mut answer) = oneshot::channel();
        let parent = Parent::current();
        let admission =
            Admission { number, tenant, request, part, progress: observer.progress, parent, reply };
        if self.inner.checks.send(ChecksMessage::Start(Box::new(admission))).is_err() {
            return Err(Problem::new(Code::INTERNAL, "the coordinator has stopped"));
        }
        let _stop_with_the_future = Caller { checks: self.inner.checks.clone(), number };
        let cancel = observer.cancel.unwrap_or_default();
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = CancelToken::cancelled(&cancel) => {
                let reason = Reason::new(Code::CANCELLED, "the check was cancelled");
                self.tell(number, CheckMessage::Finish(reason));
                answer.await
            }
        };
        answered.unwrap_or_else(|_| Err(Problem::new(Code::INTERNAL, "the check failed; this is a bug")))
    }

    /// How its parts are.
    pub fn health(&self) -> &HealthBoard {
        &self.inner.health
    }

    /// Waits until the coordinator has given up after too many failures, and says why; the process should end with
    /// [`Code::exit_status`] of it. Callers that still wait get an error.
    pub fn failed(&self) -> impl Future<Output = Problem> + Send + 'static {
        let board = self.inner.health.clone();
        async move { Problem::new(Code::INTERNAL, board.failed(ROOT_COMPONENT).await) }
    }

    /// Workers that serve the model, were heard of within the last seconds, and take jobs. Without any, checks wait for one up
    /// to their deadline, or as long as [`CoordinatorOptions::no_worker_timeout`] says: a reason not to be ready.
    pub fn ready_workers(&self) -> usize {
        self.inner.fleet.borrow().ready_workers
    }

    /// Stops in good order: admits no check, lets those that run finish, makes them answer with what they have after the stop
    /// timeout. The bus stays open: it belongs to whoever opened it.
    pub async fn stop(self) {
        let (reply, mut idle) = oneshot::channel();
        if self.inner.checks.send(ChecksMessage::Refuse(reply)).is_ok()
            && tokio::time::timeout(self.inner.shared.options.stop_timeout, &mut idle).await.is_err()
        {
            let reason = Reason::new(Code::CANCELLED, "the coordinator was stopped");
            if self.inner.checks.send(ChecksMessage::FinishAll(reason)).is_ok()
                && tokio::time::timeout(FINISH_TIMEOUT, idle).await.is_err()
            {
                tracing::warn!("some checks did not finish in time");
            }
        }
        let (reply, stopped) = oneshot::channel();
        if self.inner.root.send_message(SupervisorMessage::Stop(reply)).is_ok() {
            // A root that ends otherwise has stopped too.
            let _ = stopped.await;
        }
    }

    fn tell(&self, number: u64, message: CheckMessage) {
        // A coordinator that ends drops the reply, which ends the wait.
        let _ = self.inner.checks.send(ChecksMessage::Tell(number, message));
    }
}

/// Jobs may be sent only once their results would be received.
async fn wait_for_results(router: &Handle<RouterMessage>) -> Result<(), Problem> {
    let (reply, subscribed) = oneshot::channel();
    let asked = router.send(RouterMessage::WhenSubscribed(reply)).is_ok();
    if asked && subscribed.await.is_ok() {
        return Ok(());
    }
    Err(Problem::new(Code::BUS_UNAVAILABLE, "the bus gives no results"))
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.root.stop(None);
    }
}

/// Tells the check when its caller goes away.
struct Caller {
    pub(crate) checks: Handle<ChecksMessage>,
    number: u64,
}

impl Drop for Caller {
    fn drop(&mut self) {
        // A check that has answered, or a coordinator that has stopped, needs no word.
        let _ = self.checks.send(ChecksMessage::Tell(self.number, CheckMessage::CallerGone));
    }
}

#[cfg(test)]
mod tests;
