//! The queue of checks and the table of their answers on a broker.

mod bodies;
mod delivery;

pub(super) use bodies::Bodies;

use super::api::{ApiError, refusal};
use super::dead::unavailable;
use super::pull::{PullError, Queue, ask};
use super::{NatsBus, Shared, headers, subjects, topology};
use crate::wire::{Stored, WireAnswer, decode_answer, decode_check, encode_answer, encode_check};
use crate::{Answer, CheckDelivery, CheckQueue, CheckTicket, MAX_CHECK_BYTES, Published, SubjectToken};
use async_nats::Message;
use async_nats::jetstream::kv::{CreateErrorKind, Entry, Operation, Store, UpdateErrorKind};
use async_nats::jetstream::message::StreamMessage;
use delivery::CheckTicketOnBroker;
use groundline_types::{Code, Lane, Problem, Reason};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// How often an answer is set anew where another process sets it at the same time.
const MAX_RACES: usize = 16;
/// How often a check is sent that the broker does not confirm.
const MAX_TRIES: u32 = 4;
/// Pause before a queue is asked again that does not answer, or a check is sent again.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest single wait at the broker; a longer pull asks again.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A [`CheckQueue`] on the broker of a [`NatsBus`], durable whatever the bus keeps its jobs in. Clones are the same queue.
///
/// Bodies and results over 256 KiB go through the broker's object store.
#[derive(Debug, Clone)]
pub struct NatsCheckQueue {
    bus: NatsBus,
}

impl NatsBus {
    /// The queue of checks on the same broker. It works until the bus is drained.
    pub fn checks(&self) -> NatsCheckQueue {
        NatsCheckQueue { bus: self.clone() }
    }
}

impl CheckQueue for NatsCheckQueue {
    async fn submit(&self, ticket: CheckTicket, body: Vec<u8>) -> Result<Published, Problem> {
        self.bus.shared.open_or_problem()?;
        self.bus.shared.submit_check(ticket, body).await
    }

    async fn pull(&self, max: usize, wait: Duration) -> Result<Vec<CheckDelivery>, Problem> {
        let shared = &self.bus.shared;
        let mut closed = shared.closed.subscribe();
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => Err(is_closed()),
            deliveries = shared.pull_checks(max, wait) => Ok(deliveries),
        }
    }

    async fn put_answer(&self, tenant: &SubjectToken, id: &str, answer: Answer) -> Result<(), Problem> {
        self.bus.shared.open_or_problem()?;
        self.bus.shared.put_answer(tenant, id, answer).await
    }

    async fn answer(&self, tenant: &SubjectToken, id: &str) -> Result<Option<Answer>, Problem> {
        self.bus.shared.open_or_problem()?;
        let shared = &self.bus.shared;
        match shared.read_answer(tenant, id).await?.map(|(answer, _)| answer) {
            None => Ok(None),
            Some(WireAnswer::Waiting) => Ok(Some(Answer::Waiting)),
            Some(WireAnswer::Running) => Ok(Some(Answer::Running)),
            Some(WireAnswer::Failed { code, message }) => Ok(Some(Answer::Failed { code, message })),
            // A body that has expired before its answer is an answer that has expired.
            Some(WireAnswer::Done(body)) => Ok(shared.load(body).await?.map(Answer::Done)),
        }
    }
}

fn is_closed() -> Problem {
    Problem::new(Code::BUS_UNAVAILABLE, "the bus is closed")
}

fn key(tenant: &SubjectToken, id: &str) -> String {
    format!("{tenant}.{}", SubjectToken::from_name(id))
}

fn trouble(error: impl std::fmt::Display) -> Problem {
    Problem::new(Code::BUS_UNAVAILABLE, format!("the table of answers cannot be used: {error}"))
}

fn refuse_large(size_bytes: usize) -> Result<(), Problem> {
    if size_bytes > MAX_CHECK_BYTES {
        let message = format!("the check has {size_bytes} bytes, the limit is {MAX_CHECK_BYTES}");
        return Err(Problem::new(Code::JOB_TOO_LARGE, message));
    }
    Ok(())
}

impl Shared {
    fn open_or_problem(&self) -> Result<(), Problem> {
        self.open().map_err(|_| is_closed())
    }

    pub(super) async fn answers(&self) -> Result<&Store, Problem> {
        let open = || self.connection.jetstream.get_key_value(subjects::ANSWERS_BUCKET);
        self.answers.get_or_try_init(open).await.map_err(trouble)
    }

