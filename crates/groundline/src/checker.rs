//! The face of the library: one call from a request to a result.

mod stream;

pub use stream::StreamEvents;

use crate::any_bus::AnyBus;
use crate::ensemble::{ensemble_named, ensemble_of};
use crate::fingerprint::config_hash;
use crate::judge::judge_of;
#[cfg(feature = "cluster")]
use crate::models::read_model_facts;
use crate::readiness::{NotReady, Remark, not_ready, remarks};
use crate::{Config, load_engine};
use groundline_actors::ComponentHealth;
#[cfg(feature = "cluster")]
use groundline_actors::{TaskKind, run_blocking};
#[cfg(feature = "cluster")]
use groundline_bus::NatsBus;
use groundline_bus::{JobBus, MemoryBus, MemoryBusOptions, SubjectToken};
use groundline_coordinator::{CheckObserver, Coordinator, CoordinatorOptions};
use groundline_inference::Engine;
use groundline_judge::Judge;
#[cfg(feature = "cluster")]
use groundline_types::Code;
use groundline_types::{CheckRequest, CheckResult, ModelFacts, Problem};
use groundline_verdict::ensemble::EnsembleUse;
use groundline_worker::Worker;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// The tenant of callers that name none.
const ANONYMOUS_TENANT: &str = "anonymous";
/// The engine that results name where other processes compute.
#[cfg(feature = "cluster")]
const CLUSTER_ENGINE: &str = "cluster";

/// Checks responses, with coordinator, worker and model in this process.
///
/// Clones are the same checker and share its cache. Any number of checks may run at once: their pairs share batches. It ends
/// with its last clone, or with [`Checker::shutdown`].
///
/// The actors start with the first check, on the tokio runtime that it runs on; use a checker on one runtime only.
#[derive(Debug, Clone)]
pub struct Checker {
    inner: Arc<Inner>,
}

struct Inner {
    facts: ModelFacts,
    engine_name: String,
    config: Config,
    config_hash: String,
    ensemble: EnsembleUse,
    workers: Workers,
    judge: Option<Judge>,
    parts: OnceCell<Parts>,
}

/// Where the work is done.
enum Workers {
    /// In this process, by this engine.
    Here(Arc<dyn Engine>),
    /// In other processes, reached over a broker.
    #[cfg(feature = "cluster")]
    Cluster(NatsBus),
}

/// What runs.
#[derive(Debug)]
struct Parts {
    coordinator: Coordinator,
    /// The worker of this process, where there is one.
    worker: Mutex<Option<Worker>>,
    bus: AnyBus,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("engine", &self.engine_name)
            .field("config_hash", &self.config_hash)
            .finish_non_exhaustive()
    }
}

impl Checker {
    /// A checker with the model that `config` names, computed in this process. Blocks while the model loads: from a fraction
    /// of a second to many seconds, by its size.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`](groundline_types::Code::INVALID_CONFIG); errors of [`load_engine`].
    pub fn embedded(config: Config) -> Result<Self, Problem> {
        config.validate()?;
        let engine = load_engine(&config)?;
        let ensemble = ensemble_of(&config, engine.facts())?;
        Self::on_engine(engine, config, ensemble)
    }

    /// A checker on any engine, for tests and for engines of one's own. The section `model` of `config` is not used, so that an ensemble
    /// is used only where `ensemble.profile` names its file.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`](groundline_types::Code::INVALID_CONFIG);
    /// [`Code::ENSEMBLE_PROFILE`](groundline_types::Code::ENSEMBLE_PROFILE).
    pub fn with_engine(engine: Arc<dyn Engine>, config: Config) -> Result<Self, Problem> {
        config.validate()?;
        let ensemble = ensemble_named(&config, engine.facts())?;
        Self::on_engine(engine, config, ensemble)
    }

    fn on_engine(engine: Arc<dyn Engine>, config: Config, ensemble: EnsembleUse) -> Result<Self, Problem> {
        let (facts, name) = (engine.facts().clone(), engine.name().to_owned());
        Self::assemble(facts, name, Workers::Here(engine), config, ensemble)
    }

