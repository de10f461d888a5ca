//! The shell around the pure machine: messages in, effects out.

use super::jobs::{Finished, Jobs};
use super::machine::{BatchLimits, Closed, Item, Machine, Moment};
use crate::device::{Batch, BatchResults, DeviceMessage, MAX_BATCHES};
use groundline_actors::{Condition, Handle, OwnedTask, Reporter, TaskKind, run_blocking, spawn_task};
use groundline_bus::{CheckId, Delivery, JobAnswer, JobBus, JobResult, SubjectToken};
use groundline_inference::{Encoded, Engine};
use groundline_telemetry::{ActiveSpan, DeliveryFate, SpanKey, SpanName, record};
use groundline_types::{Code, Lane, Outcome, Problem, Reason, Score};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// From this delivery on, a group is not run as it is.
const SPLIT_FROM_DELIVERY: u32 = 2;
/// From this delivery on, a single is not run at all.
const DEAD_FROM_DELIVERY: u32 = 3;
/// Share of what a worker may hold that bulk jobs get while online jobs are held, in percent.
const BULK_ROOM_PERCENT: usize = 10;

/// Cancelled checks that are remembered, for jobs of theirs that come later.
const MAX_REMEMBERED_CANCELS: usize = 1024;

/// Tokens that a worker has room for, for each lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) online_tokens: usize,
    pub(crate) bulk_tokens: usize,
}

impl Room {
    pub(crate) fn of(self, lane: Lane) -> usize {
        match lane {
            Lane::Online => self.online_tokens,
            Lane::Bulk => self.bulk_tokens,
        }
    }
}

/// What a batcher works with.
#[derive(Clone)]
pub(crate) struct BatcherSetup<B> {
    pub(crate) bus: B,
    /// What the engine serves.
    pub(crate) model: SubjectToken,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) device: Handle<DeviceMessage>,
    pub(crate) limits: BatchLimits,
    /// Most estimated tokens held.
    pub(crate) held_tokens: usize,
    pub(crate) room: watch::Sender<Room>,
    pub(crate) health: Reporter,
}

pub(crate) enum BatcherMessage {
    /// Jobs from the bus; the reply says that [`Room`] counts them.
    Delivered(Vec<Delivery>, oneshot::Sender<()>),
    /// The items of a job as tokens.
    Encoded(u64, Vec<Result<Encoded, Problem>>),
    /// A batch is done.
    Scored(BatchResults),
    /// Nobody wants the results of this check any more.
    Cancelled(CheckId),
    /// Something may be due.
    Tick,
    /// An answer is sent.
    Answered,
    /// Hand back what has not begun, finish the rest, then reply.
    Drain(oneshot::Sender<()>),
    /// Fail, as a bug would.
    #[cfg(test)]
    Panic,
}

pub(crate) struct Batcher<B>(PhantomData<fn() -> B>);

impl<B> Batcher<B> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

pub(crate) struct BatcherState<B> {
    setup: BatcherSetup<B>,
    myself: ActorRef<BatcherMessage>,
    started_at: Instant,
    machine: Machine<Encoded>,
    jobs: Jobs,
    /// The batches at the device.
    at_device: BTreeMap<u64, AtDevice>,
    next_batch: u64,
    /// Answers being sent.
    answering: usize,
    /// The earliest tick that is on its way.
    armed: Option<Moment>,
    drained: Option<oneshot::Sender<()>>,
    is_draining: bool,
    cancelled: BTreeSet<CheckId>,
    cancelled_order: VecDeque<CheckId>,
    /// Brings word of cancelled checks; ends with the actor.
    _cancellations: OwnedTask,
}

/// A batch at the device.
struct AtDevice {
    /// The (job, item) of each of its places.
    places: Vec<(u64, usize)>,
    /// Ends with the batch.
    _span: ActiveSpan,
}

impl<B: JobBus> BatcherState<B> {
    fn now(&self) -> Moment {
        self.started_at.elapsed()
    }

