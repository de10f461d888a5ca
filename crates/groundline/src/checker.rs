//! The face of the library: one call from a request to a result.

use crate::fingerprint::config_hash;
use crate::{Config, load_model};
use groundline_bus::{JobBus, MemoryBus, MemoryBusOptions};
use groundline_coordinator::{CheckObserver, Coordinator};
use groundline_inference::Engine;
use groundline_types::{CheckRequest, CheckResult, Code, ModelFacts, Problem};
use groundline_worker::Worker;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

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
    engine: Arc<dyn Engine>,
    config: Config,
    config_hash: String,
    parts: OnceCell<Parts>,
}

/// What runs.
#[derive(Debug)]
struct Parts {
    coordinator: Coordinator,
    worker: Mutex<Option<Worker>>,
    bus: MemoryBus,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("engine", &self.engine.name())
            .field("config_hash", &self.config_hash)
            .finish_non_exhaustive()
    }
}

impl Checker {
    /// A checker with the model that `config` names, computed in this process. Blocks while the model loads: from a fraction
    /// of a second to many seconds, by its size.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`](groundline_types::Code::INVALID_CONFIG); errors of [`load_model`].
    pub fn embedded(config: Config) -> Result<Self, Problem> {
        config.validate()?;
        let model = load_model(&config)?;
        Self::with_engine(Arc::new(model), config)
    }

    /// A checker on any engine, for tests and for engines of one's own. The section `model` of `config` is not used.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`](groundline_types::Code::INVALID_CONFIG).
    pub fn with_engine(engine: Arc<dyn Engine>, config: Config) -> Result<Self, Problem> {
        config.validate()?;
        let config_hash = config_hash(&config, engine.facts())?;
        Ok(Self { inner: Arc::new(Inner { engine, config, config_hash, parts: OnceCell::new() }) })
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
        // Refused without starting anything.
        request.validate(&self.inner.config.limits.request())?;
        let parts = self.inner.parts.get_or_try_init(|| self.inner.start()).await?;
        let failed = parts.worker.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Worker::failed);
        let check = parts.coordinator.check_with(request, observer);
        // A worker that was taken away by a shutdown did not fail: the coordinator answers for that.
        let Some(failed) = failed else { return check.await };
        tokio::select! {
            biased;
            why = failed => {
                let message = format!("the worker has given up ({why}), so that nothing can be scored any more");
                Err(Problem::new(Code::INTERNAL, message))
            }
            answer = check => answer,
        }
    }

    /// What there is to know of the model.
    pub fn facts(&self) -> &ModelFacts {
        self.inner.engine.facts()
    }

    /// What computes, such as `cpu-avx512-f32`.
    pub fn engine_name(&self) -> &str {
        self.inner.engine.name()
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
        // A bus in memory has nothing to send any more; that it is closed already is what is wanted.
        let _ = parts.bus.clone().drain().await;
    }
}

impl Inner {
    async fn start(&self) -> Result<Parts, Problem> {
        let bus = MemoryBus::new(MemoryBusOptions::default());
        let worker =
            Worker::start(bus.clone(), Arc::clone(&self.engine), self.config.worker.options()).await?;
        let options = self.config.coordinator_options(&self.config_hash, self.engine.name());
        let coordinator = Coordinator::start(bus.clone(), self.engine.facts().clone(), options).await?;
        Ok(Parts { coordinator, worker: Mutex::new(Some(worker)), bus })
    }
}

#[cfg(test)]
mod tests;
