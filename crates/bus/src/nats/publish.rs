//! Jobs on their way to the queue.

use super::Shared;
use super::api::{ApiError, refusal};
use super::headers::{self, Carried};
use super::known::Place;
use super::subjects;
use crate::wire::encode_job;
use crate::{Job, LaneId, MAX_JOB_BYTES, PublishError, Published};
use async_nats::HeaderMap;
use bytes::Bytes;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Pause between two attempts to store a job.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// What to do after an attempt to store a job.
enum Next {
    Give(Result<Published, PublishError>),
    TryAgain { cause: String, is_missing: bool },
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
        if self.is_stored(job).await {
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
                Next::TryAgain { is_missing, .. } => {
                    if is_missing {
                        self.doubt();
                    }
                    sleep(RETRY_PAUSE).await;
                }
            }
            self.open()?;
        }
    }

    /// Whether some attempt of the job is in the queue or in hands. Where the broker does not say, it is sent again: the worker
    /// knows its scores still.
    async fn is_stored(&self, job: &Job) -> bool {
        let id = job.id;
        let Some(sequence) = self.published.sequence(id) else { return false };
        let Ok(Some(message)) = self.message(subjects::JOBS_STREAM, sequence, None).await else {
            return false;
        };
        // A stream that was made anew may have given the number to another job.
        let is_its =
            headers::message_id(&message.headers).is_some_and(|found| found.starts_with(&format!("{id}:")));
        if is_its && job.attempt > 0 && self.is_passed_over(&job.lane, sequence).await {
            tracing::warn!(job = %id, "a job lies where nobody is given it; it is stored anew");
            let deleted = self.connection.api.delete_message(subjects::JOBS_STREAM, sequence).await;
            return deleted.is_err();
        }
        is_its
    }

    /// Whether a message of a queue was not decided and is not delivered any more: brokers pass over messages where somebody
    /// decides on a later one that was not delivered yet, as a late word on a forgotten stream can.
    async fn is_passed_over(&self, lane: &LaneId, sequence: u64) -> bool {
        let what = format!("CONSUMER.INFO.{}.{}", subjects::JOBS_STREAM, subjects::jobs_consumer(lane));
        let Ok(info) = self.connection.api.ask(&what, None).await else { return false };
        let read = |pointer: &str| info.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
        let is_behind = sequence <= read("/delivered/stream_seq");
        is_behind && (sequence <= read("/ack_floor/stream_seq") || read("/num_ack_pending") == 0)
    }

    async fn try_to_store(&self, job: &Job, subject: &str, headers: &HeaderMap, payload: &Bytes) -> Next {
        let life = self.life();
        let stored = self.connection.api.store(subject.to_owned(), headers.clone(), payload.clone()).await;
        match stored {
            Ok(ack) if ack.is_duplicate => Next::Give(Ok(Published::Duplicate)),
            Ok(ack) => {
                // Which stream gave the number is known where nothing has changed meanwhile.
                if life.is_some() && life == self.life() {
                    let place = Place { lane: job.lane.lane, sequence: ack.sequence };
                    self.published.insert(job.id, place);
                }
                Next::Give(Ok(Published::Stored))
            }
            Err(ApiError::Refused { number, description }) => {
                self.refused(number, description, payload.len())
            }
            // After a restart of a broker that keeps jobs in memory.
            Err(ApiError::NobodyThere) => {
                Next::TryAgain { cause: ApiError::NobodyThere.to_string(), is_missing: true }
            }
            Err(error) => Next::TryAgain { cause: error.to_string(), is_missing: false },
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
                return Next::TryAgain { cause, is_missing: false };
            }
        };
        Next::Give(Err(error))
    }
}
