//! The tree of one worker, and how it is drained.

use crate::WorkerOptions;
use crate::batcher::{BatchLimits, Batcher, BatcherMessage, BatcherSetup, Room};
use crate::device::{Device, DeviceMessage, DeviceSetup};
use crate::load::{BatchSizes, Load, MIN_BATCH_TOKENS};
use crate::presence::{Announcer, AnnouncerMessage, AnnouncerSetup};
use crate::puller::{Puller, PullerMessage, PullerSetup};
use groundline_actors::{
    ChildSpec, Handle, HealthBoard, RestartPolicy, Strategy, Supervisor, SupervisorMessage, SupervisorSpec,
};
use groundline_bus::{Incarnation, JobBus, LaneId, SubjectToken};
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
/// What the device reports its health as.
const DEVICE_COMPONENT: &str = "device";

/// One engine that works on the jobs of a bus. Dropping it stops it at once; what it held is delivered again.
#[derive(Debug)]
pub struct Worker {
    root: ActorRef<SupervisorMessage>,
    batcher: Handle<BatcherMessage>,
    pullers: [Handle<PullerMessage>; 2],
    announcer: Handle<AnnouncerMessage>,
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
        let (room, load) = (Room::default(), watch::Sender::new(Load::default()));
        let device_setup = DeviceSetup {
            engine: Arc::clone(&engine),
            batcher: batcher.clone(),
            health: health.component(DEVICE_COMPONENT),
        };
        let sizes = sizes(batch_tokens, engine.facts().max_tokens, &options);
        let model = SubjectToken::from_name(&engine.facts().id.revision);
        let batcher_setup = BatcherSetup {
            bus: bus.clone(),
            model: model.clone(),
            engine: Arc::clone(&engine),
            device: device.clone(),
            limits: limits(batch_tokens, &options),
            sizes,
            room: room.clone(),
            load: load.clone(),
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
                room: room.of(lane).clone(),
            };
            children.push(ChildSpec::new("puller", handle.clone(), move || (Puller::new(), setup.clone())));
        }
        let announcer = AnnouncerSetup {
            bus,
            worker: SubjectToken::from_name(&Incarnation::random().to_string()),
            model,
            engine: engine.name().to_owned(),
            load: load.subscribe(),
            health: health.clone(),
        };
        let announcers = Handle::vacant();
        children.push(ChildSpec::new("announcer", announcers.clone(), move || {
            (Announcer::new(), announcer.clone())
        }));
        let root = Supervisor::start(supervision(children, &health))
            .await
            .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start a worker: {error}")))?;
        Ok(Self {
            root,
            batcher,
            pullers,
            announcer: announcers,
            health,
            drain_timeout: options.drain_timeout,
        })
    }

    /// How its parts are.
    pub fn health(&self) -> &HealthBoard {
        &self.health
    }

    /// Waits until the worker has given up, and says why: [`Code::DEVICE_LOST`] where only a new process can use the device
    /// again, [`Code::INTERNAL`] after too many failures. It never does so before it is dropped or drained unless something is
    /// badly wrong; nobody works on its jobs from then on. The process should end with [`Code::exit_status`].
    pub fn failed(&self) -> impl Future<Output = Problem> + Send + 'static {
        let board = self.health.clone();
        async move {
            tokio::select! {
                biased;
                why = board.failed(DEVICE_COMPONENT) => Problem::new(Code::DEVICE_LOST, why),
                why = board.failed(ROOT_COMPONENT) => Problem::new(Code::INTERNAL, why),
            }
        }
    }

    /// Makes a part of it fail, as a bug would.
    #[cfg(feature = "sim")]
    pub fn break_batcher(&self) {
        // Between two lives, there is nobody to break.
        let _ = self.batcher.send(BatcherMessage::Panic);
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
        // Coordinators hear that it takes no jobs any more; one that does not hear it notices the silence.
        let _ = self.announcer.send(AnnouncerMessage::Tick);
        let (reply, stopped) = oneshot::channel();
        if self.root.send_message(SupervisorMessage::Stop(reply)).is_ok() {
            let _ = stopped.await;
        }
    }
}

fn sizes(most_tokens: usize, longest_input: usize, options: &WorkerOptions) -> BatchSizes {
    BatchSizes {
        most_tokens,
        least_tokens: MIN_BATCH_TOKENS.max(longest_input).min(most_tokens),
        target: options.batch_target,
        held_batches: options.held_batches.max(1),
    }
}

fn limits(batch_tokens: usize, options: &WorkerOptions) -> BatchLimits {
    BatchLimits {
        batch_tokens,
        max_wait_online: options.max_wait_online,
        max_wait_bulk: options.max_wait_bulk,
    }
}

fn supervision(children: Vec<ChildSpec>, health: &HealthBoard) -> SupervisorSpec {
    SupervisorSpec {
        children,
        strategy: Strategy::RestForOne,
        policy: RestartPolicy { max_restarts: MAX_RESTARTS, within: MELTDOWN_WINDOW },
        health: health.component(ROOT_COMPONENT),
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.root.stop(None);
    }
}

#[cfg(test)]
mod tests;
