//! What every backend can do.

use crate::{
    BusClosed, CancelStream, CheckId, Delivery, Incarnation, Job, JobId, JobResult, LaneId, Presence,
    PresenceStream, PublishError, ResultStream, SubjectToken,
};
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;

/// Whether a published job is new to the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It is stored.
    Stored,
    /// Nothing new is stored: some attempt of the job waits or is in the hands of a worker, or this very attempt was published
    /// before, within the window for duplicates.
    Duplicate,
}

/// How much a worker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullBudget {
    /// Most jobs.
    pub max_jobs: usize,
    /// Most estimated tokens of all jobs together. The first job is given even where it is larger, so that none waits for ever.
    pub max_tokens: usize,
    /// How long to wait for the first job.
    pub wait: Duration,
}

/// Whether the bus works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusState {
    /// Whether jobs go in and out now.
    pub connected: bool,
    /// Grows with every connection; whoever holds a result stream subscribes again when it does.
    pub generation: u64,
}

/// A work queue for jobs and a way back for their results. Clones are the same connection.
pub trait JobBus: Clone + Send + Sync + 'static {
    /// Stores a job; returns once it is safe.
    fn publish(&self, job: Job) -> impl Future<Output = Result<Published, PublishError>> + Send;

    /// Waits for jobs of one queue. Returns as soon as there is one, with as many as are there and fit; empty when the wait is
    /// over. Dropping the future takes no job.
    fn pull(
        &self,
        from: &LaneId,
        budget: PullBudget,
    ) -> impl Future<Output = Result<Vec<Delivery>, BusClosed>> + Send;

    /// Waits until the broker knows every decision made so far on deliveries of this process, those included that hand back what a
    /// dropped pull had taken: from then on, no end of this process counts against their jobs. There is no bound: without a
    /// connection it waits for one.
    fn settled(&self) -> impl Future<Output = Result<(), BusClosed>> + Send;

    /// Sends a result to the coordinator that published the job. At most once: with nobody there, it is lost.
    fn answer(&self, result: JobResult) -> impl Future<Output = Result<(), BusClosed>> + Send;

    /// The results addressed to `me`, from now on. A second stream for the same incarnation replaces the first.
    fn results(&self, me: Incarnation) -> impl Future<Output = Result<ResultStream, BusClosed>> + Send;

    /// Says that nobody wants the results of a check any more. Jobs that wait are taken out and named in the answer; workers of
    /// this model are [told](Self::cancellations), and answer the jobs that they hold without beginning anything new. Best
    /// effort: a job that slips through is scored for nobody, or expires.
    fn cancel(
        &self,
        model: &SubjectToken,
        check: CheckId,
    ) -> impl Future<Output = Result<Vec<JobId>, BusClosed>> + Send;

    /// The checks of a model that are cancelled, from now on. Any number of streams may be open.
    fn cancellations(
        &self,
        model: &SubjectToken,
    ) -> impl Future<Output = Result<CancelStream, BusClosed>> + Send;

    /// Says that a worker lives, to whoever listens now. At most once, like an answer.
    fn announce(&self, presence: Presence) -> impl Future<Output = Result<(), BusClosed>> + Send;

    /// What workers of a model say of themselves, from now on. Any number of streams may be open.
    fn presences(
        &self,
        model: &SubjectToken,
    ) -> impl Future<Output = Result<PresenceStream, BusClosed>> + Send;

    /// Whether the bus works, and changes of that.
    fn state(&self) -> watch::Receiver<BusState>;

    /// Sends what is under way and closes the connection, for all clones of it.
    fn drain(self) -> impl Future<Output = Result<(), BusClosed>> + Send;
}
