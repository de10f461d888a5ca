//! The shell around the pure machine: messages in, effects out.

mod feed;
mod suspects;

use super::alone::Alone;
use super::cancellations::{CancelledChecks, read_cancellations};
use super::intake::{Arrival, Intake, intake};
use super::jobs::{Finished, Jobs};
use super::machine::{Item, Machine, Moment};
use super::message::{BatcherMessage, BatcherSetup, Offer};
use super::recent::RecentAnswers;
use crate::device::MAX_BATCHES;
use crate::load::{Callers, Load, Meter};
use feed::AtDevice;
use groundline_actors::{Condition, OwnedTask, TaskKind, run_computing, spawn_task};
use groundline_bus::{CheckId, Delivery, Job, JobAnswer, JobBus, JobResult};
use groundline_inference::Encoded;
use groundline_telemetry::{DeliveryFate, record};
use groundline_types::{Code, Lane, Outcome, Problem, Reason, Score, Work};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Share of what a worker may hold that bulk jobs get while online jobs are held, in percent.
const BULK_ROOM_PERCENT: usize = 10;

/// Texts of a job, repeated ones counted again, that are turned into tokens without a thread for that.
const SHORT_BYTES: usize = 4096;

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
    /// Whether a suspect job has the worker for itself; over once nothing is held.
    alone: Alone,
    recent: RecentAnswers,
    meter: Meter,
    callers: Callers,
    /// Estimated tokens of jobs finished since the meter was read.
    finished_tokens: usize,
    cancelled: CancelledChecks,
    /// Brings word of cancelled checks; ends with the actor.
    _cancellations: OwnedTask,
}

impl<B: JobBus> BatcherState<B> {
    fn now(&self) -> Moment {
        self.started_at.elapsed()
    }

    fn on_delivered(&mut self, deliveries: Vec<Delivery>) {
        let now = self.now();
        for delivery in self.in_order_of_need(deliveries) {
            self.callers.note(delivery.job().id.reply_to, now);
            let (id, attempt) = (delivery.job().id, delivery.job().attempt);
            let (lane, again) = (delivery.job().lane.lane, delivery.delivered() > 1);
            let received = |fate| record::job_received(lane, again, fate);
            let arrival = Arrival {
                items: delivery.job().texts.len(),
                delivered: delivery.delivered(),
                is_cancelled: self.cancelled.contains(id.check_id()),
                recent: self.recent.get(id),
            };
            let result = |answer| JobResult { id, attempt, answer };
            match intake(arrival, self.stance()) {
                Intake::Run => {
                    received(DeliveryFate::Accepted);
                    if let Some(slot) = self.jobs.hold(delivery, now) {
                        self.encode(slot);
                    }
                }
                Intake::RunAlone => {
                    received(DeliveryFate::Accepted);
                    self.run_alone(delivery, now);
                }
                Intake::HandBack => {
                    received(DeliveryFate::HandedBack);
                    delivery.hand_back();
                }
                Intake::MakeRoom => {
                    received(DeliveryFate::HandedBack);
                    self.alone = Alone::MakingRoom;
                    delivery.hand_back();
                }
                Intake::Answer(answer) => {
                    received(fate_of(&answer));
                    self.answer(Finished { result: result(answer), deliveries: vec![delivery] }, None);
                }
                Intake::Bury(answer, reason) => {
                    received(DeliveryFate::Dead);
                    let finished = Finished { result: result(answer), deliveries: vec![delivery] };
                    self.answer(finished, Some(reason));
                }
            }
        }
    }

