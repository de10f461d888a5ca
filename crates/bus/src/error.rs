//! Why the bus refused.

/// A job was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The job is larger than the bus carries; its publisher must split it first.
    #[error("the job has {size_bytes} bytes, the limit is {limit_bytes}")]
    TooLarge {
        /// Size of the job.
        size_bytes: usize,
        /// [`crate::MAX_JOB_BYTES`].
        limit_bytes: usize,
    },
    /// The tenant has as many jobs waiting as one tenant may.
    #[error("the tenant has {waiting} jobs waiting, which is the limit")]
    TenantFull {
        /// Jobs of this tenant, lane and model that are stored.
        waiting: usize,
    },
    /// The bus holds as many jobs of all tenants as it may.
    #[error("the bus is full")]
    BusFull,
    /// The bus could not be reached while the job's answer was of use. It may be stored all the same.
    #[error("the bus did not store the job in time: {cause}")]
    Unavailable {
        /// What was in the way the last time that it was tried.
        cause: String,
    },
    /// The bus was drained.
    #[error(transparent)]
    Closed(#[from] BusClosed),
}

/// The bus was drained; nothing goes in or out any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bus is closed")]
pub struct BusClosed;
