//! A worker of a cluster: one engine, and the bus it takes work from.

use crate::any_bus::AnyBus;
use crate::readiness::{NotReady, Remark, not_ready, remarks};
use crate::{Config, load_engine};
use groundline_actors::{ComponentHealth, HealthBoard, TaskKind, run_blocking};
use groundline_bus::NatsBus;
use groundline_inference::Engine;
use groundline_types::{Code, ModelFacts, Problem};
use groundline_worker::Worker;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Ends where a worker has given up.
type WorkerFailure = Pin<Box<dyn Future<Output = Problem> + Send>>;

/// One engine that works on the jobs of a cluster.
#[derive(Debug)]
pub struct WorkerNode {
    health: HealthBoard,
    /// Taken out by the drain.
    worker: Mutex<Option<Worker>>,
    bus: AnyBus,
    facts: ModelFacts,
    engine_name: String,
    remarks: Vec<Remark>,
}

impl WorkerNode {
    /// Loads the model that `config` names, connects to the broker of its section `nats`, and starts to work.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`]; errors of [`load_engine`]; [`Code::BUS_UNAVAILABLE`] and its neighbours where the broker cannot be
    /// reached or used.
    pub async fn connect(config: Config) -> Result<Self, Problem> {
        config.validate()?;
        let for_model = config.clone();
        let model = run_blocking(TaskKind::LoadModel, move || load_engine(&for_model)).await;
        let model = model.ok_or_else(|| Problem::new(Code::INTERNAL, "loading the model panicked"))??;
        Self::with_engine(model, &config).await
    }

    /// The same with any engine, for tests and for engines of one's own.
    ///
    /// # Errors
    /// As [`WorkerNode::connect`], but for the model.
    pub async fn with_engine(engine: Arc<dyn Engine>, config: &Config) -> Result<Self, Problem> {
        let bus = NatsBus::connect(config.nats.clone()).await?;
        let (facts, engine_name) = (engine.facts().clone(), engine.name().to_owned());
        let remarks = remarks(&*engine);
        let worker = Worker::start(bus.clone(), engine, config.worker.options()).await?;
        let health = worker.health().clone();
        let (worker, bus) = (Mutex::new(Some(worker)), AnyBus::Nats(bus));
        Ok(Self { health, worker, bus, facts, engine_name, remarks })
    }

    /// What there is to know of its model.
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// What computes, such as `cpu-avx2-f32`.
    pub fn engine_name(&self) -> &str {
        &self.engine_name
    }

    /// What should be known of it, though it is not in the way of taking work.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// How its parts are, by name.
    pub fn components(&self) -> BTreeMap<&'static str, ComponentHealth> {
        self.health.all()
    }

    /// What keeps it from taking work now; empty when it is ready.
    pub fn readiness(&self) -> Vec<NotReady> {
        let mut reasons = not_ready(&self.components(), Instant::now());
        reasons.extend(self.bus.not_ready());
        reasons
    }

    /// Waits until it has given up, and says why; the process should end with [`Code::exit_status`] of it.
    pub fn failed(&self) -> impl Future<Output = Problem> + Send + 'static {
        let failed = self.lock().as_ref().map(|worker| Box::pin(worker.failed()) as WorkerFailure);
        async move {
            match failed {
                Some(failed) => failed.await,
                // One that was stopped did not fail.
                None => std::future::pending().await,
            }
        }
    }

    /// Stops in good order: takes no further job, hands back what it has not begun, finishes and answers the rest, and closes the
    /// connection.
    /// A second call does nothing.
    pub async fn drain(&self) {
        let worker = self.lock().take();
        if let Some(worker) = worker {
            worker.drain().await;
            self.bus.clone().drain().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Worker>> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
