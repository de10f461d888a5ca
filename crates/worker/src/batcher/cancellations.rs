//! Hears which checks are gone.

use super::message::BatcherMessage;
use groundline_bus::{BusState, JobBus, SubjectToken};
use ractor::ActorRef;
use std::time::Duration;

/// How long to wait before listening again after a stream that ended although the connection is the same.
const RESUBSCRIBE_WAIT: Duration = Duration::from_secs(1);

/// Listens anew with every new connection. Ends with the bus, or with the batcher.
pub(super) async fn read_cancellations<B: JobBus>(
    bus: B,
    model: SubjectToken,
    batcher: ActorRef<BatcherMessage>,
) {
    let mut state = bus.state();
    loop {
        let generation = state.borrow_and_update().generation;
        // A closed bus tells nothing, and gives no jobs either.
        let Ok(mut cancellations) = bus.cancellations(&model).await else { return };
        loop {
            tokio::select! {
                biased;
                cancelled = cancellations.next() => match cancelled {
                    // A batcher that ended has ended this task as well.
                    Some(check) => drop(batcher.send_message(BatcherMessage::Cancelled(check))),
                    None => {
                        tokio::time::sleep(RESUBSCRIBE_WAIT).await;
                        break;
                    }
                },
                is_newer = BusState::newer(&mut state, generation) => match is_newer {
                    true => break,
                    false => return,
                },
            }
        }
    }
}
