//! A job in a worker's hands.

use crate::Job;
use groundline_types::Reason;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What becomes of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is done; the bus forgets it.
    Ack,
    /// It shall be delivered again, not before this time has passed.
    Retry {
        /// How long to wait.
        after: Duration,
    },
    /// It was not begun: it shall be delivered again at once, and this delivery shall not count, where the backend can do that.
    HandBack,
    /// It can never be done: it is copied to the dead jobs with this reason, and not delivered again.
    Reject(Reason),
    /// It is still being worked on: the wait for a decision starts anew.
    Extend,
}

/// The way back from a delivery to its backend.
///
/// Decisions are sent, not confirmed: one that gets lost leads to a redelivery, which must be harmless anyway.
pub trait DeliveryTicket: Send + Sync + fmt::Debug {
    /// Sends a decision. Decisions on a delivery that was given to someone else meanwhile change nothing.
    fn decide(&self, decision: Decision);
}

/// A job that must be decided: [`ack`](Self::ack), [`retry`](Self::retry), [`hand_back`](Self::hand_back) or
/// [`reject`](Self::reject).
///
/// Dropping it undecided logs a warning and lets the bus deliver it again at once.
#[derive(Debug)]
pub struct Delivery {
    job: Arc<Job>,
    delivered: u32,
    waited: Duration,
    ack_wait: Duration,
    ticket: Option<Box<dyn DeliveryTicket>>,
}

impl Delivery {
    /// A delivery for the `delivered`-th time (from 1) of a job that the bus has held for `waited`, to be decided or extended
    /// within `ack_wait`.
    pub fn new(
        job: Arc<Job>,
        delivered: u32,
        waited: Duration,
        ack_wait: Duration,
        ticket: Box<dyn DeliveryTicket>,
    ) -> Self {
        Self { job, delivered, waited, ack_wait, ticket: Some(ticket) }
    }

    /// The job.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// How often it has been delivered, this time included, without being handed back. An estimate: a broker may forget to
    /// count.
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// How long its answer is still of use, counted from the moment of delivery.
    pub fn time_left(&self) -> Duration {
        self.job.time_left.saturating_sub(self.waited)
    }

    /// How long the bus waits for a decision or an extension before it delivers the job again.
    pub fn ack_wait(&self) -> Duration {
        self.ack_wait
    }

    /// The job is done.
    pub fn ack(self) {
        self.decide(Decision::Ack);
    }

    /// The job shall be delivered again, not before `after`.
    pub fn retry(self, after: Duration) {
        self.decide(Decision::Retry { after });
    }

    /// The job was not begun, and shall go to somebody else. Unlike [`retry`](Self::retry), this says nothing against the job.
    pub fn hand_back(self) {
        self.decide(Decision::HandBack);
    }

    /// The job can never be done.
    pub fn reject(self, reason: Reason) {
        self.decide(Decision::Reject(reason));
    }

    /// The job is still being worked on.
    pub fn extend(&self) {
        if let Some(ticket) = &self.ticket {
            ticket.decide(Decision::Extend);
        }
    }

    fn decide(mut self, decision: Decision) {
        if let Some(ticket) = self.ticket.take() {
            ticket.decide(decision);
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            tracing::warn!(job = %self.job.id, delivered = self.delivered, "a delivery was dropped undecided");
            ticket.decide(Decision::Retry { after: Duration::ZERO });
        }
    }
}
