//! One process on the network.

use crate::BusState;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// What the network is to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It works.
    Up,
    /// The node is cut off: what it sends and what is sent to it is lost.
    Cut,
    /// The node is dead: it never does anything again.
    Dead,
    /// The node has closed its connection.
    Closed,
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    fate: Mutex<Fate>,
}

#[derive(Debug)]
struct Fate {
    link: Link,
    generation: u64,
    /// When the last decision that is on its way arrives.
    settles_at: Instant,
    /// Tasks of the network that wait for another link, each with a sender of its own, as below.
    waiting: Vec<watch::Sender<Link>>,
    /// One sender for each watcher: whom a shared one wakes first is random.
    watchers: Vec<watch::Sender<BusState>>,
}

impl Node {
    pub(super) fn new() -> Self {
        let fate = Fate {
            link: Link::Up,
            generation: 1,
            settles_at: Instant::now(),
            waiting: Vec::new(),
            watchers: Vec::new(),
        };
        Self { fate: Mutex::new(fate) }
    }

    /// A decision is on its way for so long.
    pub(super) fn sends(&self, delay: Duration) {
        let mut fate = self.fate();
        fate.settles_at = fate.settles_at.max(Instant::now() + delay);
    }

    /// When every decision that is on its way has arrived.
    pub(super) fn settles_at(&self) -> Instant {
        // A moment later, so that it is there whichever of two timers comes first.
        self.fate().settles_at + Duration::from_millis(1)
    }

    pub(super) fn link(&self) -> Link {
        self.fate().link
    }

    pub(super) fn is_up(&self) -> bool {
        self.link() == Link::Up
    }

    /// Waits for a link. The first waiter is the first to go on.
    async fn wait_for(&self, is_wanted: impl Fn(Link) -> bool) -> Link {
        let mut changes = {
            let mut fate = self.fate();
            fate.waiting.retain(|waiting| !waiting.is_closed());
            let (sender, receiver) = watch::channel(fate.link);
            fate.waiting.push(sender);
            receiver
        };
        // A sender that is gone was that of a node that is gone.
        changes.wait_for(|link| is_wanted(*link)).await.map_or(Link::Closed, |link| *link)
    }

    /// Waits while the node is cut off; for ever, where it is dead.
    pub(super) async fn reachable(&self) -> Link {
        self.wait_for(|link| matches!(link, Link::Up | Link::Closed)).await
    }

    /// Waits until the node is not on the network.
    pub(super) async fn unreachable(&self) {
        self.wait_for(|link| link != Link::Up).await;
    }

    /// Waits until the node has closed its connection.
    pub(super) async fn closed(&self) {
        self.wait_for(|link| link == Link::Closed).await;
    }

    /// Changes the link, and tells it, unless it was the end of the node before.
    pub(super) fn set_link(&self, next: Link) {
        let mut fate = self.fate();
        if fate.link == next || matches!(fate.link, Link::Dead | Link::Closed) {
            return;
        }
        fate.link = next;
        for waiting in &fate.waiting {
            waiting.send_replace(next);
        }
        if next == Link::Up {
            fate.generation += 1;
        }
        if next == Link::Dead {
            // A dead process learns nothing.
            return;
        }
        let state = BusState { connected: next == Link::Up, generation: fate.generation };
        fate.watchers.retain(|watcher| !watcher.is_closed());
        for watcher in &fate.watchers {
            watcher.send_replace(state);
        }
    }

    pub(super) fn watch(&self) -> watch::Receiver<BusState> {
        let mut fate = self.fate();
        let state = BusState { connected: fate.link == Link::Up, generation: fate.generation };
        let (sender, receiver) = watch::channel(state);
        fate.watchers.push(sender);
        receiver
    }

    fn fate(&self) -> MutexGuard<'_, Fate> {
        // No code that holds the lock panics half-way through a change.
        self.fate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
