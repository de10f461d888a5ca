//! What a delivered message says, before and after it is decoded.

use super::Shared;
use super::connection::count;
use super::decide::{JobTicket, Received};
use super::headers::{self, HeaderError};
use super::subjects;
use crate::wire::{WireError, decode_job};
use crate::{Delivery, Job, LaneId};
use async_nats::Message;
use groundline_actors::TaskKind;
use groundline_types::{Code, Reason};
use std::sync::Arc;
use std::time::Duration;

/// How long a message rests that this program does not understand and another may.
const REST_FOR_OTHERS: Duration = Duration::from_secs(5);

/// What the broker says of a delivery in the subject that decisions go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    /// How often the message was delivered, this time included.
    pub(super) delivered: u32,
    /// Its number in its stream.
    pub(super) sequence: u64,
    /// When it was stored, by the broker's clock.
    pub(super) stored_at_ms: u64,
}

impl Meta {
    /// Reads `$JS.ACK.<stream>.<consumer>.<delivered>.<sequence>.<…>.<time>.<…>`, or the later form that has a domain and an
    /// account before the stream.
    pub(super) fn parse(subject: &str) -> Option<Self> {
        let tokens = subject.strip_prefix("$JS.ACK.")?.split('.').collect::<Vec<_>>();
        let rest = match tokens.len() {
            7 => &tokens[2..],
            9.. => &tokens[4..],
            _ => return None,
        };
        let stored_at_nanos: u64 = rest[3].parse().ok()?;
        Some(Self {
            delivered: rest[0].parse().ok()?,
            sequence: rest[1].parse().ok()?,
            stored_at_ms: stored_at_nanos / 1_000_000,
        })
    }
}

/// A message that is no job for this program.
#[derive(Debug, thiserror::Error)]
enum NotAJob {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("the message is of another queue or tenant than its subject says")]
    OtherSubject,
}

impl NotAJob {
    fn may_be_for_others(&self) -> bool {
        match self {
            NotAJob::Header(error) => matches!(error, HeaderError::Schema { .. }),
            NotAJob::Wire(error) => error.is_of_later_schema(),
            NotAJob::OtherSubject => false,
        }
    }
}

impl Shared {
    /// The delivery of a message; `None` where it is no job, which is decided then.
    pub(super) fn receive(self: &Arc<Self>, lane: &LaneId, message: Message, life: u64) -> Option<Delivery> {
        let Some(meta) = message.reply.as_deref().and_then(Meta::parse) else {
            count(&self.connection.counters.malformed);
            tracing::warn!("a message came that the broker did not deliver from a stream");
            return None;
        };
        let tenant = subjects::tenant_of(&message.subject);
        let ack_wait = self.options.ack_wait(lane.lane);
        let (lane, delivered) = (lane.clone(), meta.delivered);
        let mut received = Received { message, meta, life, lane, tenant, delivered };
        let decoded =
            headers::read_job(received.message.headers.as_ref()).map_err(NotAJob::from).and_then(|headers| {
                let job = decode_job(received.message.payload.clone(), headers.trace.clone())?;
                let is_its_subject = job.lane == received.lane && job.tenant == received.tenant;
                if is_its_subject { Ok((job, headers.carried)) } else { Err(NotAJob::OtherSubject) }
            });
        let (job, carried) = match decoded {
            Ok(decoded) => decoded,
            Err(error) => {
                self.refuse(received, &error);
                return None;
            }
        };
        received.delivered = received.delivered.saturating_add(carried.delivered);
        let waited_ms = self.broker_now_ms().saturating_sub(meta.stored_at_ms);
        let waited = carried.waited + Duration::from_millis(waited_ms);
        self.deliver(received, job, waited, ack_wait)
    }

    fn deliver(
        self: &Arc<Self>,
        received: Received,
        job: Job,
        waited: Duration,
        ack_wait: Duration,
    ) -> Option<Delivery> {
        let (delivered, job) = (received.delivered, Arc::new(job));
        if self.cancelled.contains(job.id.check_id()) {
            self.drop_cancelled(received);
            return None;
        }
        if delivered > self.options.max_deliver {
            self.bury_and_answer(received, worn_out());
            return None;
        }
        let ticket = JobTicket::new(Arc::clone(self), received, Arc::clone(&job), waited, ack_wait);
        Some(Delivery::new(job, delivered, waited, ack_wait, Box::new(ticket)))
    }

    /// Ends a job that nobody wants any more, and says so, so that whoever counts its tokens stops.
    fn drop_cancelled(self: &Arc<Self>, received: Received) {
        let shared = Arc::clone(self);
        self.run(TaskKind::Settle, async move {
            let reason = Reason::new(Code::CANCELLED, "the check was cancelled");
            shared.answer_dead(received.message.payload.clone(), &reason).await;
            shared.acknowledge(&received);
        });
    }

    /// Leaves a message to others for a while where they may understand it, and buries it where nobody can.
    fn refuse(self: &Arc<Self>, received: Received, error: &NotAJob) {
        count(&self.connection.counters.malformed);
        tracing::warn!(sequence = received.meta.sequence, "a message is no job for this program: {error}");
        if error.may_be_for_others() && received.delivered < self.options.max_deliver {
            self.rest(&received, REST_FOR_OTHERS);
        } else {
            self.bury(received, Reason::new(Code::INTERNAL, error.to_string()));
        }
    }
}

/// Why a job is dead that nobody has rejected.
pub(super) fn worn_out() -> Reason {
    Reason::new(Code::JOB_DEAD, "the job was delivered as often as is allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broker_s_word_on_a_delivery_is_read_in_both_its_forms() {
        let meta = Meta { delivered: 3, sequence: 100, stored_at_ms: 1_790_230_470_084 };
        let old = "$JS.ACK.GL_JOBS_V1.m-online.3.100.7.1790230470084404000.42";
        let new = "$JS.ACK._.szMpdrwD.GL_JOBS_V1.m-online.3.100.7.1790230470084404000.42";
        assert_eq!(Meta::parse(old), Some(meta));
        assert_eq!(Meta::parse(new), Some(meta));
        assert_eq!(Meta::parse(&format!("{new}.token")), Some(meta));
        assert_eq!(Meta::parse("$JS.ACK.a.b.c"), None);
        assert_eq!(Meta::parse("_INBOX.gl.1"), None);
    }
}
