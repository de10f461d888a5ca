//! Decisions on checks.

use super::{Shared, worn_out};
use crate::nats::decide::{ACK, IN_PROGRESS, TERMINATE, again_after};
use crate::nats::receive::Meta;
use crate::wire::Stored;
use crate::{CheckTicket, Decision, DeliveryTicket};
use async_nats::{Message, Subject};
use bytes::Bytes;
use groundline_actors::TaskKind;
use groundline_types::Reason;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a check rests whose body cannot be read now.
const REST: Duration = Duration::from_secs(2);

/// The way back of one delivery of a check.
#[derive(Debug)]
pub(super) struct CheckTicketOnBroker {
    shared: Arc<Shared>,
    reply: Subject,
    meta: Meta,
    /// Of the streams that it was delivered from.
    life: u64,
    check: Option<CheckTicket>,
    object: Option<String>,
    ack_wait: Duration,
    /// From then on somebody else may have it.
    mine_until: Mutex<Instant>,
}

impl CheckTicketOnBroker {
    /// `None` where the message is not one that the broker delivered from a stream.
    pub(super) fn new(shared: Arc<Shared>, message: &Message, life: u64) -> Option<Self> {
        let reply = message.reply.clone()?;
        let meta = Meta::parse(&reply)?;
        let ack_wait = Duration::from_millis(shared.options.ack_wait_check_ms);
        let mine_until = Mutex::new(Instant::now() + ack_wait);
        Some(Self { shared, reply, meta, life, check: None, object: None, ack_wait, mine_until })
    }

    pub(super) fn learn(&mut self, check: &CheckTicket, body: &Stored) {
        self.check = Some(check.clone());
        self.object = if let Stored::Object(name) = body { Some(name.clone()) } else { None };
    }

    pub(super) fn delivered(&self) -> u32 {
        self.meta.delivered
    }

    pub(super) fn ack_wait(&self) -> Duration {
        self.ack_wait
    }

    pub(super) fn rest(&self) {
        self.retry(REST);
    }

    /// Nobody can be told: it is not known whose it is.
    pub(super) fn give_up_unreadable(&self) {
        self.send(TERMINATE);
    }

    pub(super) fn reject(&self, reason: Reason) {
        let (shared, reply, life) = (Arc::clone(&self.shared), self.reply.clone(), self.life);
        let (check, object) = (self.check.clone(), self.object.clone());
        self.shared.run(TaskKind::Bury, async move {
            if let Some(check) = &check
                && let Err(problem) = shared.fail(check, reason).await
            {
                // It comes back, and is rejected once more.
                tracing::warn!(code = %problem.code, "a check could not be given up: {}", problem.message);
                return;
            }
            shared.decide_in(life, reply, TERMINATE);
            if let Some(name) = object {
                shared.forget_body(&name).await;
            }
        });
    }

    fn send(&self, decision: Bytes) {
        self.shared.decide_in(self.life, self.reply.clone(), decision);
    }

    fn retry(&self, after: Duration) {
        if self.meta.delivered >= self.shared.options.max_deliver {
            return self.reject(worn_out());
        }
        self.send(again_after(after));
    }

    fn acknowledge(&self) {
        self.send(ACK);
        if let Some(name) = self.object.clone() {
            let shared = Arc::clone(&self.shared);
            self.shared.run(TaskKind::Settle, async move { shared.forget_body(&name).await });
        }
    }
}

impl DeliveryTicket for CheckTicketOnBroker {
    fn decide(&self, decision: Decision) {
        let now = Instant::now();
        let mut mine_until = self.mine_until.lock().unwrap_or_else(PoisonError::into_inner);
        let is_mine = now < *mine_until;
        match decision {
            Decision::Ack => self.acknowledge(),
            _ if !is_mine => {}
            Decision::Extend => {
                *mine_until = now + self.ack_wait;
                self.send(IN_PROGRESS);
            }
            Decision::Retry { after } => self.retry(after),
            Decision::HandBack => self.retry(Duration::ZERO),
            Decision::Reject(reason) => self.reject(reason),
        }
    }
}
