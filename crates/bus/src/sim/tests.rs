use super::*;
use crate::contract::{self, Backend, Times, job, me};
use crate::{Delivery, JobAnswer, JobBus, JobResult, PublishError, Published, PullBudget};
use tokio::time::{Instant, timeout};

struct Sim(SimNet, SimBus);

impl Backend for Sim {
    type Bus = SimBus;
    const TIMES: Times = Times::ordinary();
    const LATE_ACKS_COUNT: bool = false;
    const SEEDS: u64 = 50;

    async fn start(times: Times) -> Self {
        let net = SimNet::new(
            1,
            MemoryBusOptions {
                ack_wait_online: times.ack_wait,
                max_deliver: times.max_deliver,
                duplicate_window: times.duplicate_window,
                max_jobs_per_tenant: times.max_jobs_per_tenant,
                ..MemoryBusOptions::default()
            },
        );
        let bus = net.connect();
        Sim(net, bus)
    }

    fn bus(&self) -> &SimBus {
        &self.1
    }

    async fn dead(&self) -> Vec<contract::Dead> {
        let dead = self.0.dead_jobs().into_iter();
        dead.map(|dead| (dead.job.unwrap().id, dead.reason.code, dead.history.len())).collect()
    }

    async fn stored(&self) -> usize {
        self.0.stored_jobs()
    }
}

contract::contract_suite!(Sim, start_paused = true);

fn always(set: impl Fn(&mut SimFaults)) -> SimFaults {
    let mut faults = SimFaults::default();
    set(&mut faults);
    faults
}

fn one_job(wait: Duration) -> PullBudget {
    PullBudget { max_jobs: 1, max_tokens: usize::MAX, wait }
}

fn result() -> JobResult {
    JobResult { id: job(0).id, attempt: 0, answer: JobAnswer::Split }
}

#[tokio::test(start_paused = true)]
async fn a_publisher_that_hears_nothing_sends_again_and_the_job_is_stored_once() {
    let net = SimNet::new(7, MemoryBusOptions::default());
    let bus = net.connect();
    net.set_faults(always(|faults| faults.lose_stored = 1000));
    let heal = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        net.set_faults(SimFaults::default());
    };
    let (published, ()) = tokio::join!(bus.publish(job(0)), heal);
    assert_eq!((published, net.stored_jobs()), (Ok(Published::Duplicate), 1));
    net.set_faults(always(|faults| faults.lose_job = 1000));
    let lost = bus.publish(job(1)).await;
    assert!(matches!(lost, Err(PublishError::Unavailable { .. })), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_decision_leaves_open_is_delivered_again_after_its_wait_alone() {
    let net = SimNet::new(7, MemoryBusOptions::default());
    let bus = net.connect();
    bus.publish(job(0)).await.unwrap();
    net.set_faults(always(|faults| faults.lose_decision = 1000));
    let started = Instant::now();
    drop(bus.pull(&job(0).lane, one_job(Duration::ZERO)).await.unwrap());
    net.set_faults(SimFaults::default());
    let again = bus.pull(&job(0).lane, one_job(Duration::from_secs(60))).await.unwrap();
    assert!(started.elapsed() >= MemoryBusOptions::default().ack_wait_online);
    assert_eq!(again[0].delivered(), 2);
    again.into_iter().for_each(Delivery::ack);
    assert_eq!(net.stored_jobs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_cut_off_hears_nothing_and_comes_back_as_a_new_connection() {
    let net = SimNet::new(7, MemoryBusOptions::default());
    let (asking, working) = (net.connect(), net.connect());
    let (mut results, mut state) = (asking.results(me()).await.unwrap(), asking.state());
    asking.cut();
    assert!(!state.borrow_and_update().connected);
    working.answer(result()).await.unwrap();
    assert!(timeout(Duration::from_secs(1), results.next()).await.is_err());
    asking.heal();
    assert_eq!((state.borrow().connected, state.borrow().generation), (true, 2));
    working.answer(result()).await.unwrap();
    assert_eq!(results.next().await, Some(result()), "the stream goes on");
}

#[tokio::test(start_paused = true)]
async fn a_dead_node_has_no_effect_and_waits_for_ever() {
    let net = SimNet::new(7, MemoryBusOptions::default());
    let (asking, working) = (net.connect(), net.connect());
    asking.publish(job(0)).await.unwrap();
    let held = working.pull(&job(0).lane, one_job(Duration::ZERO)).await.unwrap();
    working.kill();
    held.into_iter().for_each(Delivery::ack);
    assert_eq!(net.stored_jobs(), 1);
    let lane = job(0).lane;
    let waiting = working.pull(&lane, one_job(Duration::from_secs(1)));
    assert!(timeout(Duration::from_secs(3600), waiting).await.is_ok_and(|pulled| pulled.unwrap().is_empty()));
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_forgets_everything_is_used_by_everybody_again() {
    let net = SimNet::new(7, MemoryBusOptions::default());
    let (asking, working) = (net.connect(), net.connect());
    let mut results = asking.results(me()).await.unwrap();
    asking.publish(job(0)).await.unwrap();
    net.forget_everything().await;
    assert_eq!(net.stored_jobs(), 0);
    asking.publish(job(0)).await.unwrap();
    let held = working.pull(&job(0).lane, one_job(Duration::from_secs(1))).await.unwrap();
    held.into_iter().for_each(Delivery::ack);
    working.answer(result()).await.unwrap();
    assert_eq!(results.next().await, Some(result()));
}

#[tokio::test(start_paused = true)]
async fn messages_overtake_each_other_and_the_seed_says_which() {
    let order = |seed| async move {
        let net = SimNet::new(seed, MemoryBusOptions::default());
        let bus = net.connect();
        let mut results = bus.results(me()).await.unwrap();
        net.set_faults(always(|faults| faults.max_delay = Duration::from_millis(100)));
        for serial in 0..20 {
            let id = crate::JobId { serial, ..job(0).id };
            bus.answer(JobResult { id, ..result() }).await.unwrap();
        }
        let mut order = Vec::new();
        while order.len() < 20 {
            order.push(results.next().await.unwrap().id.serial);
        }
        order
    };
    let first = order(3).await;
    assert_ne!(first, (0..20).collect::<Vec<_>>());
    assert_eq!(first, order(3).await);
    assert_ne!(first, order(4).await);
}