    /// A checker whose work is done by the workers of a cluster. It reads the model folder that `config` names for its tokenizer
    /// and its revision, and never its weights; workers with the same folder answer.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`](groundline_types::Code::INVALID_CONFIG); errors of [`load_engine`];
    /// [`Code::BUS_UNAVAILABLE`](groundline_types::Code::BUS_UNAVAILABLE) and its neighbours where the broker cannot be reached or
    /// used.
    #[cfg(feature = "cluster")]
    pub async fn connect(config: Config) -> Result<Self, Problem> {
        config.validate()?;
        let for_model = config.clone();
        let facts = run_blocking(TaskKind::LoadModel, move || read_model_facts(&for_model)).await;
        let facts = facts.ok_or_else(|| Problem::new(Code::INTERNAL, "reading the model panicked"))??;
        let ensemble = ensemble_of(&config, &facts)?;
        let bus = NatsBus::connect(config.nats.clone()).await?;
        Self::assemble(facts, CLUSTER_ENGINE.to_owned(), Workers::Cluster(bus), config, ensemble)
    }

    /// The broker, where the work is done by a cluster.
    #[cfg(feature = "cluster")]
    pub(crate) fn broker(&self) -> Option<&NatsBus> {
        match &self.inner.workers {
            Workers::Here(_) => None,
            Workers::Cluster(bus) => Some(bus),
        }
    }

    fn assemble(
        facts: ModelFacts,
        engine_name: String,
        workers: Workers,
        config: Config,
        ensemble: EnsembleUse,
    ) -> Result<Self, Problem> {
        let config_hash = config_hash(&config, &facts, &ensemble)?;
        let judge = judge_of(&config)?;
        let parts = OnceCell::new();
        let inner = Inner { facts, engine_name, config, config_hash, ensemble, workers, judge, parts };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts the actors now instead of with the first check, so that [`Checker::readiness`] can say that they run.
    ///
    /// # Errors
    /// [`Code::INTERNAL`](groundline_types::Code::INTERNAL) where the system gives no thread,
    /// [`Code::BUS_UNAVAILABLE`](groundline_types::Code::BUS_UNAVAILABLE) where the bus gives no results.
    pub async fn start(&self) -> Result<(), Problem> {
        self.inner.parts.get_or_try_init(|| self.inner.start()).await.map(|_| ())
    }

    /// Checks a response against its sources. Dropping the future stops the check.
    ///
    /// What cannot be scored (a deadline, an error of the engine) does not fail the call: those sentences are unchecked in the
    /// result, with a reason, and `coverage` is below 1.
    ///
    /// # Errors
    /// A request that cannot be checked as asked has a code `GL1xxx`:
    /// [`EMPTY_RESPONSE`](groundline_types::Code::EMPTY_RESPONSE), [`EMPTY_SOURCE`](groundline_types::Code::EMPTY_SOURCE),
    /// [`NUL_BYTE`](groundline_types::Code::NUL_BYTE), [`TOO_LARGE`](groundline_types::Code::TOO_LARGE),
    /// [`UNKNOWN_METHOD`](groundline_types::Code::UNKNOWN_METHOD),
    /// [`INVALID_FIELD`](groundline_types::Code::INVALID_FIELD) (two sources of one id, a profile). Too many checks at once:
    /// [`OVERLOADED`](groundline_types::Code::OVERLOADED). Anything else is a bug, such as a worker that failed too often to be
    /// started again: [`INTERNAL`](groundline_types::Code::INTERNAL).
    pub async fn check(&self, request: CheckRequest) -> Result<CheckResult, Problem> {
        self.check_with(request, CheckObserver::default()).await
    }

    /// The same, observed: `observer` receives how far the check is, and can end it early with what is done by then.
    ///
    /// # Errors
    /// As [`Checker::check`].
    pub async fn check_with(
        &self,
        request: CheckRequest,
        observer: CheckObserver,
    ) -> Result<CheckResult, Problem> {
        self.check_for(ANONYMOUS_TENANT, request, observer).await
    }

    /// The same for a tenant: tenants share the workers fairly, and no scores. Anything may be a tenant's name; a name that is
    /// no token of the bus is hashed.
    ///
    /// # Errors
    /// As [`Checker::check`].
    pub async fn check_for(
        &self,
        tenant: &str,
        request: CheckRequest,
        observer: CheckObserver,
    ) -> Result<CheckResult, Problem> {
        // Refused without starting anything.
        request.validate(&self.inner.config.limits.request())?;
        let parts = self.inner.parts.get_or_try_init(|| self.inner.start()).await?;
        let failed = parts.worker.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Worker::failed);
        let check = parts.coordinator.check_for(SubjectToken::from_name(tenant), request, observer);
        // A worker that was taken away by a shutdown did not fail: the coordinator answers for that.
        let Some(failed) = failed else { return check.await };
        tokio::select! {
            biased;
            why = failed => Err(gave_up(why)),
            answer = check => answer,
        }
    }

