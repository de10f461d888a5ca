//! What travels on core NATS, at most once: results, cancelled checks, presences.

use super::Shared;
use super::api::refusal;
use super::connection::{Counters, count};
use super::headers;
use super::known::Place;
use super::subjects;
use crate::wire::{
    WireError, decode_cancel, decode_presence, decode_result, encode_cancel, encode_presence, encode_result,
};
use crate::{
    BusClosed, CancelStream, CheckId, Incarnation, JobAnswer, JobId, JobResult, LaneId, Presence,
    PresenceStream, ResultStream, SubjectToken,
};
use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use groundline_actors::{TaskKind, spawn_task};
use groundline_types::{Code, Outcome, Reason};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// Results on their way from a subscription to its reader; what does not fit waits in the subscription.
const RESULT_CAPACITY: usize = 1024;
/// Cancelled checks or presences on their way to one reader; what does not fit is not told.
const NEWS_CAPACITY: usize = 1024;

impl Shared {
    pub(super) async fn answer(&self, result: JobResult) -> Result<(), BusClosed> {
        let subject = subjects::results(result.id.reply_to);
        let (id, attempt) = (result.id, result.attempt);
        let items = if let JobAnswer::Items(outcomes) = &result.answer { outcomes.len() } else { 0 };
        let mut payload = encode_result(result);
        let limit = self.connection.api.client.max_payload();
        if payload.len() > limit {
            let message = format!("the answer has {} bytes, the broker carries {limit}", payload.len());
            let reason = Reason::new(Code::JOB_TOO_LARGE, message);
            let answer = JobAnswer::Items(vec![Outcome::Failed(reason); items]);
            payload = encode_result(JobResult { id, attempt, answer });
        }
        self.tell(subject, payload).await
    }

    async fn tell(&self, subject: String, payload: Bytes) -> Result<(), BusClosed> {
        let sent = self.connection.api.client.publish_with_headers(subject, headers::schema_only(), payload);
        sent.await.map_err(|error| {
            tracing::debug!("a message was not sent: {error}");
            BusClosed
        })
    }

    async fn subscribe(&self, subject: String) -> Result<Subscriber, BusClosed> {
        self.connection.api.client.subscribe(subject).await.map_err(|_| BusClosed)
    }

