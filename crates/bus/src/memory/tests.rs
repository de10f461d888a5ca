use super::*;
use crate::DeadJobs;
use crate::contract::{self, Backend, Times, job};
use groundline_types::Reason;

struct Memory(MemoryBus);

impl Backend for Memory {
    type Bus = MemoryBus;
    const TIMES: Times = Times::ordinary();
    const LATE_ACKS_COUNT: bool = false;
    const SEEDS: u64 = 50;

    async fn start(times: Times) -> Self {
        Memory(MemoryBus::new(MemoryBusOptions {
            ack_wait_online: times.ack_wait,
            max_deliver: times.max_deliver,
            duplicate_window: times.duplicate_window,
            max_jobs_per_tenant: times.max_jobs_per_tenant,
            ..MemoryBusOptions::default()
        }))
    }

    fn bus(&self) -> &MemoryBus {
        &self.0
    }

    async fn dead(&self) -> Vec<contract::Dead> {
        let dead = self.0.dead_jobs().into_iter();
        dead.map(|dead| (dead.job.unwrap().id, dead.reason.code, dead.history.len())).collect()
    }

    async fn stored(&self) -> usize {
        self.0.stored_jobs()
    }
}

contract::contract_suite!(Memory, start_paused = true);

#[tokio::test(start_paused = true)]
async fn only_the_newest_dead_jobs_are_kept() {
    let bus = MemoryBus::new(MemoryBusOptions { max_dead_jobs: 2, ..MemoryBusOptions::default() });
    for serial in 0..3 {
        bus.publish(job(serial)).await.unwrap();
    }
    let budget = PullBudget { max_jobs: 9, max_tokens: usize::MAX, wait: Duration::ZERO };
    for delivery in bus.pull(&job(0).lane, budget).await.unwrap() {
        delivery.reject(Reason::new(groundline_types::Code::INTERNAL, "test"));
    }
    let serials = bus.dead_jobs().iter().map(|dead| dead.job.as_ref().unwrap().id.serial).collect::<Vec<_>>();
    assert_eq!(serials, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn dead_jobs_hold_no_more_bytes_than_they_may() {
    let text = "x".repeat(10_000);
    let large = |serial| crate::Job {
        texts: crate::JobTexts::intern([&groundline_types::Work::Embed { text: text.as_str().into() }]),
        ..job(serial)
    };
    let bus = MemoryBus::new(MemoryBusOptions { max_dead_bytes: 25_000, ..MemoryBusOptions::default() });
    for serial in 0..5 {
        bus.publish(large(serial)).await.unwrap();
    }
    let budget = PullBudget { max_jobs: 9, max_tokens: usize::MAX, wait: Duration::ZERO };
    for delivery in bus.pull(&job(0).lane, budget).await.unwrap() {
        delivery.reject(Reason::new(groundline_types::Code::INTERNAL, "test"));
    }
    let serials = bus.dead_jobs().iter().map(|dead| dead.job.as_ref().unwrap().id.serial).collect::<Vec<_>>();
    assert_eq!(serials, [3, 4]);
}

#[tokio::test(start_paused = true)]
async fn dead_jobs_are_listed_in_pages_sent_again_and_deleted() {
    let bus = MemoryBus::default();
    let budget = PullBudget { max_jobs: 9, max_tokens: usize::MAX, wait: Duration::ZERO };
    for serial in 0..3 {
        bus.publish(job(serial)).await.unwrap();
    }
    for delivery in bus.pull(&job(0).lane, budget).await.unwrap() {
        delivery.reject(Reason::new(groundline_types::Code::INTERNAL, "test"));
    }
    let first = bus.list(2, 0).await.unwrap();
    let rest = bus.list(2, first[1].sequence).await.unwrap();
    assert_eq!((first.len(), rest.len()), (2, 1));
    assert!(first[0].sequence > 0);
    assert_eq!(bus.get(rest[0].sequence).await.unwrap().as_ref(), Some(&rest[0]));
    assert_eq!(bus.retry(first[0].sequence).await, Ok(Some(Published::Stored)));
    assert_eq!(bus.retry(first[0].sequence).await, Ok(None));
    let again = bus.pull(&job(0).lane, budget).await.unwrap();
    assert_eq!(**again[0].job(), crate::Job { attempt: 1, ..job(0) });
    again.into_iter().for_each(Delivery::ack);
    assert_eq!(DeadJobs::drop(&bus, rest[0].sequence).await, Ok(true));
    assert_eq!(DeadJobs::drop(&bus, rest[0].sequence).await, Ok(false));
    assert_eq!(bus.get(rest[0].sequence).await, Ok(None));
    assert_eq!(bus.dead_jobs().len(), 1);
}