    fn encode(&self, slot: u64) {
        let Some(job) = self.jobs.get(slot).map(|held| Arc::clone(held.delivery.job())) else { return };
        let (engine, batcher) = (Arc::clone(&self.setup.engine), self.myself.clone());
        let task = async move {
            let (items, is_short) = (job.texts.len(), is_short(&job));
            let encode = move || job.texts.work().map(|work| engine.encode(&work)).collect::<Vec<_>>();
            let encoded = run_computing(TaskKind::Encode, is_short, encode).await.unwrap_or_else(|| {
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

    fn settle(&mut self, slot: u64, index: usize, outcome: Outcome<Score>) {
        if let Some(finished) = self.jobs.settle(slot, index, outcome) {
            self.recent.remember(&finished.result);
            self.finished_tokens += finished.deliveries.first().map_or(0, |held| held.job().estimated_tokens);
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
        self.cancelled.insert(check);
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

    /// What has begun counts as delivered, so that what may have cost the device runs alone from now on.
    fn give_everything_back(&mut self) {
        self.is_draining = true;
        self.jobs.give_back_all();
        drop(self.machine.remove_jobs(|_| true));
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
        self.serve_suspect(now);
        self.publish_room();
        self.publish_load(now);
        if self.is_draining
            && self.jobs.is_empty()
            && self.answering == 0
            && let Some(reply) = self.drained.take()
        {
            let _ = reply.send(());
        }
        self.arm(now);
    }

    fn publish_room(&self) {
        let (online, bulk) = (self.jobs.tokens(Lane::Online), self.jobs.tokens(Lane::Bulk));
        record::worker_held_tokens(Lane::Online, online);
        record::worker_held_tokens(Lane::Bulk, bulk);
        let takes_none = self.is_draining || self.alone != Alone::Shared;
        let held_tokens = self.setup.sizes.held_tokens(self.meter.tokens_per_second());
        let room = if takes_none { 0 } else { held_tokens };
        // What bulk holds is no reason to leave online work at the bus, where it cannot go first.
        let (for_online, free) = (room.saturating_sub(online), room.saturating_sub(online + bulk));
        let bulk_tokens = if online == 0 {
            free
        } else {
            free.min((held_tokens * BULK_ROOM_PERCENT / 100).saturating_sub(bulk))
        };
        let bars_pulls = self.alone.bars_pulls();
        self.setup.room.publish(Lane::Online, Offer { tokens: for_online, bars_pulls });
        self.setup.room.publish(Lane::Bulk, Offer { tokens: bulk_tokens, bars_pulls });
    }

    fn publish_load(&mut self, now: Moment) {
        self.meter.note(!self.at_device.is_empty(), std::mem::take(&mut self.finished_tokens), now);
        let tokens_per_second = self.meter.tokens_per_second();
        self.machine.set_batch_tokens(self.setup.sizes.batch_tokens(tokens_per_second));
        self.setup.load.send_replace(Load {
            takes_jobs: !self.is_draining,
            capacity_tokens: self.setup.sizes.held_tokens(tokens_per_second),
            held_tokens: self.jobs.tokens(Lane::Online) + self.jobs.tokens(Lane::Bulk),
            tokens_per_second,
            coordinators: self.callers.active(now),
        });
    }

    fn arm(&mut self, now: Moment) {
        let has_room = self.at_device.len() < MAX_BATCHES;
        let wakes = self.machine.next_wake(has_room).into_iter().chain(self.jobs.next_extension());
        let wake = wakes.chain(self.alone.next_wake()).min();
        if let Some(wake) = wake
            && self.armed.is_none_or(|armed| wake < armed)
        {
            self.armed = Some(wake);
            self.myself.send_after(wake.saturating_sub(now), || BatcherMessage::Tick);
        }
    }
}

/// Whether turning a job into tokens takes well below a millisecond.
fn is_short(job: &Job) -> bool {
    let bytes = |work: Work| match work {
        Work::Pair { premise, hypothesis, .. } => premise.len() + hypothesis.len(),
        Work::Embed { text } => text.len(),
        Work::Similarity { candidate, reference } => candidate.len() + reference.len(),
        Work::Tokens { context, text, .. } => context.len() + text.len(),
    };
    job.texts.work().map(bytes).sum::<usize>() <= SHORT_BYTES
}

/// What an answer that needed no engine says of its delivery.
fn fate_of(answer: &JobAnswer) -> DeliveryFate {
    let is_cancelled = |outcome: &Outcome<Score>| matches!(outcome, Outcome::Failed(reason) if reason.code == Code::CANCELLED);
    match answer {
        JobAnswer::Split => DeliveryFate::Split,
        JobAnswer::Items(outcomes) if outcomes.iter().all(is_cancelled) => DeliveryFate::Cancelled,
        JobAnswer::Items(_) => DeliveryFate::Answered,
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
        let mut state = BatcherState {
            _cancellations: spawn_task(TaskKind::Cancellations, cancellations),
            alone: Alone::default(),
            recent: RecentAnswers::default(),
            meter: Meter::default(),
            callers: Callers::default(),
            finished_tokens: 0,
            cancelled: CancelledChecks::default(),
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
        state.publish_load(Moment::ZERO);
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
            BatcherMessage::PullsOver(suspect) => state.alone.pulls_are_over(suspect),
            BatcherMessage::BusKnows(suspect) => state.on_bus_knows(suspect),
            BatcherMessage::DeviceLost => state.give_everything_back(),
            BatcherMessage::Drain(reply) => state.start_drain(reply),
            #[cfg(any(test, feature = "sim"))]
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
