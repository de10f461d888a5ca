//! What is told rather than stored: streams of messages, and reading them over connections that come and go.

use crate::{BusClosed, BusState, CheckId, JobResult, Presence};
use std::future::Future;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// How long to wait before a stream is opened again that ended although the connection is the same.
const REOPEN_PAUSE: Duration = Duration::from_secs(1);

/// Messages as they arrive.
#[derive(Debug)]
pub struct BusStream<T> {
    receiver: mpsc::Receiver<T>,
}

/// Results for one incarnation of a coordinator.
pub type ResultStream = BusStream<JobResult>;
/// Cancelled checks as they are told. Lossy: a reader that is too slow misses some.
pub type CancelStream = BusStream<CheckId>;
/// What workers say of themselves. Lossy: a reader that is too slow misses some.
pub type PresenceStream = BusStream<Presence>;

impl<T> BusStream<T> {
    /// A stream of what is sent to the other end of `receiver`.
    pub fn new(receiver: mpsc::Receiver<T>) -> Self {
        Self { receiver }
    }

    /// The next message; `None` once the bus is closed or another stream took this one's place.
    pub async fn next(&mut self) -> Option<T> {
        self.receiver.recv().await
    }
}

/// Hands on what a stream brings, and opens it anew with every new connection of the bus that tells its `state`, since what was
/// said in between may be lost. Ends with the bus.
pub async fn keep_listening<T, F>(
    mut state: watch::Receiver<BusState>,
    open: impl Fn() -> F,
    mut hand_on: impl FnMut(T),
) where
    F: Future<Output = Result<BusStream<T>, BusClosed>>,
{
    loop {
        let opened_in = state.borrow_and_update().generation;
        let Ok(mut messages) = open().await else { return };
        loop {
            tokio::select! {
                biased;
                message = messages.next() => match message {
                    Some(message) => hand_on(message),
                    None => {
                        sleep(REOPEN_PAUSE).await;
                        break;
                    }
                },
                is_newer = is_newer_than(&mut state, opened_in) => match is_newer {
                    true => break,
                    // A bus that tells no state any more gives no messages either.
                    false => return,
                },
            }
        }
    }
}

/// Waits for a connection that is newer than `generation`. False: the bus tells no state any more.
async fn is_newer_than(state: &mut watch::Receiver<BusState>, generation: u64) -> bool {
    state.wait_for(|now| now.generation > generation).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use tokio::time::{Instant, timeout};

    const CONNECTED: BusState = BusState { connected: true, generation: 1 };

    /// What is heard, and when, of streams that are opened one after the other.
    async fn heard(
        state: watch::Receiver<BusState>,
        streams: Vec<mpsc::Receiver<u32>>,
    ) -> Vec<(u32, Duration)> {
        let (began, heard) = (Instant::now(), RefCell::new(Vec::new()));
        let streams = RefCell::new(VecDeque::from(streams));
        let open =
            || std::future::ready(streams.borrow_mut().pop_front().map(BusStream::new).ok_or(BusClosed));
        keep_listening(state, open, |number| heard.borrow_mut().push((number, began.elapsed()))).await;
        heard.into_inner()
    }

    /// A stream that brings these and then ends.
    fn stream(numbers: &[u32]) -> mpsc::Receiver<u32> {
        let (sender, receiver) = mpsc::channel(8);
        numbers.iter().for_each(|number| sender.try_send(*number).unwrap());
        receiver
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_ends_is_opened_again_after_a_pause_until_the_bus_is_closed() {
        let state = watch::Sender::new(CONNECTED);
        let heard = heard(state.subscribe(), vec![stream(&[1, 2]), stream(&[3])]).await;
        assert_eq!(heard, [(1, Duration::ZERO), (2, Duration::ZERO), (3, REOPEN_PAUSE)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_opens_a_new_stream_at_once_and_a_lost_one_changes_nothing() {
        let state = watch::Sender::new(CONNECTED);
        let (old, receiver) = mpsc::channel(8);
        let listening = heard(state.subscribe(), vec![receiver, stream(&[7])]);
        let events = async {
            old.send(1).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            state.send_modify(|state| state.connected = false);
            old.send(2).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            state.send_replace(BusState { generation: 2, ..CONNECTED });
            sleep(Duration::from_millis(1)).await;
            // To the stream of the lost connection.
            assert!(old.send(3).await.is_err());
        };
        let (heard, ()) = tokio::join!(listening, events);
        let seconds = Duration::from_secs;
        assert_eq!(heard, [(1, seconds(0)), (2, seconds(1)), (7, seconds(2))]);
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_a_bus_that_tells_no_state_any_more() {
        let state = watch::Sender::new(CONNECTED);
        let (_open, receiver) = mpsc::channel(8);
        let listening = heard(state.subscribe(), vec![receiver, stream(&[7])]);
        drop(state);
        assert_eq!(timeout(Duration::from_secs(5), listening).await.unwrap(), []);
    }
}
