//! Streams from the broker to a node.

use super::node::{Link, Node};
use super::{STREAM_CAPACITY, SimNet, spawn};
use crate::{BusClosed, MemoryBus};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The next message of a stream.
pub(super) type NextMessage<S, T> =
    for<'a> fn(&'a mut S) -> Pin<Box<dyn Future<Output = Option<T>> + Send + 'a>>;

/// What carries a stream from a broker to a node.
pub(super) struct Pump {
    pub(super) net: SimNet,
    pub(super) node: Arc<Node>,
}

/// Opens a stream that goes on over brokers and connections, as a client of a real broker subscribes again by itself. What is
/// sent while the node is cut off is lost; it ends with the node's connection, or where another stream took its place.
pub(super) async fn open<T, S, F>(
    pump: Pump,
    subscribe: impl Fn(MemoryBus) -> F + Send + Sync + 'static,
    next: NextMessage<S, T>,
) -> Result<mpsc::Receiver<T>, BusClosed>
where
    T: Send + 'static,
    S: Send + 'static,
    F: Future<Output = Result<S, BusClosed>> + Send,
{
    if pump.node.reachable().await == Link::Closed {
        return Err(BusClosed);
    }
    let (mut life, mut messages) = subscribed(&pump.net, &subscribe).await;
    let (sender, receiver) = mpsc::channel(STREAM_CAPACITY);
    spawn(async move {
        loop {
            let message = tokio::select! {
                biased;
                () = sender.closed() => return,
                () = pump.node.closed() => return,
                message = next(&mut messages) => message,
            };
            match message {
                Some(message) if pump.node.is_up() => {
                    // A reader that is too slow misses it.
                    let _ = sender.try_send(message);
                }
                Some(_) => {}
                None if pump.net.life() == life => return,
                None => (life, messages) = subscribed(&pump.net, &subscribe).await,
            }
        }
    });
    Ok(receiver)
}

/// A subscription to the broker that lives now, and which of its lives it is.
async fn subscribed<S, F: Future<Output = Result<S, BusClosed>>>(
    net: &SimNet,
    subscribe: impl Fn(MemoryBus) -> F,
) -> (u64, S) {
    loop {
        let life = net.life();
        match subscribe(net.broker()).await {
            Ok(messages) => return (life, messages),
            // Between two brokers.
            Err(BusClosed) => tokio::task::yield_now().await,
        }
    }
}