    /// The answer of a check and its revision.
    async fn read_answer(
        &self,
        tenant: &SubjectToken,
        id: &str,
    ) -> Result<Option<(WireAnswer, u64)>, Problem> {
        let entry = self.answers().await?.entry(key(tenant, id)).await.map_err(trouble)?;
        let is_set = |entry: &Entry| entry.operation == Operation::Put;
        let Some(entry) = entry.filter(is_set) else { return Ok(None) };
        let answer = decode_answer(entry.value).map_err(trouble)?;
        Ok(Some((answer, entry.revision)))
    }

    async fn submit_check(&self, ticket: CheckTicket, body: Vec<u8>) -> Result<Published, Problem> {
        refuse_large(body.len())?;
        let key = key(&ticket.tenant, &ticket.id);
        let created = self.answers().await?.create(&key, encode_answer(WireAnswer::Waiting)).await;
        let is_new = match created {
            Ok(_) => true,
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => false,
            Err(error) => return Err(trouble(error)),
        };
        // One that waits may have lost its submitter before it was stored; storing it twice stores it once.
        let waits =
            matches!(self.read_answer(&ticket.tenant, &ticket.id).await?, Some((WireAnswer::Waiting, _)));
        if !is_new && !waits {
            return Ok(Published::Duplicate);
        }
        let stored = self.store_check(&ticket, &key, body).await;
        if is_new && stored.is_err() {
            // Nobody will ever begin it. Where this fails as well, the entry expires.
            let _ = self.answers().await?.purge(&key).await;
        }
        // Where this is new and stored already, an earlier try had arrived, and the word of it had not.
        stored.map(|()| if is_new { Published::Stored } else { Published::Duplicate })
    }

    async fn store_check(&self, ticket: &CheckTicket, key: &str, body: Vec<u8>) -> Result<(), Problem> {
        let body = self.save(&format!("{key}.check"), body).await?;
        let object = if let Stored::Object(name) = &body { Some(name.clone()) } else { None };
        let payload = encode_check(ticket, body);
        let subject = subjects::checks(ticket.lane, &ticket.tenant);
        let headers = headers::plain(subjects::CHECKS_STREAM, &format!("check:{key}"));
        let mut tries = 0;
        let error = loop {
            let stored = self.connection.api.store(subject.clone(), headers.clone(), payload.clone()).await;
            tries += 1;
            match stored {
                Ok(_) => return Ok(()),
                Err(error @ ApiError::Refused { .. }) => break error,
                Err(error) if tries == MAX_TRIES => break error,
                Err(_) => sleep(PAUSE).await,
            }
        };
        if let Some(name) = object {
            self.forget_body(&name).await;
        }
        Err(match &error {
            ApiError::Refused { number: refusal::NOT_STORED, description } => {
                let what = if description.contains("per subject") { "the tenant" } else { "the broker" };
                Problem::new(Code::OVERLOADED, format!("{what} has as many checks as it may"))
            }
            _ => unavailable(error),
        })
    }

    async fn put_answer(&self, tenant: &SubjectToken, id: &str, answer: Answer) -> Result<(), Problem> {
        let key = key(tenant, id);
        let answer = match answer {
            Answer::Waiting => WireAnswer::Waiting,
            Answer::Running => WireAnswer::Running,
            Answer::Failed { code, message } => WireAnswer::Failed { code, message },
            Answer::Done(body) => {
                refuse_large(body.len())?;
                WireAnswer::Done(self.save(&format!("{key}.answer"), body).await?)
            }
        };
        let value = encode_answer(answer);
        for _ in 0..MAX_RACES {
            let raced = match self.read_answer(tenant, id).await? {
                Some((WireAnswer::Done(_) | WireAnswer::Failed { .. }, _)) => return Ok(()),
                Some((_, revision)) => {
                    let updated = self.answers().await?.update(&key, value.clone(), revision).await;
                    updated.map(drop).map_err(|error| match error.kind() {
                        UpdateErrorKind::WrongLastRevision => None,
                        _ => Some(trouble(error)),
                    })
                }
                None => {
                    let created = self.answers().await?.create(&key, value.clone()).await;
                    created.map(drop).map_err(|error| match error.kind() {
                        CreateErrorKind::AlreadyExists => None,
                        _ => Some(trouble(error)),
                    })
                }
            };
            match raced {
                Ok(()) => return Ok(()),
                Err(Some(problem)) => return Err(problem),
                Err(None) => {}
            }
        }
        Err(trouble("too many processes set the same answer"))
    }

