//! Checks that nobody waits for on a connection: stored, pulled by any coordinator, answered in a table.

use crate::{Decision, DeliveryTicket, Published, SubjectToken};
use groundline_types::{Lane, Problem, Reason};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// Largest body of a check in bytes.
pub const MAX_CHECK_BYTES: usize = 32 << 20;

/// Which check a body belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckTicket {
    /// Its name, unique for its tenant. It may be hashed on the way, so any text will do.
    pub id: String,
    /// Whose it is.
    pub tenant: SubjectToken,
    /// Priority: checks of the online lane are pulled first.
    pub lane: Lane,
}

/// What became of a check so far.
#[derive(Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is stored and nobody has begun it.
    Waiting,
    /// A coordinator works on it.
    Running,
    /// It is done, with the body of its result.
    Done(Vec<u8>),
    /// It can not be done.
    Failed {
        /// A stable code, as text.
        code: String,
        /// What happened, without text of the user's.
        message: String,
    },
}

impl Answer {
    /// Whether it stays as it is: a final answer is never replaced.
    pub fn is_final(&self) -> bool {
        matches!(self, Answer::Done(_) | Answer::Failed { .. })
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Waiting => f.write_str("Waiting"),
            Answer::Running => f.write_str("Running"),
            // A result quotes the user.
            Answer::Done(body) => write!(f, "Done({} bytes)", body.len()),
            Answer::Failed { code, message } => write!(f, "Failed({code}: {message})"),
        }
    }
}

/// A queue of checks and a table of their answers. Clones are the same queue.
///
/// A check is delivered at least once; its answer is kept for a time and then forgotten.
pub trait CheckQueue: Clone + Send + Sync + 'static {
    /// Stores a check, whose answer is [`Answer::Waiting`] from then on; returns once it is safe. A check whose id is known
    /// already for this tenant is not stored again.
    ///
    /// # Errors
    ///
    /// `GL3003` where the body is larger than [`MAX_CHECK_BYTES`], `GL2004` where the tenant or the queue is full, `GL3001` where
    /// the bus cannot be reached.
    fn submit(
        &self,
        ticket: CheckTicket,
        body: Vec<u8>,
    ) -> impl Future<Output = Result<Published, Problem>> + Send;

    /// Waits up to `wait` for the first check, then gives up to `max` that are there; empty when the wait is over. Dropping the
    /// future takes no check.
    ///
    /// # Errors
    ///
    /// `GL3001` where the queue is closed.
    fn pull(
        &self,
        max: usize,
        wait: Duration,
    ) -> impl Future<Output = Result<Vec<CheckDelivery>, Problem>> + Send;

    /// Sets the answer of a check, unless it has a final one.
    ///
    /// # Errors
    ///
    /// `GL3001` where the bus cannot be reached, `GL3003` where the result is larger than [`MAX_CHECK_BYTES`].
    fn put_answer(
        &self,
        tenant: &SubjectToken,
        id: &str,
        answer: Answer,
    ) -> impl Future<Output = Result<(), Problem>> + Send;

    /// The answer of a check; `None` where the tenant has no such check, or no longer.
    ///
    /// # Errors
    ///
    /// `GL3001` where the bus cannot be reached.
    fn answer(
        &self,
        tenant: &SubjectToken,
        id: &str,
    ) -> impl Future<Output = Result<Option<Answer>, Problem>> + Send;
}

/// A check that must be decided: [`ack`](Self::ack), [`retry`](Self::retry) or [`reject`](Self::reject).
///
/// Dropping it undecided logs a warning and lets the queue deliver it again at once.
pub struct CheckDelivery {
    ticket: CheckTicket,
    body: Vec<u8>,
    delivered: u32,
    ack_wait: Duration,
    decide: Option<Box<dyn DeliveryTicket>>,
}

impl CheckDelivery {
    /// A delivery for the `delivered`-th time (from 1), to be decided or extended within `ack_wait`.
    pub fn new(
        ticket: CheckTicket,
        body: Vec<u8>,
        delivered: u32,
        ack_wait: Duration,
        decide: Box<dyn DeliveryTicket>,
    ) -> Self {
        Self { ticket, body, delivered, ack_wait, decide: Some(decide) }
    }

    /// Name of the check.
    pub fn id(&self) -> &str {
        &self.ticket.id
    }

    /// Whose it is.
    pub fn tenant(&self) -> &SubjectToken {
        &self.ticket.tenant
    }

    /// Its priority.
    pub fn lane(&self) -> Lane {
        self.ticket.lane
    }

    /// What was submitted.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// How often it has been delivered, this time included.
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// How long the queue waits for a decision or an extension before it delivers the check again.
    pub fn ack_wait(&self) -> Duration {
        self.ack_wait
    }

    /// The check is done, and its answer is set.
    pub fn ack(self) {
        self.decide(Decision::Ack);
    }

    /// The check shall be delivered again, not before `after`.
    pub fn retry(self, after: Duration) {
        self.decide(Decision::Retry { after });
    }

    /// The check can never be done: its answer becomes [`Answer::Failed`] with this reason, unless it has a final one.
    pub fn reject(self, reason: Reason) {
        self.decide(Decision::Reject(reason));
    }

    /// The check is still being worked on.
    pub fn extend(&self) {
        if let Some(ticket) = &self.decide {
            ticket.decide(Decision::Extend);
        }
    }

    fn decide(mut self, decision: Decision) {
        if let Some(ticket) = self.decide.take() {
            ticket.decide(decision);
        }
    }
}

impl fmt::Debug for CheckDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.body.len();
        write!(f, "CheckDelivery({:?}, {bytes} bytes, delivered {} times)", self.ticket, self.delivered)
    }
}

impl Drop for CheckDelivery {
    fn drop(&mut self) {
        if let Some(ticket) = self.decide.take() {
            tracing::warn!(delivered = self.delivered, "a check was dropped undecided");
            ticket.decide(Decision::Retry { after: Duration::ZERO });
        }
    }
}
