//! A bus on a simulated network: a [`MemoryBus`] as the broker, and between it and every node a seed that loses, doubles, delays
//! and reorders what is sent.
//!
//! For tests on tokio's paused clock and one thread: then everything that happens follows from the seed. Nodes can be cut off, come
//! back and die; the broker can lose its memory. With no faults set it passes the contract suite.

mod bus;
mod dice;
mod node;
mod stream;
mod ticket;

pub use bus::SimBus;
pub use dice::Dice;

use crate::{DeadJob, MemoryBus, MemoryBusOptions};
use node::Node;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How unreliable the network is. Chances are of a thousand, for each message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimFaults {
    /// A job is lost on its way to the broker.
    pub lose_job: u32,
    /// A job is stored, and the word of it is lost.
    pub lose_stored: u32,
    /// Jobs are handed out, and lost on their way to the worker.
    pub lose_delivery: u32,
    /// A decision on a delivery is lost.
    pub lose_decision: u32,
    /// A result is lost.
    pub lose_result: u32,
    /// A result arrives twice.
    pub double_result: u32,
    /// Word of a cancelled check, or the answer to it, is lost.
    pub lose_cancel: u32,
    /// Word of a worker is lost.
    pub lose_presence: u32,
    /// Longest that a message is under way; how long is drawn anew for each, so that messages overtake each other.
    pub max_delay: Duration,
    /// A message takes ten times as long as the longest.
    pub stray: u32,
}

/// A broker, a network and a seed. Clones are the same network.
#[derive(Debug, Clone)]
pub struct SimNet {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: MemoryBusOptions,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    broker: MemoryBus,
    /// How often the broker was replaced.
    life: u64,
    faults: SimFaults,
    dice: Dice,
    /// Messages that met a fault, for the log of a run.
    faults_met: u64,
}

/// How long a publisher waits for word that its job is stored before it sends it again.
const STORED_TIMEOUT: Duration = Duration::from_secs(2);
/// Messages on their way to one reader; what does not fit is lost, as a slow reader's is.
const STREAM_CAPACITY: usize = 1024;

impl SimNet {
    /// A network with an empty broker and no faults.
    pub fn new(seed: u64, options: MemoryBusOptions) -> Self {
        let state = State {
            broker: MemoryBus::new(options.clone()),
            life: 0,
            faults: SimFaults::default(),
            dice: Dice::new(seed),
            faults_met: 0,
        };
        Self { shared: Arc::new(Shared { options, state: Mutex::new(state) }) }
    }

    /// Connects a node: one process, whose clones of the bus share its fate.
    pub fn connect(&self) -> SimBus {
        SimBus::new(self.clone(), Arc::new(Node::new()))
    }

    /// Sets how unreliable the network is from now on.
    pub fn set_faults(&self, faults: SimFaults) {
        self.state().faults = faults;
    }

    /// The broker ends and comes back empty, as one that keeps its streams in memory does.
    pub async fn forget_everything(&self) {
        let old = {
            let mut state = self.state();
            state.life += 1;
            std::mem::replace(&mut state.broker, MemoryBus::new(self.shared.options.clone()))
        };
        // Whoever waits on the old one notices. It cannot be closed already: only this closes it.
        let _ = crate::JobBus::drain(old).await;
    }

    /// Number of jobs that the broker stores.
    pub fn stored_jobs(&self) -> usize {
        self.broker().stored_jobs()
    }

    /// The dead jobs, oldest first.
    pub fn dead_jobs(&self) -> Vec<DeadJob> {
        self.broker().dead_jobs()
    }

    /// Number of messages that met a fault so far.
    pub fn faults_met(&self) -> u64 {
        self.state().faults_met
    }

    fn life(&self) -> u64 {
        self.state().life
    }

    fn broker(&self) -> MemoryBus {
        self.state().broker.clone()
    }

    /// Whether a message meets a fault of this chance.
    fn meets(&self, chance: impl FnOnce(&SimFaults) -> u32) -> bool {
        let mut state = self.state();
        let chance = chance(&state.faults);
        let meets = chance > 0 && state.dice.roll(1000) < u64::from(chance);
        state.faults_met += u64::from(meets);
        meets
    }

    /// How long the next message is under way.
    fn delay(&self) -> Duration {
        let mut state = self.state();
        let SimFaults { max_delay, stray, .. } = state.faults;
        let longest = u64::try_from(max_delay.as_millis()).unwrap_or(u64::MAX);
        if longest == 0 {
            return Duration::ZERO;
        }
        if state.dice.roll(1000) < u64::from(stray) {
            state.faults_met += 1;
            return max_delay * 10;
        }
        Duration::from_millis(state.dice.roll(longest + 1))
    }

    /// Lets a message travel.
    async fn travel(&self) {
        let delay = self.delay();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock panics half-way through a change.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs what a message does when it arrives, beside its sender.
fn spawn(future: impl Future<Output = ()> + Send + 'static) {
    // Deliveries are decided wherever they are dropped, also after the runtime ended; then nobody is left to tell.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(future);
    }
}

#[cfg(test)]
mod tests;