    /// Gives a check up that the broker has given up.
    pub(super) async fn fail_check(self: &Arc<Self>, message: StreamMessage) -> Result<(), ApiError> {
        let sequence = message.sequence;
        if let Ok((ticket, body)) = decode_check(message.payload) {
            let failed = self.fail(&ticket, worn_out()).await;
            failed.map_err(|problem| ApiError::Broken(problem.message))?;
            if let Stored::Object(name) = body {
                self.forget_body(&name).await;
            }
        }
        self.connection.api.delete_message(subjects::CHECKS_STREAM, sequence).await.map(drop)
    }

    async fn fail(&self, ticket: &CheckTicket, reason: Reason) -> Result<(), Problem> {
        let answer = Answer::Failed { code: reason.code.to_string(), message: reason.message };
        self.put_answer(&ticket.tenant, &ticket.id, answer).await
    }

    async fn pull_checks(self: &Arc<Self>, max: usize, wait: Duration) -> Vec<CheckDelivery> {
        let give_up = Instant::now() + wait;
        loop {
            let Ok(life) = timeout_at(give_up, self.settled_life()).await else { return Vec::new() };
            let taken = self.take_checks(max, life).await;
            let left = give_up.saturating_duration_since(Instant::now());
            match taken {
                Ok(deliveries) if !deliveries.is_empty() || left.is_zero() => return deliveries,
                Ok(_) => {
                    if let Some(first) = self.first_check(left.min(MAX_WAIT), life).await {
                        return vec![first];
                    }
                }
                Err(_) if left.is_zero() => return Vec::new(),
                Err(error) => {
                    if error == PullError::Missing {
                        self.doubt();
                    }
                    sleep(PAUSE.min(left)).await;
                }
            }
        }
    }

    fn checks_queue(lane: Lane) -> Queue {
        let consumer = subjects::checks_consumer(lane).to_owned();
        Queue { stream: subjects::CHECKS_STREAM, consumer, jobs: None }
    }

    /// What is there, of the online lane first.
    async fn take_checks(self: &Arc<Self>, max: usize, life: u64) -> Result<Vec<CheckDelivery>, PullError> {
        let mut deliveries = Vec::new();
        for lane in [Lane::Online, Lane::Bulk] {
            let wanted = topology::checks_consumer(&self.options, lane);
            self.ensure_once(wanted).await.map_err(|_| PullError::Missing)?;
            let room = max - deliveries.len();
            if room == 0 {
                break;
            }
            let queue = Self::checks_queue(lane);
            for message in ask(self, &queue, room, Duration::ZERO).await? {
                deliveries.extend(self.receive_check(message, life).await);
            }
        }
        Ok(deliveries)
    }

    /// The first check of any lane that comes.
    async fn first_check(self: &Arc<Self>, wait: Duration, life: u64) -> Option<CheckDelivery> {
        let (online, bulk) = (Self::checks_queue(Lane::Online), Self::checks_queue(Lane::Bulk));
        // The question that is dropped gives back what may come to it.
        let messages = tokio::select! {
            messages = ask(self, &online, 1, wait) => messages,
            messages = ask(self, &bulk, 1, wait) => messages,
        };
        let message = match messages {
            Ok(messages) => messages.into_iter().next()?,
            Err(_) => {
                sleep(PAUSE).await;
                return None;
            }
        };
        self.receive_check(message, life).await
    }

    async fn receive_check(self: &Arc<Self>, message: Message, life: u64) -> Option<CheckDelivery> {
        let mut ticket = CheckTicketOnBroker::new(Arc::clone(self), &message, life)?;
        let (check, body) = match decode_check(message.payload) {
            Ok(decoded) => decoded,
            Err(error) => {
                tracing::warn!("a check cannot be read: {error}");
                ticket.give_up_unreadable();
                return None;
            }
        };
        ticket.learn(&check, &body);
        let loaded = match self.load(body).await {
            Ok(Some(body)) => body,
            Ok(None) => {
                ticket.reject(Reason::new(Code::INTERNAL, "the body of the check has expired"));
                return None;
            }
            Err(problem) => {
                tracing::warn!(code = %problem.code, "the body of a check cannot be read: {}", problem.message);
                ticket.rest();
                return None;
            }
        };
        let (delivered, ack_wait) = (ticket.delivered(), ticket.ack_wait());
        Some(CheckDelivery::new(check, loaded, delivered, ack_wait, Box::new(ticket)))
    }
}

fn worn_out() -> Reason {
    Reason::new(Code::JOB_DEAD, "the check was delivered as often as is allowed")
}

#[cfg(test)]
mod tests;
