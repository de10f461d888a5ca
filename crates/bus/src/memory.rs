//! The bus inside one process, on tokio's clock.
//!
//! It behaves as a JetStream work queue does: a window for duplicates, a wait for each decision, delayed retries, a highest
//! number of deliveries, caps per tenant. What is due is worked out when somebody pulls, so there is no background task.

mod queue;

use crate::{
    BusClosed, BusState, CancelStream, CheckId, Decision, Delivery, DeliveryTicket, Incarnation, Job, JobBus,
    JobId, JobResult, LaneId, PublishError, Published, PullBudget, ResultStream, SubjectToken,
};
use groundline_types::{Lane, Reason};
use queue::{Queue, Taken, Ticket};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

/// Results on their way to one coordinator; a worker waits for room.
const RESULT_CAPACITY: usize = 1024;
/// Cancelled checks on their way to one worker; what does not fit is not told.
const CANCEL_CAPACITY: usize = 1024;

/// Times and bounds of a [`MemoryBus`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryBusOptions {
    /// How long a delivery of the online lane may stay undecided.
    pub ack_wait_online: Duration,
    /// The same for the bulk lane.
    pub ack_wait_bulk: Duration,
    /// How often a job is delivered before it is dead.
    pub max_deliver: u32,
    /// How long an attempt is remembered, so that publishing it twice stores it once.
    pub duplicate_window: Duration,
    /// Most jobs stored for one tenant, lane and model.
    pub max_jobs_per_tenant: usize,
    /// Most dead jobs kept; the oldest go first.
    pub max_dead_jobs: usize,
    /// Most bytes of dead jobs kept, as counted by [`Job::size_bytes`]: they hold users' texts.
    pub max_dead_bytes: usize,
}

impl Default for MemoryBusOptions {
    fn default() -> Self {
        Self {
            ack_wait_online: Duration::from_secs(6),
            ack_wait_bulk: Duration::from_secs(30),
            max_deliver: 4,
            duplicate_window: Duration::from_secs(120),
            max_jobs_per_tenant: 4096,
            max_dead_jobs: 256,
            max_dead_bytes: 4 << 20,
        }
    }
}

impl MemoryBusOptions {
    fn ack_wait(&self, lane: Lane) -> Duration {
        match lane {
            Lane::Online => self.ack_wait_online,
            Lane::Bulk => self.ack_wait_bulk,
        }
    }
}

/// A job that is not delivered any more.
#[derive(Debug, Clone)]
pub struct DeadJob {
    /// The job.
    pub job: Arc<Job>,
    /// Why.
    pub reason: Reason,
    /// What became of each of its deliveries, in order.
    pub history: Vec<String>,
}

/// A [`JobBus`] inside one process. Clones are the same bus.
#[derive(Debug, Clone)]
pub struct MemoryBus {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    readers: Mutex<BTreeMap<Incarnation, mpsc::Sender<JobResult>>>,
    /// Who is told of cancelled checks, with the model that they serve.
    cancel_readers: Mutex<Vec<(SubjectToken, mpsc::Sender<CheckId>)>>,
    /// Told when a job may have become ready, or the bus closed.
    changed: Notify,
    state: watch::Sender<BusState>,
}

impl MemoryBus {
    /// An empty bus.
    pub fn new(options: MemoryBusOptions) -> Self {
        let state = watch::Sender::new(BusState { connected: true, generation: 1 });
        let queue = Mutex::new(Queue::new(options));
        let (readers, cancel_readers) = (Mutex::default(), Mutex::default());
        Self { shared: Arc::new(Shared { queue, readers, cancel_readers, changed: Notify::new(), state }) }
    }

    /// The dead jobs, oldest first.
    pub fn dead_jobs(&self) -> Vec<DeadJob> {
        self.shared.queue().dead().cloned().collect()
    }

    /// Number of jobs stored: waiting or in the hands of a worker.
    pub fn stored_jobs(&self) -> usize {
        self.shared.queue().len()
    }

