//! Looks after messages that the broker has given up.
//!
//! A message that was delivered as often as is allowed stays in its work queue for ever, and fills it. The broker says so once,
//! on a subject that the dead stream keeps; whoever reads that first moves the message to the dead. A sweep finds what nobody is
//! given and nothing was said of, and puts it back.

use super::Shared;
use super::api::ApiError;
use super::bury::Corpse;
use super::headers::{self, Carried};
use super::pull::{Queue, ask};
use super::receive::{Meta, worn_out};
use super::{subjects, topology};
use crate::LaneId;
use crate::clock::parse_utc_ms;
use async_nats::Message;
use async_nats::jetstream::message::StreamMessage;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Most messages taken at once.
const BATCH: usize = 16;
/// How long one question for messages waits.
const WAIT: Duration = Duration::from_secs(5);
/// Pause where the broker does not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// How often queues are swept.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Most messages of one queue that one sweep moves.
const MAX_SWEPT: usize = 256;

/// What the broker says of a message that was delivered as often as is allowed.
#[derive(Debug, Deserialize)]
struct GivenUp {
    stream_seq: u64,
    #[serde(default)]
    deliveries: u32,
    /// When it was said.
    timestamp: String,
}

impl GivenUp {
    /// Whether this is about a message that was stored then. One that was stored later has the number of another: of a stream that
    /// was deleted.
    fn is_about(&self, stored_at_ms: i128) -> bool {
        parse_utc_ms(&self.timestamp).is_none_or(|said_at_ms| stored_at_ms <= i128::from(said_at_ms))
    }
}

/// Looks after one stream for ever.
pub(super) async fn tend(shared: Arc<Shared>, stream: &'static str) {
    let wanted = topology::janitor_consumer(&shared.options, stream);
    let consumer = wanted.consumer.clone().unwrap_or_default();
    let queue = Queue { stream: subjects::DEAD_STREAM, consumer, jobs: None };
    let mut sweep_at = Instant::now() + SWEEP_EVERY;
    loop {
        shared.settled_life().await;
        let ready = shared.ensure_once(wanted.clone()).await.is_ok();
        match ask(&shared, &queue, BATCH, WAIT).await {
            Ok(messages) => {
                for message in messages {
                    if let Err(error) = shared.clear_away(stream, message).await {
                        tracing::warn!(stream, "what the broker has given up is left for later: {error}");
                    }
                }
            }
            Err(_) if ready => sleep(PAUSE).await,
            Err(_) => sleep(5 * PAUSE).await,
        }
        if stream == subjects::JOBS_STREAM && Instant::now() >= sweep_at {
            sweep_at = Instant::now() + SWEEP_EVERY;
            for lane in shared.pulled_lanes() {
                if let Err(error) = shared.sweep(&lane).await {
                    tracing::debug!("a queue could not be swept: {error}");
                }
            }
        }
    }
}

fn stored_at_ms(message: &StreamMessage) -> i128 {
    message.time.unix_timestamp_nanos() / 1_000_000
}

impl Shared {
    /// Moves the message that `word` is about. Whatever is left undone is said again by the broker.
    async fn clear_away(self: &Arc<Self>, stream: &str, word: Message) -> Result<(), ApiError> {
        if let Ok(given_up) = serde_json::from_slice::<GivenUp>(&word.payload) {
            let (sequence, deliveries) = (given_up.stream_seq, given_up.deliveries);
            let message = self.message(stream, sequence, None).await?;
            let is_its = |message: &StreamMessage| given_up.is_about(stored_at_ms(message));
            if let Some(message) = message.filter(is_its) {
                if stream == subjects::JOBS_STREAM {
                    self.move_to_dead(message, deliveries).await?;
                } else {
                    self.fail_check(message).await?;
                }
            }
        }
        if let Some(meta) = word.reply.as_deref().and_then(Meta::parse) {
            self.connection.api.delete_message(subjects::DEAD_STREAM, meta.sequence).await?;
        }
        if let Some(reply) = word.reply {
            let sent = self.connection.api.client.publish(reply, Bytes::from_static(b"+ACK")).await;
            sent.map_err(|error| ApiError::Broken(error.to_string()))?;
        }
        Ok(())
    }

    async fn move_to_dead(&self, message: StreamMessage, deliveries: u32) -> Result<(), ApiError> {
        let Some((lane, tenant)) = subjects::parse_jobs(&message.subject) else { return Ok(()) };
        let sequence = message.sequence;
        self.answer_dead(message.payload.clone(), &worn_out()).await;
        let corpse = Corpse {
            sequence,
            lane,
            tenant,
            headers: Some(message.headers),
            payload: message.payload,
            history: self.notes.history(sequence, deliveries),
        };
        self.copy_to_dead(corpse, worn_out()).await?;
        self.connection.api.delete_message(subjects::JOBS_STREAM, sequence).await.map(drop)
    }

    /// A queue with nothing to deliver and nothing in hands must be empty. What is there all the same was passed over, which is no
    /// fault of its own, or given up while nobody heard of that.
    pub(super) async fn sweep(&self, lane: &LaneId) -> Result<(), ApiError> {
        let what = format!("CONSUMER.INFO.{}.{}", subjects::JOBS_STREAM, subjects::jobs_consumer(lane));
        let info = self.connection.api.ask(&what, None).await?;
        let read = |pointer: &str| info.pointer(pointer).and_then(Value::as_u64);
        if read("/num_pending") != Some(0) || read("/num_ack_pending") != Some(0) {
            return Ok(());
        }
        let last = read("/delivered/stream_seq").unwrap_or_default();
        let mut from = 1;
        for _ in 0..MAX_SWEPT {
            let subject = subjects::jobs_of(lane);
            let found = self.message(subjects::JOBS_STREAM, from, Some(&subject)).await?;
            let Some(message) = found.filter(|message| message.sequence <= last) else { break };
            from = message.sequence + 1;
            self.put_back(message).await?;
        }
        Ok(())
    }

    /// Stores a message anew. That counts as a delivery, so that nothing is put back for ever, and what was given up is suspect.
    async fn put_back(&self, message: StreamMessage) -> Result<(), ApiError> {
        let carried = headers::read_job(Some(&message.headers)).map(|headers| headers.carried);
        let carried =
            carried.unwrap_or(Carried { delivered: self.options.max_deliver, waited: Duration::ZERO });
        let delivered = carried.delivered.saturating_add(1);
        if delivered >= self.options.max_deliver {
            return self.move_to_dead(message, delivered).await;
        }
        let stored_at_ms = u64::try_from(stored_at_ms(&message)).unwrap_or_default();
        let here = Duration::from_millis(self.broker_now_ms().saturating_sub(stored_at_ms));
        let carried = Carried { delivered, waited: carried.waited + here };
        let sequence = message.sequence;
        tracing::warn!(sequence, "a job lay where nobody is given it, and is put back");
        let headers = headers::in_place_of(message.headers, sequence, carried);
        self.connection.api.store(message.subject.to_string(), headers, message.payload).await?;
        self.connection.api.delete_message(subjects::JOBS_STREAM, sequence).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_after_a_word_was_said_is_another_message() {
        let said = r#"{"stream_seq": 7, "deliveries": 4, "timestamp": "1970-01-01T00:00:10.5Z"}"#;
        let given_up: GivenUp = serde_json::from_str(said).unwrap();
        assert!(given_up.is_about(0) && given_up.is_about(10_500) && !given_up.is_about(10_501));
    }
}
