//! How the parts of a process are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// What a component is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// It is not yet able to work.
    Starting,
    /// It waits for work.
    Idle,
    /// It works, and reports progress.
    Busy,
    /// It has given up; why, in a few words.
    Failed(&'static str),
}

/// A component's condition and when it last made progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComponentHealth {
    /// What it is doing.
    pub condition: Condition,
    /// When it last said so. Only what moves is alive: a component that is busy for too long without a word hangs.
    pub progressed_at: Instant,
}

impl ComponentHealth {
    /// Whether the component waits for work, or made progress within `patience` of `now`.
    pub fn is_live(&self, now: Instant, patience: Duration) -> bool {
        match self.condition {
            Condition::Idle => true,
            Condition::Starting | Condition::Busy => {
                now.saturating_duration_since(self.progressed_at) <= patience
            }
            Condition::Failed(_) => false,
        }
    }
}

/// The components of a process, each behind a watch channel. Clones are the same board.
#[derive(Debug, Clone, Default)]
pub struct HealthBoard {
    components: Arc<Mutex<BTreeMap<&'static str, watch::Sender<ComponentHealth>>>>,
}

impl HealthBoard {
    /// The place where a component reports; starting, the first time that it is asked for.
    pub fn component(&self, name: &'static str) -> Reporter {
        let starting = || ComponentHealth { condition: Condition::Starting, progressed_at: Instant::now() };
        let mut components = self.components.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = components.entry(name).or_insert_with(|| watch::Sender::new(starting()));
        Reporter { sender: sender.clone() }
    }

    /// A component's reports, as they come.
    pub fn watch(&self, name: &'static str) -> watch::Receiver<ComponentHealth> {
        self.component(name).sender.subscribe()
    }

    /// Waits until a component has given up, and says why.
    pub async fn failed(&self, name: &'static str) -> &'static str {
        let mut reports = self.watch(name);
        loop {
            if let Condition::Failed(why) = reports.borrow_and_update().condition {
                return why;
            }
            // The board keeps the other end, so that waiting ends by a report alone.
            if reports.changed().await.is_err() {
                return "its health is unknown";
            }
        }
    }

    /// Every component as it is now.
    pub fn all(&self) -> BTreeMap<&'static str, ComponentHealth> {
        let components = self.components.lock().unwrap_or_else(PoisonError::into_inner);
        components.iter().map(|(name, sender)| (*name, *sender.borrow())).collect()
    }
}

/// Where one component reports.
#[derive(Debug, Clone)]
pub struct Reporter {
    sender: watch::Sender<ComponentHealth>,
}

impl Reporter {
    /// Reports a condition, which is progress too.
    pub fn report(&self, condition: Condition) {
        self.sender.send_replace(ComponentHealth { condition, progressed_at: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_busy_component_without_progress_is_not_live_and_an_idle_one_is() {
        let (board, patience) = (HealthBoard::default(), Duration::from_secs(30));
        let device = board.component("device");
        let live = || board.all()["device"].is_live(Instant::now(), patience);
        device.report(Condition::Busy);
        tokio::time::sleep(patience).await;
        assert!(live());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!live());
        device.report(Condition::Idle);
        tokio::time::sleep(patience * 2).await;
        assert!(live());
        device.report(Condition::Failed("lost"));
        assert!(!live());
    }
}
