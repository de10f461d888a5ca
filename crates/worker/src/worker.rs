//! The tree of one worker, and how it is drained.

use crate::WorkerOptions;
use crate::batcher::{BatchLimits, Batcher, BatcherMessage, BatcherSetup, Room};
use crate::device::{Device, DeviceMessage, DeviceSetup};
use crate::puller::{Puller, PullerMessage, PullerSetup};
use groundline_actors::{
    ChildSpec, Condition, Handle, HealthBoard, RestartPolicy, Strategy, Supervisor, SupervisorMessage,
    SupervisorSpec,
};
use groundline_bus::{JobBus, LaneId, SubjectToken};
use groundline_inference::Engine;
use groundline_types::{Code, Lane, Problem};
use ractor::ActorRef;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// More failures than this within [`MELTDOWN_WINDOW`] end the worker.
const MAX_RESTARTS: usize = 3;
const MELTDOWN_WINDOW: Duration = Duration::from_secs(60);
/// What the whole worker reports its health as.
const ROOT_COMPONENT: &str = "worker";

/// One engine that works on the jobs of a bus. Dropping it stops it at once; what it held is delivered again.
#[derive(Debug)]
pub struct Worker {
    root: ActorRef<SupervisorMessage>,
    batcher: Handle<BatcherMessage>,
    pullers: [Handle<PullerMessage>; 2],
    health: HealthBoard,
    drain_timeout: Duration,
}

impl Worker {
    /// Starts working on the jobs for the engine's model, of both lanes. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`Code::INTERNAL`] where the system gives no thread.
    pub async fn start<B: JobBus>(
        bus: B,
        engine: Arc<dyn Engine>,
        options: WorkerOptions,
    ) -> Result<Self, Problem> {
        let (device, batcher) = (Handle::<DeviceMessage>::vacant(), Handle::<BatcherMessage>::vacant());
        let pullers = [Handle::vacant(), Handle::vacant()];
        let health = HealthBoard::default();
        let batch_tokens =
            options.batch_tokens.unwrap_or_else(|| engine.batch_tokens()).max(engine.facts().max_tokens);
        let room = watch::Sender::new(Room::default());
        let device_setup = DeviceSetup {
            engine: Arc::clone(&engine),
            batcher: batcher.clone(),
            health: health.component("device"),
        };
        let model = SubjectToken::from_name(&engine.facts().id.revision);
        let batcher_setup = BatcherSetup {
            bus: bus.clone(),
            model: model.clone(),
            engine: Arc::clone(&engine),
            device: device.clone(),
            limits: BatchLimits {
                batch_tokens,
                max_wait_online: options.max_wait_online,
                max_wait_bulk: options.max_wait_bulk,
            },
            held_tokens: batch_tokens.saturating_mul(options.held_batches.max(1)),
            room: room.clone(),
            health: health.component("batcher"),
        };
        let mut children = vec![
            ChildSpec::new("device", device, move || (Device, device_setup.clone())),
            ChildSpec::new("batcher", batcher.clone(), move || (Batcher::new(), batcher_setup.clone())),
        ];
        for (lane, handle) in [Lane::Online, Lane::Bulk].into_iter().zip(&pullers) {
            let setup = PullerSetup {
                bus: bus.clone(),
                lane: LaneId { model: model.clone(), lane },
                batcher: batcher.clone(),
                room: room.subscribe(),
            };
            children.push(ChildSpec::new("puller", handle.clone(), move || (Puller::new(), setup.clone())));
        }
        let spec = SupervisorSpec {
            children,
            strategy: Strategy::RestForOne,
            policy: RestartPolicy { max_restarts: MAX_RESTARTS, within: MELTDOWN_WINDOW },
            health: health.component(ROOT_COMPONENT),
        };
        let root = Supervisor::start(spec)
            .await
            .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start a worker: {error}")))?;
        Ok(Self { root, batcher, pullers, health, drain_timeout: options.drain_timeout })
    }

    /// How its parts are.
    pub fn health(&self) -> &HealthBoard {
        &self.health
    }

    /// Waits until the worker has given up after too many failures, and says why. It never does so before it is dropped or
    /// drained unless something is badly wrong; nobody works on its jobs from then on.
    pub fn failed(&self) -> impl Future<Output = &'static str> + Send + 'static {
        let board = self.health.clone();
        async move {
            // The board keeps the other end, so that waiting ends by a report alone.
            let mut reports = board.watch(ROOT_COMPONENT);
            loop {
                if let Condition::Failed(why) = reports.borrow_and_update().condition {
                    return why;
                }
                if reports.changed().await.is_err() {
                    return "its health is unknown";
                }
            }
        }
    }

    /// Stops in good order: pulls no more, hands back to the bus what has not begun, finishes and answers the rest.
    ///
    /// The bus stays open: it belongs to whoever opened it. After the drain timeout, what is still running is given up and
    /// comes back to another worker.
    pub async fn drain(self) {
        for puller in &self.pullers {
            let (reply, stopped) = oneshot::channel();
            if puller.send(PullerMessage::Stop(reply)).is_ok() {
                // An actor that fails instead of stopping has ended its pull too.
                let _ = stopped.await;
            }
        }
        let (reply, drained) = oneshot::channel();
        if self.batcher.send(BatcherMessage::Drain(reply)).is_ok()
            && tokio::time::timeout(self.drain_timeout, drained).await.is_err()
        {
            tracing::warn!("the drain timeout passed before every running batch was answered");
        }
        let (reply, stopped) = oneshot::channel();
        if self.root.send_message(SupervisorMessage::Stop(reply)).is_ok() {
            let _ = stopped.await;
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.root.stop(None);
    }
}

#[cfg(test)]
mod tests;
