//! The bus inside one process, on tokio's clock.
//!
//! It behaves as a JetStream work queue does: a window for duplicates, a wait for each decision, delayed retries, a highest
//! number of deliveries, caps per tenant. What is due is worked out when somebody pulls, so there is no background task.

mod checks;
mod dead;
mod queue;

pub use checks::{MemoryCheckQueue, MemoryCheckQueueOptions};

use crate::{
    BusClosed, BusState, CancelStream, CheckId, DeadJob, Decision, Delivery, DeliveryTicket, Incarnation,
    Job, JobBus, JobId, JobResult, LaneId, Presence, PresenceStream, PublishError, Published, PullBudget,
    ResultStream, SubjectToken,
};
use groundline_types::Lane;
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
/// Presences on their way to one reader; what does not fit is not told.
const PRESENCE_CAPACITY: usize = 1024;

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
    /// Who hears of workers, with the model that it asks for.
    presence_readers: Mutex<Vec<(SubjectToken, mpsc::Sender<Presence>)>>,
    /// Told when a job may have become ready, or the bus closed.
    changed: Notify,
    state: watch::Sender<BusState>,
}

impl MemoryBus {
    /// An empty bus.
    pub fn new(options: MemoryBusOptions) -> Self {
        let state = watch::Sender::new(BusState { connected: true, generation: 1 });
        let queue = Mutex::new(Queue::new(options));
        let shared = Shared {
            queue,
            readers: Mutex::default(),
            cancel_readers: Mutex::default(),
            presence_readers: Mutex::default(),
            changed: Notify::new(),
            state,
        };
        Self { shared: Arc::new(shared) }
    }

    /// The dead jobs, oldest first.
    pub fn dead_jobs(&self) -> Vec<DeadJob> {
        self.shared.queue().dead(0).cloned().collect()
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
}

/// Tells every open reader of this model. Best effort: a reader that is behind misses it.
fn tell<T: Clone>(readers: &Mutex<Vec<(SubjectToken, mpsc::Sender<T>)>>, model: &SubjectToken, message: &T) {
    let mut readers = readers.lock().unwrap_or_else(PoisonError::into_inner);
    readers.retain(|(_, reader)| !reader.is_closed());
    for (_, reader) in readers.iter().filter(|(wanted, _)| wanted == model) {
        let _ = reader.try_send(message.clone());
    }
}

fn listen<T>(
    readers: &Mutex<Vec<(SubjectToken, mpsc::Sender<T>)>>,
    model: &SubjectToken,
    capacity: usize,
) -> mpsc::Receiver<T> {
    let (sender, receiver) = mpsc::channel(capacity);
    readers.lock().unwrap_or_else(PoisonError::into_inner).push((model.clone(), sender));
    receiver
}

fn forget_all<T>(readers: &Mutex<Vec<(SubjectToken, mpsc::Sender<T>)>>) {
    readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
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

    async fn settled(&self) -> Result<(), BusClosed> {
        // A decision is known as soon as it is made.
        self.open()
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
        tell(&self.shared.cancel_readers, model, &check);
        Ok(purged)
    }

    async fn cancellations(&self, model: &SubjectToken) -> Result<CancelStream, BusClosed> {
        self.open()?;
        Ok(CancelStream::new(listen(&self.shared.cancel_readers, model, CANCEL_CAPACITY)))
    }

    async fn announce(&self, presence: Presence) -> Result<(), BusClosed> {
        self.open()?;
        tell(&self.shared.presence_readers, &presence.model, &presence);
        Ok(())
    }

    async fn presences(&self, model: &SubjectToken) -> Result<PresenceStream, BusClosed> {
        self.open()?;
        Ok(PresenceStream::new(listen(&self.shared.presence_readers, model, PRESENCE_CAPACITY)))
    }

    fn state(&self) -> watch::Receiver<BusState> {
        self.shared.state.subscribe()
    }

    async fn drain(self) -> Result<(), BusClosed> {
        self.open()?;
        self.shared.state.send_modify(|state| state.connected = false);
        // Streams end once what was sent to them is read.
        self.shared.readers().clear();
        forget_all(&self.shared.cancel_readers);
        forget_all(&self.shared.presence_readers);
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
