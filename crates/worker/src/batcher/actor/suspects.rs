//! Suspect jobs, and the way to run one alone.

use super::{BatcherMessage, BatcherState};
use crate::batcher::alone::{Alone, Step};
use crate::batcher::intake::{Stance, is_suspect};
use crate::batcher::machine::Moment;
use groundline_actors::{TaskKind, spawn_task};
use groundline_bus::{Delivery, JobBus};

impl<B: JobBus> BatcherState<B> {
    pub(super) fn stance(&self) -> Stance {
        match self.alone {
            _ if self.is_draining => Stance::Draining,
            Alone::Clearing(_) | Alone::Running => Stance::Alone,
            Alone::MakingRoom => Stance::MakingRoom,
            Alone::Shared if self.jobs.is_empty() => Stance::Empty,
            Alone::Shared => Stance::Working,
        }
    }

    /// Suspects come first where one can have the worker for itself: behind others it would be handed back again and again.
    pub(super) fn in_order_of_need(&self, mut deliveries: Vec<Delivery>) -> Vec<Delivery> {
        if self.stance() == Stance::Empty {
            deliveries.sort_by_key(|delivery| !is_suspect(delivery.job().texts.len(), delivery.delivered()));
        }
        deliveries
    }

    /// Holds a suspect, and makes sure that nothing else is in hands before it begins.
    pub(super) fn run_alone(&mut self, delivery: Delivery, now: Moment) {
        let Some(slot) = self.jobs.hold(delivery, now) else { return };
        self.alone.clear_for(slot, now);
        let (room, batcher) = (self.setup.room.clone(), self.myself.clone());
        let wait = async move {
            room.without_pulls().await;
            // A batcher that ended meanwhile has given its jobs back.
            let _ = batcher.send_message(BatcherMessage::PullsOver(slot));
        };
        spawn_task(TaskKind::Pull, wait).detach();
    }

    /// Does what is due for a suspect.
    pub(super) fn serve_suspect(&mut self, now: Moment) {
        if self.jobs.is_empty() {
            self.alone = Alone::Shared;
        }
        let step = self.alone.step(now, self.answering);
        self.take_step(step);
    }

    pub(super) fn on_bus_knows(&mut self, suspect: u64) {
        let step = self.alone.bus_knows(suspect);
        self.take_step(step);
    }

    fn take_step(&mut self, step: Option<Step>) {
        match step {
            None => {}
            Some(Step::Begin(slot)) => self.encode(slot),
            Some(Step::AskBus(slot)) => {
                let (bus, batcher) = (self.setup.bus.clone(), self.myself.clone());
                let ask = async move {
                    // A bus that is closed takes this worker with it.
                    if bus.settled().await.is_ok() {
                        let _ = batcher.send_message(BatcherMessage::BusKnows(slot));
                    }
                };
                spawn_task(TaskKind::Pull, ask).detach();
            }
        }
    }
}
