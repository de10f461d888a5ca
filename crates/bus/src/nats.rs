//! The bus of a cluster: a JetStream work queue for jobs, core NATS for what may get lost.
//!
//! | what | where | if it is lost |
//! |---|---|---|
//! | jobs | stream `GL_JOBS_V1`, a consumer for each model and lane | never, once confirmed |
//! | results | `gl.v1.results.<incarnation>` | the coordinator sends the job again |
//! | cancelled checks, presences | `gl.v1.cancel.<model>`, `gl.v1.workers.<worker>` | nothing but work is wasted |
//! | dead jobs | stream `GL_DEAD_V1` | a burial is repeated until it is confirmed |
//!
//! Where it differs from [`crate::MemoryBus`], because a broker can do no better:
//!
//! - an acknowledgement that comes late, after the job went to somebody else, still takes the job out: it is answered;
//! - a retry of the last allowed delivery is dead at once, not when somebody pulls next;
//! - other processes' decisions are not known to a dead job's history;
//! - a job that is handed back goes to the end of its queue, and where this process may not publish jobs, its delivery counts;
//! - that a job is stored already is known to the process that published it, which is the only one that sends it again.

mod api;
mod bury;
mod checks;
mod connection;
mod dead;
mod decide;
mod ensure;
mod headers;
mod janitor;
mod known;
mod listen;
mod order;
mod publish;
mod pull;
mod receive;
mod subjects;
mod topology;

use crate::clock::wall_clock_ms;
use crate::{
    BusClosed, BusState, CancelStream, CheckId, Delivery, Incarnation, Job, JobBus, JobId, JobResult, LaneId,
    NatsOptions, Presence, PresenceStream, PublishError, Published, PullBudget, ResultStream, SubjectToken,
};
use async_nats::jetstream::kv::Store;
pub use checks::NatsCheckQueue;
use connection::Connection;
use decide::Outgoing;
use groundline_actors::{OwnedTask, TaskKind, spawn_task};
use groundline_types::Problem;
use known::{CancelledChecks, Notes, PublishedJobs};
use order::Order;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore, watch};
use topology::Wanted;

/// How long a drain waits for decisions and for the connection, each.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);

/// A [`JobBus`] on a NATS broker with JetStream. Clones are the same connection.
#[derive(Debug, Clone)]
pub struct NatsBus {
    shared: Arc<Shared>,
    /// Tasks of the bus; they end with its last clone.
    _tasks: Arc<Vec<OwnedTask>>,
}

#[derive(Debug)]
struct Shared {
    connection: Connection,
    options: NatsOptions,
    /// What this process has made sure of, so that it is made sure of again after a reconnect.
    ensured: Mutex<BTreeMap<String, Wanted>>,
    order: Order,
    published: PublishedJobs,
    cancelled: CancelledChecks,
    notes: Notes,
    readers: Mutex<BTreeMap<Incarnation, OwnedTask>>,
    outgoing: Outgoing,
    unconfirmed: Semaphore,
    /// Estimated tokens of a job, on average of late; 0 before any was seen.
    mean_job_tokens: AtomicU64,
    /// How far the broker's clock is ahead of ours, in milliseconds.
    clock_ahead_ms: AtomicI64,
    /// Whether the broker lets this process publish no jobs, as it may a worker.
    may_not_publish: AtomicBool,
    /// Whether the broker lets this process create no streams, as it may a worker.
    may_not_create: AtomicBool,
    answers: OnceCell<Store>,
    bodies: checks::Bodies,
    closed: watch::Sender<bool>,
}

/// What has happened on a connection so far, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NatsStats {
    /// Messages that the client dropped because a reader was too slow.
    pub slow_consumers: u64,
    /// How often the connection was lost.
    pub disconnects: u64,
    /// Errors that the broker reported, such as a subject that is not permitted.
    pub refusals: u64,
    /// How often a queue had jobs, and none came for a time.
    pub stalls: u64,
    /// Messages that could not be decoded.
    pub malformed: u64,
    /// Jobs that this process moved to the dead.
    pub buried: u64,
    /// Jobs that this process handed back uncounted.
    pub handed_back: u64,
    /// Cancelled checks and presences that had no room at their reader.
    pub lost_news: u64,
}

