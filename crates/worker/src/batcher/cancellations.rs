//! Which checks are gone.

use super::message::BatcherMessage;
use groundline_bus::{CheckId, JobBus, SubjectToken, keep_listening};
use ractor::ActorRef;
use std::collections::{BTreeSet, VecDeque};

/// Checks that are remembered, for jobs of theirs that come later.
const MAX_REMEMBERED: usize = 1024;

/// The latest checks that are gone.
#[derive(Debug, Default)]
pub(super) struct CancelledChecks {
    known: BTreeSet<CheckId>,
    /// The same in the order in which they went.
    order: VecDeque<CheckId>,
}

impl CancelledChecks {
    pub(super) fn insert(&mut self, check: CheckId) {
        if self.known.insert(check) {
            self.order.push_back(check);
        }
        if self.order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, check: CheckId) -> bool {
        self.known.contains(&check)
    }
}

/// Hears which checks are gone. Ends with the bus, or with the batcher.
pub(super) async fn read_cancellations<B: JobBus>(
    bus: B,
    model: SubjectToken,
    batcher: ActorRef<BatcherMessage>,
) {
    // A batcher that ended has ended this task as well.
    let hand_on = |check| drop(batcher.send_message(BatcherMessage::Cancelled(check)));
    keep_listening(bus.state(), || bus.cancellations(&model), hand_on).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_bus::Incarnation;

    #[test]
    fn the_latest_are_known_and_no_more_than_the_bound() {
        let reply_to = Incarnation::random();
        let check = |number| CheckId { reply_to, check: number };
        let mut cancelled = CancelledChecks::default();
        for number in 0..MAX_REMEMBERED as u64 + 2 {
            cancelled.insert(check(number));
            cancelled.insert(check(number));
        }
        assert!(!cancelled.contains(check(1)) && cancelled.contains(check(2)));
        assert_eq!((cancelled.known.len(), cancelled.order.len()), (MAX_REMEMBERED, MAX_REMEMBERED));
    }
}
