//! Jobs that are not delivered any more, for whoever looks after the cluster.

use crate::{Job, LaneId, Published, SubjectToken};
use groundline_types::{Problem, Reason};
use std::future::Future;
use std::sync::Arc;

/// A job that is not delivered any more: rejected, or delivered as often as is allowed.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadJob {
    /// Its number among the dead, which grows with time and is never given twice.
    pub sequence: u64,
    /// The job; `None` where its message cannot be decoded.
    pub job: Option<Arc<Job>>,
    /// Where it waited.
    pub lane: LaneId,
    /// Whose it was.
    pub tenant: SubjectToken,
    /// Why it is dead.
    pub reason: Reason,
    /// What became of each of its deliveries, in order. Without text of the user's.
    pub history: Vec<String>,
    /// When it died, in milliseconds since 1970.
    pub died_at_ms: u64,
}

/// The dead jobs of a bus.
///
/// They hold the texts of the requests, so whoever may read them may read what users sent.
pub trait DeadJobs {
    /// Up to `limit` dead jobs with a number above `after`, oldest first. 0 is below every number.
    fn list(&self, limit: usize, after: u64) -> impl Future<Output = Result<Vec<DeadJob>, Problem>> + Send;

    /// One of them; `None` where there is none of this number, or no longer.
    fn get(&self, sequence: u64) -> impl Future<Output = Result<Option<DeadJob>, Problem>> + Send;

    /// Publishes it again as a new attempt and takes it from the dead. `None` where there is none of this number, or where it
    /// cannot be decoded; it stays dead then, and also where the bus refuses it.
    ///
    /// Its answer goes to the coordinator that asked, which has long given up: this shows whether the job still kills its
    /// workers, and puts its scores into their caches.
    fn retry(&self, sequence: u64) -> impl Future<Output = Result<Option<Published>, Problem>> + Send;

    /// Deletes it with its texts. `false` where there is none of this number.
    fn drop(&self, sequence: u64) -> impl Future<Output = Result<bool, Problem>> + Send;
}
