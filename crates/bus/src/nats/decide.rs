//! Decisions on deliveries, on their way to the broker.

use super::Shared;
use super::headers::{self, Carried};
use super::receive::{Meta, worn_out};
use super::{api::ApiError, connection::count, subjects};
use crate::wire::encode_job;
use crate::{BusClosed, Decision, DeliveryTicket, Job, LaneId, SubjectToken};
use async_nats::{Message, Subject};
use bytes::Bytes;
use futures_util::FutureExt as _;
use groundline_actors::{TaskKind, spawn_task};
use std::fmt;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

pub(super) const ACK: Bytes = Bytes::from_static(b"+ACK");
pub(super) const TERMINATE: Bytes = Bytes::from_static(b"+TERM");
pub(super) const IN_PROGRESS: Bytes = Bytes::from_static(b"+WPI");
/// Something that the broker always answers to who may pull.
const STREAM_INFO: &str = "STREAM.INFO.GL_JOBS_V1";
/// Pause before a broker that does not answer is asked again.
const SETTLE_PAUSE: Duration = Duration::from_millis(200);
/// How long a decision waits for a broker that is away; by then the message was delivered to somebody else.
const DECISION_PATIENCE: Duration = Duration::from_secs(30);

/// How much is on its way that a drain must wait for.
#[derive(Debug, Default, Clone)]
pub(super) struct Outgoing {
    count: Arc<watch::Sender<usize>>,
}

/// Something on its way; it has arrived, or is given up, when this is dropped.
#[derive(Debug)]
pub(super) struct OnItsWay {
    count: Arc<watch::Sender<usize>>,
}

impl Outgoing {
    pub(super) fn begin(&self) -> OnItsWay {
        self.count.send_modify(|count| *count += 1);
        OnItsWay { count: Arc::clone(&self.count) }
    }

    /// Waits until nothing is on its way.
    async fn arrived(&self) {
        // Its sender lives as long as this.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    pub(super) async fn wait_until_sent(&self, patience: Duration) {
        if timeout(patience, self.arrived()).await.is_err() {
            tracing::warn!("decisions were not sent in time; their jobs are delivered again");
        }
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.count.send_modify(|count| *count -= 1);
    }
}

/// A delivered message and what is known of it.
#[derive(Clone)]
pub(super) struct Received {
    pub(super) message: Message,
    pub(super) meta: Meta,
    /// Of the streams that it was delivered from.
    pub(super) life: u64,
    pub(super) lane: LaneId,
    pub(super) tenant: SubjectToken,
    /// Deliveries that count against the job, of earlier messages of it as well.
    pub(super) delivered: u32,
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message holds users' texts.
        write!(f, "Received({:?}, {:?})", self.lane, self.meta)
    }
}

#[derive(Debug)]
pub(super) struct JobTicket {
    shared: Arc<Shared>,
    received: Received,
    job: Arc<Job>,
    /// How long the job had waited when it was delivered, and when that was.
    waited: Duration,
    delivered_at: Instant,
    ack_wait: Duration,
    /// From then on somebody else may have it.
    mine_until: Mutex<Instant>,
}

impl JobTicket {
    pub(super) fn new(
        shared: Arc<Shared>,
        received: Received,
        job: Arc<Job>,
        waited: Duration,
        ack_wait: Duration,
    ) -> Self {
        let delivered_at = Instant::now();
        let mine_until = Mutex::new(delivered_at + ack_wait);
        Self { shared, received, job, waited, delivered_at, ack_wait, mine_until }
    }
}

impl DeliveryTicket for JobTicket {
    fn decide(&self, decision: Decision) {
        let now = Instant::now();
        let mut mine_until = self.mine_until.lock().unwrap_or_else(PoisonError::into_inner);
        let is_mine = now < *mine_until;
        let (shared, received) = (&self.shared, &self.received);
        match decision {
            // It is answered, whoever has it now.
            Decision::Ack => shared.acknowledge(received),
            _ if !is_mine => {}
            Decision::Extend => {
                *mine_until = now + self.ack_wait;
                shared.send(received, IN_PROGRESS);
            }
            Decision::Retry { after } => {
                shared.notes.add(received.meta.sequence, received.delivered, "retry");
                if received.delivered >= shared.options.max_deliver {
                    shared.bury_and_answer(received.clone(), worn_out());
                } else {
                    shared.rest(received, after);
                }
            }
            Decision::HandBack => {
                let waited = self.waited + (now - self.delivered_at);
                shared.hand_back(received.clone(), Arc::clone(&self.job), waited);
            }
            Decision::Reject(reason) => {
                shared.notes.add(received.meta.sequence, received.delivered, "rejected");
                shared.bury(received.clone(), reason);
            }
        }
    }
}

/// The decision that something shall be delivered again, not before `after`.
pub(super) fn again_after(after: Duration) -> Bytes {
    match after.as_nanos() {
        0 => Bytes::from_static(b"-NAK"),
        delay => format!("-NAK {{\"delay\": {delay}}}").into(),
    }
}

