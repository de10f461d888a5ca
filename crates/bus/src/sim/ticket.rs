//! The way back of a decision over the network.

use super::node::{Link, Node};
use super::{SimNet, spawn};
use crate::{Decision, Delivery, DeliveryTicket};
use std::sync::{Arc, Mutex, PoisonError};

/// Decides a delivery of the broker's, if the decision arrives.
#[derive(Debug)]
pub(super) struct SimTicket {
    net: SimNet,
    node: Arc<Node>,
    /// Gone once a final decision is on its way, or lost.
    held: Arc<Mutex<Option<Delivery>>>,
}

impl SimTicket {
    pub(super) fn new(net: SimNet, node: Arc<Node>, delivery: Delivery) -> Self {
        Self { net, node, held: Arc::new(Mutex::new(Some(delivery))) }
    }
}

impl DeliveryTicket for SimTicket {
    fn decide(&self, decision: Decision) {
        let is_lost = match self.node.link() {
            Link::Up => self.net.meets(|faults| faults.lose_decision),
            Link::Cut | Link::Dead => true,
            Link::Closed => false,
        };
        if is_lost {
            if decision != Decision::Extend {
                lose(&self.held);
            }
            return;
        }
        let (delay, held) = (self.net.delay(), Arc::clone(&self.held));
        if delay.is_zero() {
            return apply(&held, decision);
        }
        self.node.sends(delay);
        let node = Arc::clone(&self.node);
        spawn(async move {
            tokio::time::sleep(delay).await;
            // Handing back takes several messages, as a broker that counts deliveries wants it: who dies amid them has not done it.
            if decision == Decision::HandBack && node.link() == Link::Dead {
                return lose(&held);
            }
            apply(&held, decision);
        });
    }
}

impl Drop for SimTicket {
    fn drop(&mut self) {
        // Decided, or on its way: then a task holds it too. What is left is a delivery whose every word was lost.
        if Arc::strong_count(&self.held) == 1 {
            lose(&self.held);
        }
    }
}

/// The broker hears nothing of it: no decision is made, not even by dropping it.
pub(super) fn lose_delivery(delivery: Delivery) {
    std::mem::forget(delivery);
}

fn lose(held: &Mutex<Option<Delivery>>) {
    if let Some(delivery) = held.lock().unwrap_or_else(PoisonError::into_inner).take() {
        lose_delivery(delivery);
    }
}

fn apply(held: &Mutex<Option<Delivery>>, decision: Decision) {
    let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
    if decision == Decision::Extend {
        if let Some(delivery) = &*held {
            delivery.extend();
        }
        return;
    }
    let Some(delivery) = held.take() else { return };
    match decision {
        Decision::Ack => delivery.ack(),
        Decision::Retry { after } => delivery.retry(after),
        Decision::HandBack => delivery.hand_back(),
        Decision::Reject(reason) => delivery.reject(reason),
        Decision::Extend => {}
    }
}
