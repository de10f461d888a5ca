//! Moves a job from its queue to the dead.

use super::Shared;
use super::api::ApiError;
use super::connection::count;
use super::decide::Received;
use super::{headers, subjects};
use crate::clock::wall_clock_ms;
use crate::wire::{Burial, decode_job, encode_dead};
use crate::{JobAnswer, JobResult, LaneId, SubjectToken};
use async_nats::HeaderMap;
use bytes::Bytes;
use groundline_actors::TaskKind;
use groundline_telemetry::record;
use groundline_types::{Outcome, Reason};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often a burial is tried before the message is left to the broker, which delivers it again or tells the janitor.
const MAX_TRIES: u32 = 5;
/// The pause after the first try; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A message that is to be buried.
#[derive(Debug)]
pub(super) struct Corpse {
    pub(super) sequence: u64,
    pub(super) lane: LaneId,
    pub(super) tenant: SubjectToken,
    pub(super) headers: Option<HeaderMap>,
    pub(super) payload: Bytes,
    pub(super) history: Vec<String>,
}

impl Shared {
    /// Copies a message to the dead and ends it. Whoever asked has been answered.
    pub(super) fn bury(self: &Arc<Self>, received: Received, reason: Reason) {
        let shared = Arc::clone(self);
        self.run(TaskKind::Bury, async move {
            let corpse = shared.corpse(&received);
            if shared.copy_to_dead(corpse, reason).await.is_ok() {
                shared.terminate(&received);
            }
        });
    }

    /// The same where nobody has answered: every item has failed with the reason.
    pub(super) fn bury_and_answer(self: &Arc<Self>, received: Received, reason: Reason) {
        let shared = Arc::clone(self);
        self.run(TaskKind::Bury, async move {
            shared.answer_dead(received.message.payload.clone(), &reason).await;
            let corpse = shared.corpse(&received);
            if shared.copy_to_dead(corpse, reason).await.is_ok() {
                shared.terminate(&received);
            }
        });
    }

    fn corpse(&self, received: &Received) -> Corpse {
        let sequence = received.meta.sequence;
        Corpse {
            sequence,
            lane: received.lane.clone(),
            tenant: received.tenant.clone(),
            headers: received.message.headers.clone(),
            payload: received.message.payload.clone(),
            history: self.notes.history(sequence, received.delivered),
        }
    }

    /// Tells the coordinator of a job that nobody works on it any more.
    pub(super) async fn answer_dead(&self, payload: Bytes, reason: &Reason) {
        let Ok(job) = decode_job(payload, None) else { return };
        let outcomes = vec![Outcome::Failed(reason.clone()); job.texts.len()];
        let result = JobResult { id: job.id, attempt: job.attempt, answer: JobAnswer::Items(outcomes) };
        // Where the bus is closed, the coordinator's own timer ends the wait.
        let _ = self.answer(result).await;
    }

    /// Returns once the copy is safe. Copying one message twice stores it once.
    pub(super) async fn copy_to_dead(&self, corpse: Corpse, reason: Reason) -> Result<(), ApiError> {
        let name = corpse.headers.as_ref().and_then(|headers| headers.get("Nats-Msg-Id"));
        let id = format!("dead:{}:{}", corpse.sequence, name.map_or("", |name| name.as_str()));
        let subject = subjects::dead(&corpse.lane, &corpse.tenant);
        let (sequence, code) = (corpse.sequence, reason.code);
        let payload = encode_dead(Burial {
            job: corpse.payload,
            lane: corpse.lane,
            tenant: corpse.tenant,
            reason,
            history: corpse.history,
            died_at_ms: wall_clock_ms(),
            trace: headers::trace_of(corpse.headers.as_ref()),
        });
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let headers = headers::plain(subjects::DEAD_STREAM, &id);
            match self.connection.api.store(subject.clone(), headers, payload.clone()).await {
                Ok(_) => break,
                Err(error) if attempt == MAX_TRIES => {
                    tracing::error!(sequence, %code, "a dead job could not be kept: {error}");
                    return Err(error);
                }
                Err(_) => sleep(pause).await,
            }
            pause *= 2;
        }
        count(&self.connection.counters.buried);
        record::job_dead(code);
        tracing::warn!(sequence, %code, "a job is dead");
        Ok(())
    }
}
