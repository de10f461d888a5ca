//! The bus as one node sees it.

use super::node::{Link, Node};
use super::stream::{Pump, open};
use super::ticket::{SimTicket, lose_delivery};
use super::{STORED_TIMEOUT, SimNet, spawn};
use crate::{
    BusClosed, BusState, CancelStream, CheckId, Delivery, Incarnation, Job, JobBus, JobId, JobResult, LaneId,
    Presence, PresenceStream, PublishError, Published, PullBudget, ResultStream, SubjectToken,
};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// A [`JobBus`] over a [`SimNet`]. Clones are the same node.
#[derive(Debug, Clone)]
pub struct SimBus {
    net: SimNet,
    node: Arc<Node>,
}

impl SimBus {
    pub(super) fn new(net: SimNet, node: Arc<Node>) -> Self {
        Self { net, node }
    }

    /// Cuts the node off. What is sent meanwhile is lost; calls wait.
    pub fn cut(&self) {
        self.node.set_link(Link::Cut);
    }

    /// Lets a node that was cut off come back, as a new connection.
    pub fn heal(&self) {
        self.node.set_link(Link::Up);
    }

    /// The node dies at once: nothing that it does from now on has any effect.
    pub fn kill(&self) {
        self.node.set_link(Link::Dead);
    }

    /// Sends something at most once: it may get lost, and nobody learns of it.
    fn send(&self, is_lost: bool, act: impl Future<Output = ()> + Send + 'static) -> Result<(), BusClosed> {
        match self.node.link() {
            Link::Closed => return Err(BusClosed),
            Link::Up if !is_lost => {
                let delay = self.net.delay();
                spawn(async move {
                    if !delay.is_zero() {
                        tokio::time::sleep(delay).await;
                    }
                    act.await;
                });
            }
            Link::Up | Link::Cut | Link::Dead => {}
        }
        Ok(())
    }

    /// Deliveries on their way to this node, unless they get lost.
    async fn arrive(&self, deliveries: Vec<Delivery>) -> Vec<Delivery> {
        let delay = self.net.delay();
        let wrap = |delivery: Delivery| {
            let (job, delivered, ack_wait) =
                (Arc::clone(delivery.job()), delivery.delivered(), delivery.ack_wait());
            let waited = job.time_left.saturating_sub(delivery.time_left()) + delay;
            let ticket = SimTicket::new(self.net.clone(), Arc::clone(&self.node), delivery);
            Delivery::new(job, delivered, waited, ack_wait, Box::new(ticket))
        };
        let mut coming = Coming(deliveries.into_iter().map(wrap).collect());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let came = std::mem::take(&mut coming.0);
        if !self.node.is_up() || self.net.meets(|faults| faults.lose_delivery) {
            came.into_iter().for_each(lose_delivery);
            return Vec::new();
        }
        came
    }

    /// One try to store a job. `None`: it, or the word of it, is lost.
    async fn try_publish(&self, job: Job) -> Option<Result<Published, PublishError>> {
        self.net.travel().await;
        if !self.node.is_up() || self.net.meets(|faults| faults.lose_job) {
            return None;
        }
        let stored = self.net.broker().publish(job).await;
        if matches!(stored, Err(PublishError::Closed(_))) {
            // Between two brokers.
            return None;
        }
        self.net.travel().await;
        let is_lost = !self.node.is_up() || self.net.meets(|faults| faults.lose_stored);
        (!is_lost).then_some(stored)
    }
}

/// What is on its way to a pull. Dropped with the pull, it is handed back.
struct Coming(Vec<Delivery>);

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Delivery::hand_back);
    }
}

impl JobBus for SimBus {
    async fn publish(&self, job: Job) -> Result<Published, PublishError> {
        let give_up = Instant::now() + job.time_left.max(STORED_TIMEOUT);
        loop {
            match timeout_at(give_up, self.node.reachable()).await {
                Ok(Link::Closed) => return Err(PublishError::Closed(BusClosed)),
                Ok(_) => {}
                Err(_) => break,
            }
            if let Some(stored) = self.try_publish(job.clone()).await {
                return stored;
            }
            tokio::time::sleep(STORED_TIMEOUT).await;
            if Instant::now() >= give_up {
                break;
            }
        }
        Err(PublishError::Unavailable { cause: "the simulated network lost it".to_owned() })
    }