    fn on_delivered(&mut self, deliveries: Vec<Delivery>) {
        for delivery in deliveries {
            let (items, delivered) = (delivery.job().texts.len(), delivery.delivered());
            let (id, attempt) = (delivery.job().id, delivery.job().attempt);
            let (lane, again) = (delivery.job().lane.lane, delivered > 1);
            let received = |fate| record::job_received(lane, again, fate);
            if self.is_draining {
                received(DeliveryFate::HandedBack);
                delivery.hand_back();
            } else if items == 0 || self.cancelled.contains(&id.check_id()) {
                received(DeliveryFate::Cancelled);
                let answer = JobAnswer::Items(vec![Outcome::Failed(cancelled()); items]);
                self.answer(
                    Finished { result: JobResult { id, attempt, answer }, deliveries: vec![delivery] },
                    None,
                );
            } else if items > 1 && delivered >= SPLIT_FROM_DELIVERY {
                received(DeliveryFate::Split);
                let result = JobResult { id, attempt, answer: JobAnswer::Split };
                self.answer(Finished { result, deliveries: vec![delivery] }, None);
            } else if delivered >= DEAD_FROM_DELIVERY {
                received(DeliveryFate::Dead);
                let reason =
                    Reason::new(Code::JOB_DEAD, "the work was begun more than once and never finished");
                let answer = JobAnswer::Items(vec![Outcome::Failed(reason.clone()); items]);
                let result = JobResult { id, attempt, answer };
                self.answer(Finished { result, deliveries: vec![delivery] }, Some(reason));
            } else {
                received(DeliveryFate::Accepted);
                self.encode(delivery);
            }
        }
    }

    fn encode(&mut self, delivery: Delivery) {
        let job = Arc::clone(delivery.job());
        let now = self.now();
        let Some(slot) = self.jobs.hold(delivery, now) else { return };
        let (engine, batcher) = (Arc::clone(&self.setup.engine), self.myself.clone());
        let task = async move {
            let items = job.texts.len();
            let encode = move || job.texts.work().map(|work| engine.encode(&work)).collect::<Vec<_>>();
            let encoded = run_blocking(TaskKind::Encode, encode).await.unwrap_or_else(|| {
                vec![Err(Problem::new(Code::INTERNAL, "the tokenizer panicked on this job")); items]
            });
            // A batcher that ended meanwhile has given its jobs back.
            let _ = batcher.send_message(BatcherMessage::Encoded(slot, encoded));
        };
        spawn_task(TaskKind::Encode, task).detach();
    }

    fn on_encoded(&mut self, slot: u64, items: Vec<Result<Encoded, Problem>>) {
        let now = self.now();
        let Some(held) = self.jobs.get_mut(slot) else { return };
        let (lane, deadline, is_cancelled) =
            (held.delivery.job().lane.lane, held.deadline, held.is_cancelled);
        for (index, item) in items.into_iter().enumerate() {
            match item {
                _ if is_cancelled => self.settle(slot, index, Outcome::Failed(cancelled())),
                Ok(payload) => {
                    let tokens = payload.ids.len();
                    self.machine.push(Item { job: slot, index, tokens, lane, deadline, payload }, now);
                }
                Err(problem) => self.settle(slot, index, Outcome::Failed(problem.into())),
            }
        }
    }

    fn on_scored(&mut self, results: BatchResults) {
        let batch = self.at_device.remove(&results.batch);
        let places = batch.map(|batch| batch.places).unwrap_or_default();
        for ((slot, index), result) in places.into_iter().zip(results.items) {
            let outcome = result.map_or_else(|problem| Outcome::Failed(problem.into()), Outcome::Scored);
            self.settle(slot, index, outcome);
        }
    }

    fn settle(&mut self, slot: u64, index: usize, outcome: Outcome<Score>) {
        if let Some(finished) = self.jobs.settle(slot, index, outcome) {
            self.answer(finished, None);
        }
    }

