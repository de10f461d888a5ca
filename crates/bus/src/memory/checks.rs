//! The queue of checks inside one process. It is as durable as the process.

mod table;

use crate::{
    Answer, CheckDelivery, CheckQueue, CheckTicket, Decision, DeliveryTicket, Published, SubjectToken,
};
use groundline_types::{Code, Problem};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use table::Table;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Times and bounds of a [`MemoryCheckQueue`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCheckQueueOptions {
    /// How long a delivery may stay undecided.
    pub ack_wait: Duration,
    /// How often a check is delivered before it has failed.
    pub max_deliver: u32,
    /// How long an answer is kept after it was last set.
    pub answer_ttl: Duration,
    /// Most checks of one tenant that wait or run.
    pub max_checks_per_tenant: usize,
    /// Most bytes of all bodies and results together.
    pub max_bytes: usize,
}

impl Default for MemoryCheckQueueOptions {
    fn default() -> Self {
        Self {
            ack_wait: Duration::from_secs(30),
            max_deliver: 4,
            answer_ttl: Duration::from_secs(3600),
            max_checks_per_tenant: 1024,
            max_bytes: 256 << 20,
        }
    }
}

/// A [`CheckQueue`] inside one process. Clones are the same queue.
#[derive(Debug, Clone)]
pub struct MemoryCheckQueue {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    /// Told when a check may have become ready.
    changed: Notify,
    closed: watch::Sender<bool>,
    ack_wait: Duration,
}

impl MemoryCheckQueue {
    /// An empty queue.
    pub fn new(options: MemoryCheckQueueOptions) -> Self {
        let ack_wait = options.ack_wait;
        let table = Mutex::new(Table::new(options));
        let (changed, closed) = (Notify::new(), watch::Sender::new(false));
        Self { shared: Arc::new(Shared { table, changed, closed, ack_wait }) }
    }

    /// Refuses everything from now on, and wakes who waits.
    pub fn close(&self) {
        self.shared.closed.send_replace(true);
        self.shared.changed.notify_waiters();
    }

    fn open(&self) -> Result<(), Problem> {
        if *self.shared.closed.borrow() {
            return Err(Problem::new(Code::BUS_UNAVAILABLE, "the queue of checks is closed"));
        }
        Ok(())
    }
}

impl Default for MemoryCheckQueue {
    fn default() -> Self {
        Self::new(MemoryCheckQueueOptions::default())
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        // No code that holds the lock panics half-way through a change.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckQueue for MemoryCheckQueue {
    async fn submit(&self, ticket: CheckTicket, body: Vec<u8>) -> Result<Published, Problem> {
        self.open()?;
        let published = self.shared.table().submit(ticket, body, Instant::now())?;
        self.shared.changed.notify_waiters();
        Ok(published)
    }

    async fn pull(&self, max: usize, wait: Duration) -> Result<Vec<CheckDelivery>, Problem> {
        let give_up = Instant::now() + wait;
        loop {
            // Interest is declared before the look, so that no change between look and wait is missed.
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            self.open()?;
            let (taken, next_due) = {
                let mut table = self.shared.table();
                (table.take(max, Instant::now()), table.next_due())
            };
            if !taken.is_empty() {
                return Ok(taken.into_iter().map(|taken| self.delivery(taken)).collect());
            }
            if Instant::now() >= give_up {
                return Ok(Vec::new());
            }
            let wake = next_due.map_or(give_up, |due| due.min(give_up));
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    async fn put_answer(&self, tenant: &SubjectToken, id: &str, answer: Answer) -> Result<(), Problem> {
        self.open()?;
        self.shared.table().put_answer(tenant, id, answer, Instant::now())
    }

    async fn answer(&self, tenant: &SubjectToken, id: &str) -> Result<Option<Answer>, Problem> {
        self.open()?;
        Ok(self.shared.table().answer(tenant, id, Instant::now()))
    }
}

impl MemoryCheckQueue {
    fn delivery(&self, taken: table::Taken) -> CheckDelivery {
        let ticket =
            Ticket { shared: Arc::clone(&self.shared), sequence: taken.sequence, delivered: taken.delivered };
        CheckDelivery::new(taken.ticket, taken.body, taken.delivered, self.shared.ack_wait, Box::new(ticket))
    }
}

#[derive(Debug)]
struct Ticket {
    shared: Arc<Shared>,
    sequence: u64,
    delivered: u32,
}

impl DeliveryTicket for Ticket {
    fn decide(&self, decision: Decision) {
        self.shared.table().decide(self.sequence, self.delivered, decision, Instant::now());
        self.shared.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
