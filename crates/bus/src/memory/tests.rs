use super::*;
use crate::contract::{self, Backend, Times, job};

struct Memory(MemoryBus);

impl Backend for Memory {
    type Bus = MemoryBus;

    fn start(times: Times) -> Self {
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

    fn dead(&self) -> Vec<(crate::JobId, groundline_types::Code, usize)> {
        self.0
            .dead_jobs()
            .into_iter()
            .map(|dead| (dead.job.id, dead.reason.code, dead.history.len()))
            .collect()
    }

    fn stored(&self) -> usize {
        self.0.stored_jobs()
    }
}

contract::contract_suite!(Memory);

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
    let serials = bus.dead_jobs().iter().map(|dead| dead.job.id.serial).collect::<Vec<_>>();
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
    let serials = bus.dead_jobs().iter().map(|dead| dead.job.id.serial).collect::<Vec<_>>();
    assert_eq!(serials, [3, 4]);
}
