//! What a dispatcher is given and told.

use crate::check::CheckMessage;
use crate::fleet::Fleet;
use groundline_bus::{BusClosed, Incarnation, Job, JobId, PublishError, Published, SubjectToken};
use ractor::ActorRef;
use std::sync::Arc;
use std::time::Duration;
#[cfg(test)]
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A job on its way from its check to the bus.
#[derive(Clone)]
pub(crate) struct Submission {
    /// The job; its attempt and the time left are filled in when it is sent.
    pub(crate) job: Arc<Job>,
    /// When its answer is of no use any more.
    pub(crate) deadline: Instant,
    /// Who is told if it is given up.
    pub(crate) check: ActorRef<CheckMessage>,
}

#[derive(Clone)]
pub(crate) struct DispatchSetup<B> {
    pub(crate) bus: B,
    /// Who asks, in every job.
    pub(crate) me: Incarnation,
    /// Whose workers are told of cancelled checks.
    pub(crate) model: SubjectToken,
    pub(crate) credit_tokens: usize,
    pub(crate) resend_after: Duration,
    pub(crate) max_attempts: u32,
    pub(crate) no_worker_timeout: Option<Duration>,
}

pub(crate) enum DispatchMessage {
    /// Send this job when it is its turn. A job that is known already is left as it is.
    Submit(Submission),
    /// This job is answered. Said of every result, wanted or not.
    Settled(JobId),
    /// Every job of this check is of no use.
    CheckGone(u64),
    /// No check is left.
    AllGone,
    /// The answer to this job may be lost.
    Resend(JobId),
    /// What the bus says of an attempt.
    Published(JobId, Result<Published, PublishError>),
    /// The bus took these jobs of a check that is gone out of its queues.
    Cancelled(Result<Vec<JobId>, BusClosed>),
    /// Which workers there are has changed.
    Fleet(Fleet),
    /// Time to look for jobs without an answer.
    Tick,
    /// Say what is under way.
    #[cfg(test)]
    Probe(oneshot::Sender<Leftover>),
    /// Fail, as a bug would.
    #[cfg(test)]
    Panic,
}

/// What a dispatcher has under way: nothing, once every check has ended.
#[cfg(test)]
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(super) queued: usize,
    pub(super) sent: usize,
    pub(super) gone: usize,
    pub(super) credits: usize,
}
