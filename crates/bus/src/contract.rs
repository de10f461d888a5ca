//! What every backend must do, as tests over a backend factory.

mod deliveries;
mod ends;
mod listening;
mod storing;

pub(crate) use deliveries::*;
pub(crate) use ends::*;
pub(crate) use listening::*;
pub(crate) use storing::*;

use crate::{Incarnation, Job, JobBus, JobId, JobTexts, LaneId, Published, PullBudget, SubjectToken};
use groundline_types::{Code, Head, Lane, Work};
use std::time::Duration;
use tokio::time::Instant;

/// How long a backend may take until a decision has had its effect.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a test asks of a backend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) ack_wait: Duration,
    pub(crate) max_deliver: u32,
    pub(crate) duplicate_window: Duration,
    pub(crate) max_jobs_per_tenant: usize,
}

impl Times {
    pub(crate) const fn ordinary() -> Self {
        Self {
            ack_wait: Duration::from_secs(2),
            max_deliver: 3,
            duplicate_window: Duration::from_secs(60),
            max_jobs_per_tenant: 8,
        }
    }
}

/// Id, code and number of history entries of a dead job.
pub(crate) type Dead = (JobId, Code, usize);

/// A backend under test.
pub(crate) trait Backend: Sized {
    type Bus: JobBus;
    /// What tests ask of it where the times are not their point.
    const TIMES: Times;
    /// Whether a job is gone when somebody says late that it is done, after it went to somebody else.
    const LATE_ACKS_COUNT: bool;
    /// How many random orders are tried.
    const SEEDS: u64;
    async fn start(times: Times) -> Self;
    fn bus(&self) -> &Self::Bus;
    /// Dead jobs.
    async fn dead(&self) -> Vec<Dead>;
    async fn stored(&self) -> usize;
}

/// Expects that so many jobs are left, and these are dead, as soon as every decision has had its effect.
pub(crate) async fn expect_left<K: Backend>(backend: &K, stored: usize, dead: &[Dead]) {
    let give_up = Instant::now() + PATIENCE;
    let mut found = (backend.stored().await, backend.dead().await);
    while (found.0, found.1.as_slice()) != (stored, dead) && Instant::now() < give_up {
        tokio::time::sleep(Duration::from_millis(20)).await;
        found = (backend.stored().await, backend.dead().await);
    }
    assert_eq!((found.0, found.1.as_slice()), (stored, dead));
}

pub(crate) fn me() -> Incarnation {
    static ME: std::sync::OnceLock<Incarnation> = std::sync::OnceLock::new();
    *ME.get_or_init(Incarnation::random)
}

pub(crate) fn job(serial: u32) -> Job {
    let pair = Work::Pair { premise: "evidence".into(), hypothesis: "claim".into(), head: Head::Nli };
    Job {
        id: JobId { reply_to: me(), check: 1, serial },
        attempt: 0,
        lane: LaneId { model: SubjectToken::from_name("model"), lane: Lane::Online },
        tenant: SubjectToken::from_name("tenant"),
        time_left: Duration::from_secs(30),
        estimated_tokens: 10,
        trace: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
        texts: JobTexts::intern([&pair]),
    }
}

pub(crate) fn budget(max_jobs: usize) -> PullBudget {
    PullBudget { max_jobs, max_tokens: usize::MAX, wait: Duration::from_secs(1) }
}

pub(crate) async fn publish_all<B: JobBus>(bus: &B, count: u32) {
    for serial in 0..count {
        assert_eq!(bus.publish(job(serial)).await, Ok(Published::Stored));
    }
}

/// Makes every test of the contract a test of one backend, on a runtime with these settings.
macro_rules! contract_suite {
    ($backend:ty, $($runtime:tt)*) => {
        contract::contract_suite!(@ $backend, { $($runtime)* },
            an_attempt_is_stored_once_within_the_window
            a_job_that_is_stored_is_not_stored_again_under_a_later_attempt
            one_tenant_cannot_fill_the_bus
            a_job_over_the_size_limit_is_refused
            lanes_and_models_do_not_mix
            jobs_come_out_in_order_and_acked_ones_are_gone
            a_job_that_is_handed_back_comes_at_once_and_as_good_as_new
            what_is_settled_is_known_at_once
            an_undecided_job_is_delivered_again_after_the_ack_wait
            an_extended_job_stays_with_its_holder
            a_retry_waits_as_long_as_it_was_told
            a_dropped_delivery_comes_back_at_once
            a_pull_keeps_to_its_budget_of_tokens
            a_waiting_pull_wakes_on_publish
            a_job_is_dead_after_the_last_allowed_delivery
            a_rejected_job_is_dead_at_once
            a_drained_bus_refuses_everything_and_wakes_who_waits
            no_job_is_lost_or_doubled_whatever_workers_do
            a_cancelled_check_has_no_waiting_jobs_and_workers_are_told
            results_reach_their_reader_and_nobody_else
            workers_are_heard_by_who_asks_for_their_model
        );
    };
    (@ $backend:ty, $runtime:tt, $($test:ident)*) => {
        $(contract::contract_suite!(@test $backend, $runtime, $test);)*
    };
    (@test $backend:ty, { $($runtime:tt)* }, $test:ident) => {
        #[tokio::test($($runtime)*)]
        async fn $test() {
            contract::$test::<$backend>().await;
        }
    };
}
pub(crate) use contract_suite;