    fn open(&self) -> Result<(), BusClosed> {
        if self.shared.state.borrow().connected { Ok(()) } else { Err(BusClosed) }
    }
}

impl Default for MemoryBus {
    fn default() -> Self {
        Self::new(MemoryBusOptions::default())
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code that holds the lock panics half-way through a change; a poisoned lock still guards a sound queue.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn readers(&self) -> MutexGuard<'_, BTreeMap<Incarnation, mpsc::Sender<JobResult>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel_readers(&self) -> MutexGuard<'_, Vec<(SubjectToken, mpsc::Sender<CheckId>)>> {
        self.cancel_readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobBus for MemoryBus {
    async fn publish(&self, job: Job) -> Result<Published, PublishError> {
        self.open()?;
        let published = self.shared.queue().publish(job, Instant::now())?;
        if published == Published::Stored {
            self.shared.changed.notify_waiters();
        }
        Ok(published)
    }

    async fn pull(&self, from: &LaneId, budget: PullBudget) -> Result<Vec<Delivery>, BusClosed> {
        let give_up = Instant::now() + budget.wait;
        loop {
            // Interest is declared before the look, so that no change between look and wait is missed.
            let mut changed = std::pin::pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            self.open()?;
            let (taken, next_due) = {
                let now = Instant::now();
                let mut queue = self.shared.queue();
                (queue.take(from, budget, now), queue.next_due(from))
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

    async fn answer(&self, result: JobResult) -> Result<(), BusClosed> {
        self.open()?;
        let reader = self.shared.readers().get(&result.id.reply_to).cloned();
        if let Some(reader) = reader
            && reader.send(result).await.is_err()
        {
            tracing::debug!("a result had no reader");
        }
        Ok(())
    }

    async fn results(&self, me: Incarnation) -> Result<ResultStream, BusClosed> {
        self.open()?;
        let (sender, receiver) = mpsc::channel(RESULT_CAPACITY);
        let mut readers = self.shared.readers();
        readers.retain(|_, reader| !reader.is_closed());
        readers.insert(me, sender);
        Ok(ResultStream::new(receiver))
    }

    async fn cancel(&self, model: &SubjectToken, check: CheckId) -> Result<Vec<JobId>, BusClosed> {
        self.open()?;
        let purged = self.shared.queue().cancel(check);
        let mut readers = self.shared.cancel_readers();
        readers.retain(|(_, reader)| !reader.is_closed());
        for (_, reader) in readers.iter().filter(|(served, _)| served == model) {
            // Best effort: a reader that is behind misses it.
            let _ = reader.try_send(check);
        }
        Ok(purged)
    }

    async fn cancellations(&self, model: &SubjectToken) -> Result<CancelStream, BusClosed> {
        self.open()?;
        let (sender, receiver) = mpsc::channel(CANCEL_CAPACITY);
        self.shared.cancel_readers().push((model.clone(), sender));
        Ok(CancelStream::new(receiver))
    }

    fn state(&self) -> watch::Receiver<BusState> {
        self.shared.state.subscribe()
    }

    async fn drain(self) -> Result<(), BusClosed> {
        self.open()?;
        self.shared.state.send_modify(|state| state.connected = false);
        // Streams end once what was sent to them is read.
        self.shared.readers().clear();
        self.shared.cancel_readers().clear();
        self.shared.changed.notify_waiters();
        Ok(())
    }
}

impl MemoryBus {
    fn delivery(&self, taken: Taken) -> Delivery {
        let ticket = MemoryTicket { shared: Arc::clone(&self.shared), ticket: taken.ticket };
        Delivery::new(taken.job, taken.delivered, taken.waited, taken.ack_wait, Box::new(ticket))
    }
}

#[derive(Debug)]
struct MemoryTicket {
    shared: Arc<Shared>,
    ticket: Ticket,
}

impl DeliveryTicket for MemoryTicket {
    fn decide(&self, decision: Decision) {
        let wakes = matches!(decision, Decision::Retry { .. } | Decision::HandBack);
        self.shared.queue().decide(self.ticket, decision, Instant::now());
        if wakes {
            self.shared.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