    async fn pull(&self, from: &LaneId, budget: PullBudget) -> Result<Vec<Delivery>, BusClosed> {
        let give_up = Instant::now() + budget.wait;
        loop {
            match timeout_at(give_up, self.node.reachable()).await {
                Ok(Link::Closed) => return Err(BusClosed),
                Ok(_) => {}
                Err(_) => return Ok(Vec::new()),
            }
            self.net.travel().await;
            let broker = self.net.broker();
            let wait = give_up.saturating_duration_since(Instant::now());
            let pulled = tokio::select! {
                biased;
                () = self.node.unreachable() => continue,
                pulled = broker.pull(from, PullBudget { wait, ..budget }) => pulled,
            };
            match pulled {
                Ok(deliveries) if deliveries.is_empty() => return Ok(deliveries),
                Ok(deliveries) => {
                    let arrived = self.arrive(deliveries).await;
                    if !arrived.is_empty() {
                        return Ok(arrived);
                    }
                }
                // Between two brokers.
                Err(BusClosed) => tokio::task::yield_now().await,
            }
        }
    }

    async fn settled(&self) -> Result<(), BusClosed> {
        if self.node.reachable().await == Link::Closed {
            return Err(BusClosed);
        }
        // Those that get lost are known to nobody, as where a connection breaks.
        tokio::time::sleep_until(self.node.settles_at()).await;
        // The broker's word of it.
        self.net.travel().await;
        Ok(())
    }

    async fn answer(&self, result: JobResult) -> Result<(), BusClosed> {
        if self.net.meets(|faults| faults.double_result) {
            let (net, again) = (self.net.clone(), result.clone());
            self.send(false, async move {
                let _ = net.broker().answer(again).await;
            })?;
        }
        let net = self.net.clone();
        let is_lost = self.net.meets(|faults| faults.lose_result);
        self.send(is_lost, async move {
            let _ = net.broker().answer(result).await;
        })
    }

    async fn results(&self, me: Incarnation) -> Result<ResultStream, BusClosed> {
        let subscribe = move |broker: crate::MemoryBus| async move { broker.results(me).await };
        let pump = Pump { net: self.net.clone(), node: Arc::clone(&self.node) };
        Ok(ResultStream::new(
            open(pump, subscribe, |messages: &mut ResultStream| Box::pin(messages.next())).await?,
        ))
    }

    async fn cancel(&self, model: &SubjectToken, check: CheckId) -> Result<Vec<JobId>, BusClosed> {
        if self.node.link() == Link::Closed {
            return Err(BusClosed);
        }
        if !self.node.is_up() || self.net.meets(|faults| faults.lose_cancel) {
            return Ok(Vec::new());
        }
        self.net.travel().await;
        let purged = self.net.broker().cancel(model, check).await;
        self.net.travel().await;
        if self.net.meets(|faults| faults.lose_cancel) {
            return Ok(Vec::new());
        }
        Ok(purged.unwrap_or_default())
    }

    async fn cancellations(&self, model: &SubjectToken) -> Result<CancelStream, BusClosed> {
        let model = model.clone();
        let subscribe = move |broker: crate::MemoryBus| {
            let model = model.clone();
            async move { broker.cancellations(&model).await }
        };
        let pump = Pump { net: self.net.clone(), node: Arc::clone(&self.node) };
        Ok(CancelStream::new(
            open(pump, subscribe, |messages: &mut CancelStream| Box::pin(messages.next())).await?,
        ))
    }

    async fn announce(&self, presence: Presence) -> Result<(), BusClosed> {
        let net = self.net.clone();
        let is_lost = self.net.meets(|faults| faults.lose_presence);
        self.send(is_lost, async move {
            let _ = net.broker().announce(presence).await;
        })
    }

    async fn presences(&self, model: &SubjectToken) -> Result<PresenceStream, BusClosed> {
        let model = model.clone();
        let subscribe = move |broker: crate::MemoryBus| {
            let model = model.clone();
            async move { broker.presences(&model).await }
        };
        let pump = Pump { net: self.net.clone(), node: Arc::clone(&self.node) };
        Ok(PresenceStream::new(
            open(pump, subscribe, |messages: &mut PresenceStream| Box::pin(messages.next())).await?,
        ))
    }

    fn state(&self) -> watch::Receiver<BusState> {
        self.node.watch()
    }

    async fn drain(self) -> Result<(), BusClosed> {
        if self.node.link() == Link::Closed {
            return Err(BusClosed);
        }
        self.node.set_link(Link::Closed);
        Ok(())
    }
}
