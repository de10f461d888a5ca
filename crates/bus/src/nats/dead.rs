//! The dead jobs of a broker, for whoever looks after it.

use super::api::ApiError;
use super::headers::{self, Carried};
use super::{NatsBus, Shared, subjects};
use crate::wire::{decode_dead, encode_job};
use crate::{DeadJob, DeadJobs, Job, LaneId, Published};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use groundline_types::{Code, Lane, Problem, Reason};

impl Shared {
    /// The first message of a stream from `sequence` on whose subject matches, or exactly that one where no subject is given.
    pub(super) async fn message(
        &self,
        stream: &str,
        sequence: u64,
        matching: Option<&str>,
    ) -> Result<Option<StreamMessage>, ApiError> {
        let broken = |error: &dyn std::fmt::Display| ApiError::Broken(error.to_string());
        let stream = self.connection.jetstream.get_stream_no_info(stream).await.map_err(|e| broken(&e))?;
        let mut wanted = stream.raw_message_builder().sequence(sequence);
        if let Some(subject) = matching {
            wanted = wanted.next_by_subject(subject);
        }
        match wanted.send().await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(broken(&error)),
        }
    }
}

impl DeadJobs for NatsBus {
    async fn list(&self, limit: usize, after: u64) -> Result<Vec<DeadJob>, Problem> {
        let (mut dead, mut from) = (Vec::new(), after.saturating_add(1));
        while dead.len() < limit {
            let found = self.shared.message(subjects::DEAD_STREAM, from, Some(subjects::ALL_DEAD)).await;
            let Some(message) = found.map_err(unavailable)? else { break };
            from = message.sequence + 1;
            dead.push(read(message));
        }
        Ok(dead)
    }

    async fn get(&self, sequence: u64) -> Result<Option<DeadJob>, Problem> {
        let found = self.shared.message(subjects::DEAD_STREAM, sequence, None).await.map_err(unavailable)?;
        let is_dead_job = |message: &StreamMessage| subjects::parse_jobs(&message.subject).is_some();
        Ok(found.filter(is_dead_job).map(read))
    }

    async fn retry(&self, sequence: u64) -> Result<Option<Published>, Problem> {
        let Some(dead) = self.get(sequence).await? else { return Ok(None) };
        let Some(job) = dead.job else { return Ok(None) };
        let again = Job { attempt: job.attempt.saturating_add(1), ..Job::clone(&job) };
        // Not the attempt's name: the coordinator may have sent that attempt itself, in vain.
        let id = format!("{}:dead-{sequence}-{}", again.id, dead.died_at_ms);
        let headers = headers::for_job(&again, subjects::JOBS_STREAM, &id, Carried::default());
        let subject = subjects::jobs(&again.lane, &again.tenant);
        let api = &self.shared.connection.api;
        let stored = api.store(subject, headers, encode_job(&again)).await.map_err(unavailable)?;
        api.delete_message(subjects::DEAD_STREAM, sequence).await.map_err(unavailable)?;
        Ok(Some(if stored.is_duplicate { Published::Duplicate } else { Published::Stored }))
    }

    async fn drop(&self, sequence: u64) -> Result<bool, Problem> {
        if self.get(sequence).await?.is_none() {
            return Ok(false);
        }
        self.shared.connection.api.delete_message(subjects::DEAD_STREAM, sequence).await.map_err(unavailable)
    }
}

pub(super) fn unavailable(error: ApiError) -> Problem {
    Problem::new(Code::BUS_UNAVAILABLE, error.to_string())
}

fn read(message: StreamMessage) -> DeadJob {
    let (sequence, subject) = (message.sequence, message.subject);
    decode_dead(message.payload, sequence).unwrap_or_else(|error| {
        let (lane, tenant) = subjects::parse_jobs(&subject).unwrap_or_else(|| {
            let tenant = subjects::tenant_of(&subject);
            (LaneId { model: tenant.clone(), lane: Lane::Bulk }, tenant)
        });
        let reason = Reason::new(Code::INTERNAL, format!("what was kept of it cannot be read: {error}"));
        DeadJob { sequence, job: None, lane, tenant, reason, history: Vec::new(), died_at_ms: 0 }
    })
}