    /// How the parts in this process are, by name; empty before anything runs.
    pub fn components(&self) -> BTreeMap<&'static str, ComponentHealth> {
        let Some(parts) = self.inner.parts.get() else { return BTreeMap::new() };
        let mut components = parts.coordinator.health().all();
        if let Some(worker) = parts.worker.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            components.extend(worker.health().all());
        }
        components
    }

    /// Waits until a part of it has given up after too many failures, and says why: nothing is checked any more, and the process
    /// should end with [`Code::exit_status`](groundline_types::Code::exit_status). Waits for ever where all is well.
    pub fn failed(&self) -> impl Future<Output = Problem> + Send + 'static {
        let inner = Arc::clone(&self.inner);
        async move {
            let Some(parts) = inner.parts.get() else { return std::future::pending().await };
            let coordinator = parts.coordinator.failed();
            let worker =
                parts.worker.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Worker::failed);
            // Held no longer: waiting must not keep a checker alive that everyone else has dropped.
            drop(inner);
            match worker {
                None => coordinator.await,
                Some(worker) => tokio::select! {
                    problem = coordinator => problem,
                    problem = worker => problem,
                },
            }
        }
    }

    /// What keeps this checker from taking work now; empty when it is ready.
    pub fn readiness(&self) -> Vec<NotReady> {
        let Some(parts) = self.inner.parts.get() else {
            return vec![NotReady { component: "checker", reason: "it has not started" }];
        };
        let mut reasons = not_ready(&self.components(), Instant::now());
        reasons.extend(parts.bus.not_ready());
        let is_alone = parts.worker.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        if is_alone && parts.coordinator.ready_workers() == 0 {
            reasons.push(NotReady { component: "workers", reason: "no live worker serves the model" });
        }
        reasons
    }

    /// What should be known of it, though it is not in the way of taking work.
    pub fn remarks(&self) -> Vec<Remark> {
        match &self.inner.workers {
            Workers::Here(engine) => remarks(&**engine),
            #[cfg(feature = "cluster")]
            Workers::Cluster(_) => Vec::new(),
        }
    }

    /// What there is to know of the model.
    pub fn facts(&self) -> &ModelFacts {
        &self.inner.facts
    }

    /// What computes, such as `cpu-avx512-f32`.
    pub fn engine_name(&self) -> &str {
        &self.inner.engine_name
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Hash of every setting that can change a result, as results carry it.
    pub fn config_hash(&self) -> &str {
        &self.inner.config_hash
    }

    /// Stops in good order, for all clones: admits no further check, lets running ones finish, and makes them answer with what
    /// they have after `coordinator.stop_timeout_ms`.
    pub async fn shutdown(self) {
        let Some(parts) = self.inner.parts.get() else { return };
        parts.coordinator.clone().stop().await;
        let worker = parts.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            worker.drain().await;
        }
        parts.bus.clone().drain().await;
    }
}

impl Inner {
    async fn start(&self) -> Result<Parts, Problem> {
        match &self.workers {
            Workers::Here(engine) => {
                let bus = MemoryBus::new(MemoryBusOptions::default());
                let options = self.config.worker.options();
                let worker = Worker::start(bus.clone(), Arc::clone(engine), options).await?;
                let mut options = self.coordinator_options();
                // This process loses no job without a word, so a slow machine is waited for until the deadline.
                options.max_attempts = u32::MAX;
                let coordinator = self.start_coordinator(bus.clone(), options).await?;
                Ok(Parts { coordinator, worker: Mutex::new(Some(worker)), bus: AnyBus::Memory(bus) })
            }
            #[cfg(feature = "cluster")]
            Workers::Cluster(bus) => {
                let coordinator = self.start_coordinator(bus.clone(), self.coordinator_options()).await?;
                Ok(Parts { coordinator, worker: Mutex::new(None), bus: AnyBus::Nats(bus.clone()) })
            }
        }
    }

    fn coordinator_options(&self) -> CoordinatorOptions {
        let mut options = self.config.coordinator_options(&self.config_hash, &self.engine_name);
        options.ensemble = self.ensemble.clone();
        options
    }

    async fn start_coordinator<B: JobBus>(
        &self,
        bus: B,
        options: CoordinatorOptions,
    ) -> Result<Coordinator, Problem> {
        Coordinator::start_with_judge(bus, self.facts.clone(), options, self.judge.clone()).await
    }
}

/// Why nothing is scored any more.
fn gave_up(why: Problem) -> Problem {
    let Problem { code, message } = why;
    let message = format!("the worker has given up ({message}), so that nothing can be scored any more");
    Problem::new(code, message)
}

#[cfg(test)]
mod tests;
