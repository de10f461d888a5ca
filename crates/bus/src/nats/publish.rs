//! Jobs on their way to the queue.

use super::Shared;
use super::api::{ApiError, refusal};
use super::headers::{self, Carried};
use super::known::Place;
use super::subjects;
use crate::wire::encode_job;
use crate::{Job, JobId, MAX_JOB_BYTES, PublishError, Published};
use async_nats::HeaderMap;
use bytes::Bytes;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Pause between two attempts to store a job.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// What to do after an attempt to store a job.
enum Next {
    Give(Result<Published, PublishError>),
    TryAgain { cause: String, ensures: bool },
}

impl Shared {
    /// Stores a job. What the broker leaves open is asked again under the same id, which it stores once, for as long as the
    /// answer is of use.
    pub(super) async fn publish(&self, job: &Job) -> Result<Published, PublishError> {
        let size_bytes = job.size_bytes();
        if size_bytes > MAX_JOB_BYTES {
            return Err(PublishError::TooLarge { size_bytes, limit_bytes: MAX_JOB_BYTES });
        }
        let give_up = Instant::now() + job.time_left;
        // Never closed while the bus lives.
        let _permit = self.unconfirmed.acquire().await;
        if self.is_stored(job.id).await {
            return Ok(Published::Duplicate);
        }
        let id = format!("{}:{}", job.id, job.attempt);
        let headers = headers::for_job(job, subjects::JOBS_STREAM, &id, Carried::default());
        let (subject, payload) = (subjects::jobs(&job.lane, &job.tenant), encode_job(job));
        loop {
            match self.try_to_store(job, &subject, &headers, &payload).await {
                Next::Give(end) => return end,
                Next::TryAgain { cause, .. } if Instant::now() + RETRY_PAUSE >= give_up => {
                    return Err(PublishError::Unavailable { cause });
                }
                Next::TryAgain { ensures, .. } => {
                    if ensures && let Err(problem) = self.ensure_all().await {
                        tracing::warn!(code = %problem.code, "the queue is not there: {}", problem.message);
                    }
                    sleep(RETRY_PAUSE).await;
                }
            }
            self.open()?;
        }
    }

    /// Whether some attempt of the job is in the queue or in hands. Where the broker does not say, it is sent again: the worker
    /// knows its scores still.
    async fn is_stored(&self, id: JobId) -> bool {
        let Some(sequence) = self.published.sequence(id) else { return false };
        self.connection.api.has_message(subjects::JOBS_STREAM, sequence).await.unwrap_or(false)
    }

    async fn try_to_store(&self, job: &Job, subject: &str, headers: &HeaderMap, payload: &Bytes) -> Next {
        let stored = self.connection.api.store(subject.to_owned(), headers.clone(), payload.clone()).await;
        match stored {
            Ok(ack) if ack.is_duplicate => Next::Give(Ok(Published::Duplicate)),
            Ok(ack) => {
                let place = Place { lane: job.lane.lane, sequence: ack.sequence };
                self.published.insert(job.id, place);
                Next::Give(Ok(Published::Stored))
            }
            Err(ApiError::Refused { number, description }) => {
                self.refused(number, description, payload.len())
            }
            // After a restart of a broker that keeps jobs in memory.
            Err(ApiError::NobodyThere) => {
                Next::TryAgain { cause: ApiError::NobodyThere.to_string(), ensures: true }
            }
            Err(error) => Next::TryAgain { cause: error.to_string(), ensures: false },
        }
    }

    fn refused(&self, number: u64, description: String, size_bytes: usize) -> Next {
        let error = match number {
            // One number for every limit of a stream.
            refusal::NOT_STORED if description.contains("per subject") => {
                PublishError::TenantFull { waiting: self.options.max_jobs_per_tenant as usize }
            }
            refusal::NOT_STORED
            | refusal::NO_STORAGE_LEFT
            | refusal::NO_MEMORY_LEFT
            | refusal::NO_RESOURCES_LEFT => PublishError::BusFull,
            refusal::MESSAGE_TOO_LARGE => PublishError::TooLarge { size_bytes, limit_bytes: MAX_JOB_BYTES },
            _ => {
                let cause = ApiError::Refused { number, description }.to_string();
                return Next::TryAgain { cause, ensures: false };
            }
        };
        Next::Give(Err(error))
    }
}