    /// Sends an answer, then decides its deliveries: acknowledged, or rejected for a reason.
    fn answer(&mut self, finished: Finished, rejected: Option<Reason>) {
        self.answering += 1;
        let (bus, batcher) = (self.setup.bus.clone(), self.myself.clone());
        let task = async move {
            // The order matters: a job acknowledged before it is answered could be lost for good.
            let sent = bus.answer(finished.result).await;
            for delivery in finished.deliveries {
                match (&sent, &rejected) {
                    (Err(_), _) => delivery.retry(Duration::ZERO),
                    (Ok(()), None) => delivery.ack(),
                    (Ok(()), Some(reason)) => delivery.reject(reason.clone()),
                }
            }
            let _ = batcher.send_message(BatcherMessage::Answered);
        };
        spawn_task(TaskKind::Answer, task).detach();
    }

    /// Drops what has not begun of a check that is gone; its jobs are answered once what has begun is done.
    fn on_cancelled(&mut self, check: CheckId) {
        if self.cancelled.insert(check) {
            self.cancelled_order.push_back(check);
        }
        if self.cancelled_order.len() > MAX_REMEMBERED_CANCELS
            && let Some(oldest) = self.cancelled_order.pop_front()
        {
            self.cancelled.remove(&oldest);
        }
        let slots = self.jobs.cancel(check);
        for item in self.machine.remove_jobs(|job| slots.contains(&job)) {
            self.settle(item.job, item.index, Outcome::Failed(cancelled()));
        }
    }

    fn start_drain(&mut self, reply: oneshot::Sender<()>) {
        self.is_draining = true;
        self.drained = Some(reply);
        let handed_back = self.jobs.hand_back_unstarted();
        drop(self.machine.remove_jobs(|job| handed_back.contains(&job)));
    }

    /// Everything that may have become due, and the next tick.
    fn advance(&mut self) {
        let now = self.now();
        let expired = self.machine.tick(now);
        for item in expired {
            let reason = Reason::new(Code::DEADLINE, "the deadline passed before a device was free");
            self.settle(item.job, item.index, Outcome::Failed(reason));
        }
        self.jobs.extend_due(now);
        self.feed_device(now);
        self.publish_room();
        if self.is_draining
            && self.jobs.is_empty()
            && self.answering == 0
            && let Some(reply) = self.drained.take()
        {
            let _ = reply.send(());
        }
        self.arm(now);
    }

    fn feed_device(&mut self, now: Moment) {
        while self.at_device.len() < MAX_BATCHES {
            let Some(closed) = self.machine.take(now, self.at_device.is_empty()) else { break };
            record::batch_closed(closed.reason, closed.items.len(), closed.tokens, closed.longest_wait);
            let span = self.batch_span(&closed);
            let items = closed.items;
            let (mut places, mut encoded) =
                (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
            for item in items {
                if let Some(held) = self.jobs.get_mut(item.job) {
                    held.is_started = true;
                }
                places.push((item.job, item.index));
                encoded.push(item.payload);
            }
            let id = self.next_batch;
            self.next_batch += 1;
            // A device between two lives takes this actor down with it, and the bus delivers the jobs again.
            let _ = self.setup.device.send(DeviceMessage::Run(Batch { id, items: encoded }));
            self.at_device.insert(id, AtDevice { places, _span: span });
        }
        let condition = if self.jobs.is_empty() { Condition::Idle } else { Condition::Busy };
        self.setup.health.report(condition);
    }

    /// A batch mixes the jobs of many checks: its span is linked to each of theirs.
    fn batch_span(&self, closed: &Closed<Encoded>) -> ActiveSpan {
        let jobs = closed.items.iter().filter_map(|item| self.jobs.get(item.job));
        let span = ActiveSpan::start_linked(
            SpanName::Batch,
            jobs.filter_map(|held| held.delivery.job().trace.as_deref()),
        );
        span.set(SpanKey::BATCH_ITEMS, closed.items.len());
        span.set(SpanKey::BATCH_TOKENS, closed.tokens);
        span.set(SpanKey::BATCH_REASON, closed.reason.as_str());
        span
    }

    fn publish_room(&self) {
        let (online, bulk) = (self.jobs.tokens(Lane::Online), self.jobs.tokens(Lane::Bulk));
        record::worker_held_tokens(Lane::Online, online);
        record::worker_held_tokens(Lane::Bulk, bulk);
        let free = if self.is_draining { 0 } else { self.setup.held_tokens.saturating_sub(online + bulk) };
        let bulk_tokens = if online == 0 {
            free
        } else {
            free.min((self.setup.held_tokens * BULK_ROOM_PERCENT / 100).saturating_sub(bulk))
        };
        let room = Room { online_tokens: free, bulk_tokens };
        self.setup.room.send_if_modified(|current| std::mem::replace(current, room) != room);
    }

    fn arm(&mut self, now: Moment) {
        let has_room = self.at_device.len() < MAX_BATCHES;
        let wake = self.machine.next_wake(has_room).into_iter().chain(self.jobs.next_extension()).min();
        if let Some(wake) = wake
            && self.armed.is_none_or(|armed| wake < armed)
        {
            self.armed = Some(wake);
            self.myself.send_after(wake.saturating_sub(now), || BatcherMessage::Tick);
        }
    }
}

impl<B: JobBus> Actor for Batcher<B> {
    type Msg = BatcherMessage;
    type State = BatcherState<B>;
    type Arguments = BatcherSetup<B>;