impl NatsBus {
    /// Connects, makes the streams what they should be, and keeps them so after every reconnect.
    ///
    /// Where they are missing and this process may not make them, it waits for whoever may: [`NatsBus::trouble`] says so, and no
    /// job goes in or out until then.
    ///
    /// # Errors
    ///
    /// `GL1013` for options that cannot work, `GL3001` where the broker cannot be reached, `GL3004` where it is too old or its
    /// streams are otherwise and may not be changed, `GL3005` where it refuses the credentials, `GL3006` where its certificate is
    /// not trusted.
    pub async fn connect(options: NatsOptions) -> Result<Self, Problem> {
        let connection = Connection::open(&options).await?;
        let unconfirmed = Semaphore::new(options.max_unconfirmed_jobs);
        let streams = topology::streams(&options, connection.version).into_iter();
        let ensured = streams.map(|wanted| (wanted.name(), wanted)).collect();
        let shared = Arc::new(Shared {
            connection,
            options,
            ensured: Mutex::new(ensured),
            order: Order::default(),
            published: PublishedJobs::default(),
            cancelled: CancelledChecks::default(),
            notes: Notes::default(),
            readers: Mutex::default(),
            outgoing: Outgoing::default(),
            unconfirmed,
            mean_job_tokens: AtomicU64::new(0),
            clock_ahead_ms: AtomicI64::new(0),
            may_not_publish: AtomicBool::new(false),
            may_not_create: AtomicBool::new(false),
            answers: OnceCell::new(),
            bodies: checks::Bodies::default(),
            closed: watch::Sender::new(false),
        });
        shared.set_right_at_start().await?;
        let mut tasks = vec![spawn_task(TaskKind::Keep, order::keep(Arc::downgrade(&shared)))];
        if shared.options.runs_janitor {
            for stream in [subjects::JOBS_STREAM, subjects::CHECKS_STREAM] {
                tasks.push(spawn_task(TaskKind::Janitor, janitor::tend(Arc::clone(&shared), stream)));
            }
        }
        Ok(Self { shared, _tasks: Arc::new(tasks) })
    }

    /// Version of the broker, such as `2.12.1`.
    pub fn server_version(&self) -> String {
        self.shared.connection.version.to_string()
    }

    /// What keeps jobs from going in and out now, in a few words; `None` where all is well.
    pub fn trouble(&self) -> Option<&'static str> {
        self.shared.order.trouble()
    }

    /// What has happened so far.
    pub fn stats(&self) -> NatsStats {
        let counters = &self.shared.connection.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NatsStats {
            slow_consumers: read(&counters.slow_consumers),
            disconnects: read(&counters.disconnects),
            refusals: read(&counters.refusals),
            stalls: read(&counters.stalls),
            malformed: read(&counters.malformed),
            buried: read(&counters.buried),
            handed_back: read(&counters.handed_back),
            lost_news: read(&counters.lost_news),
        }
    }
}

impl Shared {
    fn open(&self) -> Result<(), BusClosed> {
        if *self.closed.borrow() { Err(BusClosed) } else { Ok(()) }
    }

    /// Now, by the broker's clock.
    fn broker_now_ms(&self) -> u64 {
        wall_clock_ms().saturating_add_signed(self.clock_ahead_ms.load(Ordering::Relaxed))
    }

    /// The queues that this process has pulled from.
    fn pulled_lanes(&self) -> Vec<LaneId> {
        let ensured = self.ensured.lock().unwrap_or_else(PoisonError::into_inner);
        let filters = ensured.values().filter(|wanted| wanted.stream == subjects::JOBS_STREAM);
        let filters = filters.filter_map(|wanted| wanted.config.get("filter_subject")?.as_str());
        filters.filter_map(subjects::parse_lane_filter).collect()
    }
}

impl JobBus for NatsBus {
    async fn publish(&self, job: Job) -> Result<Published, PublishError> {
        self.shared.open()?;
        self.shared.publish(&job).await
    }

    async fn pull(&self, from: &LaneId, budget: PullBudget) -> Result<Vec<Delivery>, BusClosed> {
        let mut closed = self.shared.closed.subscribe();
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => Err(BusClosed),
            deliveries = self.shared.pull_jobs(from, budget) => Ok(deliveries),
        }
    }

    async fn settled(&self) -> Result<(), BusClosed> {
        self.shared.settled().await
    }

    async fn answer(&self, result: JobResult) -> Result<(), BusClosed> {
        self.shared.open()?;
        self.shared.answer(result).await
    }

    async fn results(&self, me: Incarnation) -> Result<ResultStream, BusClosed> {
        self.shared.open()?;
        self.shared.results(me).await
    }

    async fn cancel(&self, model: &SubjectToken, check: CheckId) -> Result<Vec<JobId>, BusClosed> {
        self.shared.open()?;
        self.shared.cancel(model, check).await
    }

    async fn cancellations(&self, model: &SubjectToken) -> Result<CancelStream, BusClosed> {
        self.shared.open()?;
        self.shared.cancellations(model).await
    }

    async fn announce(&self, presence: Presence) -> Result<(), BusClosed> {
        self.shared.open()?;
        self.shared.announce(presence).await
    }

    async fn presences(&self, model: &SubjectToken) -> Result<PresenceStream, BusClosed> {
        self.shared.open()?;
        self.shared.presences(model).await
    }

    fn state(&self) -> watch::Receiver<BusState> {
        self.shared.order.state()
    }

    async fn drain(self) -> Result<(), BusClosed> {
        if self.shared.closed.send_replace(true) {
            return Err(BusClosed);
        }
        self.shared.outgoing.wait_until_sent(DRAIN_PATIENCE).await;
        self.shared.connection.close(DRAIN_PATIENCE).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