impl Shared {
    /// Waits until the broker knows every decision made so far.
    pub(super) async fn settled(&self) -> Result<(), BusClosed> {
        loop {
            self.open()?;
            self.outgoing.arrived().await;
            // The broker reads what a connection sends in order, so any answer to a question comes after the decisions before it.
            match self.connection.api.ask(STREAM_INFO, None).await {
                Ok(_) | Err(ApiError::Refused { .. } | ApiError::NobodyThere) => return Ok(()),
                Err(ApiError::NoAnswer | ApiError::Broken(_)) => sleep(SETTLE_PAUSE).await,
            }
        }
    }

    /// Runs something that a drain waits for. Outside of a runtime, as where a process ends, nothing is run: what is undecided is
    /// delivered again.
    pub(super) fn run(self: &Arc<Self>, kind: TaskKind, future: impl Future<Output = ()> + Send + 'static) {
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let on_its_way = self.outgoing.begin();
        let task = async move {
            future.await;
            drop(on_its_way);
        };
        spawn_task(kind, task).detach();
    }

    /// Sends a decision on what was delivered in one life of the streams. In another life it is not there any more, and its number
    /// may be that of something else: a word on that would make the broker pass over everything before it.
    pub(super) fn decide_in(self: &Arc<Self>, life: u64, reply: Subject, decision: Bytes) {
        match self.life() {
            Some(now) if now == life => self.send_to(reply, decision),
            Some(_) => tracing::debug!("a decision on a message that the broker has forgotten is not sent"),
            // The next one comes soon.
            None if decision == IN_PROGRESS => {}
            None => {
                let shared = Arc::clone(self);
                self.run(TaskKind::Settle, async move {
                    if shared.is_life(life).await {
                        shared.send_to(reply, decision);
                    }
                });
            }
        }
    }

    /// Whether the streams are those of this life, once that is known. Not known for long is as good as no.
    async fn is_life(&self, life: u64) -> bool {
        timeout(DECISION_PATIENCE, self.settled_life()).await.is_ok_and(|now| now == life)
    }

    /// Sends a decision: at once where the client has room for it, and as soon as it has otherwise.
    pub(super) fn send_to(self: &Arc<Self>, reply: Subject, decision: Bytes) {
        let client = &self.connection.api.client;
        if client.publish(reply.clone(), decision.clone()).now_or_never().is_some() {
            return;
        }
        let client = client.clone();
        self.run(TaskKind::Settle, async move {
            // A client that is closed sends nothing: the job is delivered again.
            let _ = client.publish(reply, decision).await;
        });
    }

    fn send(self: &Arc<Self>, received: &Received, decision: Bytes) {
        if let Some(reply) = received.message.reply.clone() {
            self.decide_in(received.life, reply, decision);
        }
    }

    /// Lets the broker deliver a message again, not before `after`.
    pub(super) fn rest(self: &Arc<Self>, received: &Received, after: Duration) {
        self.send(received, again_after(after));
    }

    pub(super) fn acknowledge(self: &Arc<Self>, received: &Received) {
        self.notes.forget(received.meta.sequence);
        self.send(received, ACK);
    }

    pub(super) fn terminate(self: &Arc<Self>, received: &Received) {
        self.send(received, TERMINATE);
    }

    /// Puts a new message in the place of one that was not begun, since a broker counts every delivery. Where that is not
    /// possible, the delivery counts.
    fn hand_back(self: &Arc<Self>, received: Received, job: Arc<Job>, waited: Duration) {
        if self.may_not_publish.load(Ordering::Relaxed) {
            return self.rest(&received, Duration::ZERO);
        }
        let shared = Arc::clone(self);
        self.run(TaskKind::Settle, async move {
            if !shared.is_life(received.life).await {
                // Its coordinator sends it again.
                return;
            }
            let carried = Carried { delivered: received.delivered.saturating_sub(1), waited };
            let counters = &shared.connection.counters;
            let refusals = counters.refusals.load(Ordering::Relaxed);
            match shared.publish_again(&received, &job, carried).await {
                Ok(()) => {
                    count(&counters.handed_back);
                    shared.acknowledge(&received);
                }
                Err(error) => {
                    // A broker drops what is not permitted, and says so only on the side.
                    if error == ApiError::NoAnswer && counters.refusals.load(Ordering::Relaxed) > refusals {
                        shared.may_not_publish.store(true, Ordering::Relaxed);
                    }
                    tracing::debug!(job = %job.id, "a job is handed back by a counted retry: {error}");
                    shared.rest(&received, Duration::ZERO);
                }
            }
        });
    }

    async fn publish_again(&self, received: &Received, job: &Job, carried: Carried) -> Result<(), ApiError> {
        let id = format!("{}:{}:from-{}", job.id, job.attempt, received.meta.sequence);
        let headers = headers::for_job(job, subjects::JOBS_STREAM, &id, carried);
        let subject = subjects::jobs(&received.lane, &received.tenant);
        self.connection.api.store(subject, headers, encode_job(job)).await.map(drop)
    }
}