    async fn pre_start(
        &self,
        myself: ActorRef<BatcherMessage>,
        setup: BatcherSetup<B>,
    ) -> Result<BatcherState<B>, ActorProcessingErr> {
        let cancellations = read_cancellations(setup.bus.clone(), setup.model.clone(), myself.clone());
        let state = BatcherState {
            _cancellations: spawn_task(TaskKind::Cancellations, cancellations),
            cancelled: BTreeSet::new(),
            cancelled_order: VecDeque::new(),
            machine: Machine::new(setup.limits),
            setup,
            myself,
            started_at: Instant::now(),
            jobs: Jobs::default(),
            at_device: BTreeMap::new(),
            next_batch: 0,
            answering: 0,
            armed: None,
            drained: None,
            is_draining: false,
        };
        state.publish_room();
        // It can take jobs from here on, whether or not one ever comes.
        state.setup.health.report(Condition::Idle);
        Ok(state)
    }

    async fn handle(
        &self,
        _myself: ActorRef<BatcherMessage>,
        message: BatcherMessage,
        state: &mut BatcherState<B>,
    ) -> Result<(), ActorProcessingErr> {
        let mut accepted = None;
        match message {
            BatcherMessage::Delivered(deliveries, reply) => {
                state.on_delivered(deliveries);
                accepted = Some(reply);
            }
            BatcherMessage::Encoded(slot, items) => state.on_encoded(slot, items),
            BatcherMessage::Scored(results) => state.on_scored(results),
            BatcherMessage::Tick => {
                let now = state.now();
                state.armed = state.armed.filter(|armed| *armed > now);
            }
            BatcherMessage::Cancelled(check) => state.on_cancelled(check),
            BatcherMessage::Answered => state.answering -= 1,
            BatcherMessage::Drain(reply) => state.start_drain(reply),
            #[cfg(test)]
            BatcherMessage::Panic => panic!("the test asked for it"),
        }
        state.advance();
        if let Some(reply) = accepted {
            let _ = reply.send(());
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<BatcherMessage>,
        _event: SupervisionEvent,
        _state: &mut BatcherState<B>,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

fn cancelled() -> Reason {
    Reason::new(Code::CANCELLED, "the check is gone")
}

/// Ends with the bus, or with the batcher.
async fn read_cancellations<B: JobBus>(bus: B, model: SubjectToken, batcher: ActorRef<BatcherMessage>) {
    // A closed bus tells nothing, and gives no jobs either.
    let Ok(mut cancellations) = bus.cancellations(&model).await else { return };
    while let Some(check) = cancellations.next().await {
        // A batcher that ended has ended this task as well.
        let _ = batcher.send_message(BatcherMessage::Cancelled(check));
    }
}