    pub(super) async fn results(self: &Arc<Self>, me: Incarnation) -> Result<ResultStream, BusClosed> {
        let mut subscriber = self.subscribe(subjects::results(me)).await?;
        let (sender, receiver) = mpsc::channel(RESULT_CAPACITY);
        let shared = Arc::downgrade(self);
        let read = async move {
            while let Some(message) = subscriber.next().await {
                let Some(shared) = shared.upgrade() else { return };
                let Some(result) = shared.read(message, decode_result) else { continue };
                if result.id.reply_to != me {
                    continue;
                }
                shared.published.forget(result.id);
                drop(shared);
                if sender.send(result).await.is_err() {
                    return;
                }
            }
        };
        let task = spawn_task(TaskKind::Results, read);
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).insert(me, task);
        Ok(ResultStream::new(receiver))
    }

    /// A message of ours, decoded; `None` where it is not.
    fn read<T>(&self, message: Message, decode: fn(Bytes) -> Result<T, WireError>) -> Option<T> {
        let decoded = headers::check_schema(message.headers.as_ref())
            .map_err(|error| error.to_string())
            .and_then(|()| decode(message.payload).map_err(|error| error.to_string()));
        decoded
            .inspect_err(|error| {
                count(&self.connection.counters.malformed);
                tracing::warn!("a message cannot be read: {error}");
            })
            .ok()
    }

    pub(super) async fn cancel(&self, model: &SubjectToken, check: CheckId) -> Result<Vec<JobId>, BusClosed> {
        self.cancelled.insert(check);
        self.tell(subjects::cancel(model), encode_cancel(&[check])).await?;
        let (life, jobs) = (self.life(), self.published.of_check(check));
        jobs.iter().for_each(|(id, _)| self.published.forget(*id));
        if jobs.is_empty() || life.is_none() {
            return Ok(Vec::new());
        }
        let mut delivered = BTreeMap::new();
        for lane in jobs.iter().map(|(_, place)| place.lane).collect::<BTreeSet<_>>() {
            delivered.insert(lane, self.last_delivered(&LaneId { model: model.clone(), lane }).await);
        }
        if self.life() != life {
            // Other jobs may have their numbers.
            return Ok(Vec::new());
        }
        // What was delivered before is in somebody's hands, or comes back to somebody who has been told.
        let is_waiting = |place: &Place| Some(place.sequence) > delivered.get(&place.lane).copied().flatten();
        let waiting = jobs.iter().filter(|(_, place)| is_waiting(place));
        let deleted = waiting.map(async |(id, place)| {
            let deleted = self.connection.api.delete_message(subjects::JOBS_STREAM, place.sequence).await;
            deleted.unwrap_or(false).then_some(*id)
        });
        Ok(join_all(deleted).await.into_iter().flatten().collect())
    }

    /// Number of the latest job of a queue that was ever delivered; `None` where nobody has pulled yet.
    async fn last_delivered(&self, lane: &LaneId) -> Option<u64> {
        let what = format!("CONSUMER.INFO.{}.{}", subjects::JOBS_STREAM, subjects::jobs_consumer(lane));
        match self.connection.api.ask(&what, None).await {
            Ok(info) => info.pointer("/delivered/stream_seq").and_then(Value::as_u64),
            Err(error) if error.is(refusal::CONSUMER_NOT_FOUND) => None,
            // Nothing is known to wait.
            Err(_) => Some(u64::MAX),
        }
    }

    pub(super) async fn cancellations(
        self: &Arc<Self>,
        model: &SubjectToken,
    ) -> Result<CancelStream, BusClosed> {
        let shared = Arc::downgrade(self);
        let decode = move |message| {
            let checks = decode_cancel(message)?;
            if let Some(shared) = shared.upgrade() {
                checks.iter().for_each(|check| shared.cancelled.insert(*check));
            }
            Ok(checks)
        };
        let receiver = self.news(subjects::cancel(model), TaskKind::Cancellations, decode).await?;
        Ok(CancelStream::new(receiver))
    }

    pub(super) async fn announce(&self, presence: Presence) -> Result<(), BusClosed> {
        self.tell(subjects::worker(&presence.worker), encode_presence(presence)).await
    }

    pub(super) async fn presences(
        self: &Arc<Self>,
        model: &SubjectToken,
    ) -> Result<PresenceStream, BusClosed> {
        let model = model.clone();
        let decode = move |message| {
            decode_presence(message).map(|presence| (presence.model == model).then_some(presence))
        };
        let receiver = self.news(subjects::ALL_WORKERS.to_owned(), TaskKind::Presences, decode).await?;
        Ok(PresenceStream::new(receiver))
    }

    /// Tells a reader whatever `decode` finds in the messages of a subject, as long as it keeps up.
    async fn news<T: Send + 'static, I: IntoIterator<Item = T> + Send>(
        self: &Arc<Self>,
        subject: String,
        kind: TaskKind,
        decode: impl Fn(Bytes) -> Result<I, WireError> + Send + 'static,
    ) -> Result<mpsc::Receiver<T>, BusClosed> {
        let mut subscriber = self.subscribe(subject).await?;
        let (sender, receiver) = mpsc::channel(NEWS_CAPACITY);
        let counters = Arc::clone(&self.connection.counters);
        let read = async move {
            loop {
                let message = tokio::select! {
                    message = subscriber.next() => message,
                    () = sender.closed() => return,
                };
                let Some(message) = message else { return };
                if headers::check_schema(message.headers.as_ref()).is_err() {
                    count(&counters.malformed);
                    continue;
                }
                tell_all(decode(message.payload), &sender, &counters);
            }
        };
        // Ends with the reader or the connection.
        spawn_task(kind, read).detach();
        Ok(receiver)
    }
}

fn tell_all<T>(
    news: Result<impl IntoIterator<Item = T>, WireError>,
    sender: &mpsc::Sender<T>,
    counters: &Counters,
) {
    match news {
        Ok(news) => {
            for one in news {
                if sender.try_send(one).is_err() {
                    count(&counters.lost_news);
                }
            }
        }
        Err(error) => {
            count(&counters.malformed);
            tracing::warn!("a message cannot be read: {error}");
        }
    }
}
