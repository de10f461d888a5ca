//! Futures that run side by side and are finished in the order in which they were begun.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A bounded number of futures; the owner decides the bound.
pub(super) struct Window<T> {
    slots: VecDeque<Slot<T>>,
}

enum Slot<T> {
    Running(Pin<Box<dyn Future<Output = T> + Send>>),
    Done(T),
}

impl<T> Window<T> {
    pub(super) fn new() -> Self {
        Self { slots: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds a future; it begins when [`Window::next`] is polled.
    pub(super) fn push(&mut self, future: impl Future<Output = T> + Send + 'static) {
        self.slots.push_back(Slot::Running(Box::pin(future)));
    }

    /// Drives all futures and answers with the oldest one's output. Waits for ever where there is none. Dropping the
    /// returned future loses nothing.
    pub(super) async fn next(&mut self) -> T {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        for slot in &mut self.slots {
            if let Slot::Running(future) = slot
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *slot = Slot::Done(output);
            }
        }
        match self.slots.pop_front() {
            Some(Slot::Done(output)) => Poll::Ready(output),
            Some(running) => {
                self.slots.push_front(running);
                Poll::Pending
            }
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn outputs_come_in_order_whichever_is_ready_first() {
        let mut window = Window::new();
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| oneshot::channel::<u32>()).unzip();
        for receiver in receivers {
            window.push(receiver);
        }
        for (number, sender) in senders.into_iter().enumerate().rev() {
            sender.send(u32::try_from(number).unwrap()).unwrap();
        }
        let mut outputs = Vec::new();
        while !window.is_empty() {
            outputs.push(window.next().await.unwrap());
        }
        assert_eq!(outputs, [0, 1, 2]);
        assert_eq!(window.len(), 0);
    }
}
