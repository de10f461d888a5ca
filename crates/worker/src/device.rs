//! The async face of the thread that runs the engine.

use crate::batcher::BatcherMessage;
use groundline_actors::{Condition, Handle, Reporter};
#[cfg(feature = "sim")]
use groundline_actors::{TaskKind, run_blocking, spawn_task};
use groundline_inference::{Encoded, Engine};
use groundline_telemetry::record;
use groundline_types::{Code, Problem, Score};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Batches that a device may have: one runs, one waits. The batcher sends no more.
pub(crate) const MAX_BATCHES: usize = 2;

/// What a device that no batch can be run on any more reports.
pub(crate) const DEVICE_IS_LOST: &str = "the device is lost";

/// Items to score together.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) id: u64,
    pub(crate) items: Vec<Encoded>,
}

/// What became of a batch, in its order.
#[derive(Debug)]
pub(crate) struct BatchResults {
    pub(crate) batch: u64,
    pub(crate) items: Vec<Result<Score, Problem>>,
}

#[derive(Debug)]
pub(crate) enum DeviceMessage {
    /// Run a batch.
    Run(Batch),
    /// The thread is done with one.
    Done(BatchResults),
}

/// What a device works with.
#[derive(Clone)]
pub(crate) struct DeviceSetup {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) batcher: Handle<BatcherMessage>,
    pub(crate) health: Reporter,
}

pub(crate) struct Device;

pub(crate) struct DeviceState {
    batches: mpsc::Sender<Batch>,
    batcher: Handle<BatcherMessage>,
    health: Reporter,
    running: usize,
}

impl Actor for Device {
    type Msg = DeviceMessage;
    type State = DeviceState;
    type Arguments = DeviceSetup;

    async fn pre_start(
        &self,
        myself: ActorRef<DeviceMessage>,
        setup: DeviceSetup,
    ) -> Result<DeviceState, ActorProcessingErr> {
        // Room for both: the first one stays in the channel until the thread wakes.
        let (batches, inbox) = mpsc::channel(MAX_BATCHES);
        start_runner(setup.engine, inbox, myself)?;
        setup.health.report(Condition::Idle);
        Ok(DeviceState { batches, batcher: setup.batcher, health: setup.health, running: 0 })
    }

    async fn handle(
        &self,
        _myself: ActorRef<DeviceMessage>,
        message: DeviceMessage,
        state: &mut DeviceState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            DeviceMessage::Run(batch) => {
                state.running += 1;
                state.health.report(Condition::Busy);
                // Full or closed means that the thread is gone or the batcher does not count: both are cured by a new start
                // of device and batcher, and the bus delivers the jobs again.
                state.batches.try_send(batch)?;
            }
            DeviceMessage::Done(results) if is_lost(&results) => {
                // Only a new process can use the device again: see `Worker::failed`.
                tracing::error!(batch = results.batch, "the device is lost");
                state.health.report(Condition::Failed(DEVICE_IS_LOST));
                let _ = state.batcher.send(BatcherMessage::DeviceLost);
            }
            DeviceMessage::Done(results) => {
                state.running -= 1;
                state.health.report(if state.running == 0 { Condition::Idle } else { Condition::Busy });
                // A batcher between two lives has given its jobs back to the bus.
                let _ = state.batcher.send(BatcherMessage::Scored(results));
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<DeviceMessage>,
        _event: SupervisionEvent,
        _state: &mut DeviceState,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

/// Whether the device was lost while it ran a batch.
fn is_lost(results: &BatchResults) -> bool {
    let lost =
        |item: &Result<Score, Problem>| matches!(item, Err(problem) if problem.code == Code::DEVICE_LOST);
    results.items.iter().any(lost)
}

/// Starts what runs the batches: a thread, which the engine keeps for itself, and which ends when the actor does.
fn start_runner(
    engine: Arc<dyn Engine>,
    inbox: mpsc::Receiver<Batch>,
    device: ActorRef<DeviceMessage>,
) -> std::io::Result<()> {
    #[cfg(feature = "sim")]
    if groundline_actors::is_simulated() {
        spawn_task(TaskKind::Score, simulate_batches(engine, inbox, device)).detach();
        return Ok(());
    }
    let run = move || run_batches(&*engine, inbox, &device);
    std::thread::Builder::new().name("groundline-device".to_owned()).spawn(run).map(drop)
}

#[cfg(feature = "sim")]
async fn simulate_batches(
    engine: Arc<dyn Engine>,
    mut inbox: mpsc::Receiver<Batch>,
    device: ActorRef<DeviceMessage>,
) {
    while let Some(Batch { id, items }) = inbox.recv().await {
        let engine = Arc::clone(&engine);
        let items = run_blocking(TaskKind::Score, move || run_guarded(&*engine, &items)).await;
        let results = BatchResults { batch: id, items: items.unwrap_or_default() };
        if device.send_message(DeviceMessage::Done(results)).is_err() {
            return;
        }
    }
}

/// Ends when its actor does.
fn run_batches(engine: &dyn Engine, mut inbox: mpsc::Receiver<Batch>, device: &ActorRef<DeviceMessage>) {
    while let Some(batch) = inbox.blocking_recv() {
        let began = Instant::now();
        let results = BatchResults { batch: batch.id, items: run_guarded(engine, &batch.items) };
        record::batch_scored(began.elapsed());
        if device.send_message(DeviceMessage::Done(results)).is_err() {
            return;
        }
    }
}

/// Runs a batch. Where the engine panics, every item is run alone, so that only the one that is to blame fails.
fn run_guarded(engine: &dyn Engine, items: &[Encoded]) -> Vec<Result<Score, Problem>> {
    // The engine is only read, and a panic inside it leaves nothing of ours half-changed.
    let run = |items: &[Encoded]| {
        let results = std::panic::catch_unwind(AssertUnwindSafe(|| engine.run(items))).ok();
        results.filter(|results| results.len() == items.len())
    };
    if let Some(results) = run(items) {
        return results;
    }
    record::engine_fallback();
    tracing::error!(items = items.len(), "the engine failed on a batch; its items are run one by one");
    let failed = || Err(Problem::new(Code::INTERNAL, "the engine failed on this item"));
    items
        .iter()
        .map(|item| run(std::slice::from_ref(item)).and_then(|mut one| one.pop()).unwrap_or_else(failed))
        .collect()
}

#[cfg(test)]
mod tests;
