//! What every backend must do, as tests over a backend factory.

use crate::{
    Incarnation, Job, JobAnswer, JobBus, JobId, JobResult, JobTexts, LaneId, MAX_JOB_BYTES, Presence,
    PublishError, Published, PullBudget, SubjectToken,
};
use groundline_types::{Code, Head, Lane, Reason, Work};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// What a test asks of a backend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) ack_wait: Duration,
    pub(crate) max_deliver: u32,
    pub(crate) duplicate_window: Duration,
    pub(crate) max_jobs_per_tenant: usize,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            ack_wait: Duration::from_secs(2),
            max_deliver: 3,
            duplicate_window: Duration::from_secs(60),
            max_jobs_per_tenant: 8,
        }
    }
}

/// A backend under test.
pub(crate) trait Backend {
    type Bus: JobBus;
    fn start(times: Times) -> Self;
    fn bus(&self) -> &Self::Bus;
    /// Dead jobs: id, code, number of history entries.
    fn dead(&self) -> Vec<(JobId, Code, usize)>;
    fn stored(&self) -> usize;
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

fn budget(max_jobs: usize) -> PullBudget {
    PullBudget { max_jobs, max_tokens: usize::MAX, wait: Duration::from_secs(1) }
}

async fn publish_all<B: JobBus>(bus: &B, count: u32) {
    for serial in 0..count {
        assert_eq!(bus.publish(job(serial)).await, Ok(Published::Stored));
    }
}

pub(crate) async fn jobs_come_out_in_order_and_acked_ones_are_gone<K: Backend>() {
    let backend = K::start(Times::default());
    publish_all(backend.bus(), 3).await;
    let first = backend.bus().pull(&job(0).lane, budget(2)).await.unwrap();
    assert_eq!(first.iter().map(|delivery| delivery.job().id.serial).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(**first[0].job(), job(0));
    first.into_iter().for_each(crate::Delivery::ack);
    let second = backend.bus().pull(&job(0).lane, budget(9)).await.unwrap();
    assert_eq!(second.len(), 1);
    second.into_iter().for_each(crate::Delivery::ack);
    assert_eq!(backend.stored(), 0);
}

pub(crate) async fn an_attempt_is_stored_once_within_the_window<K: Backend>() {
    let times = Times::default();
    let backend = K::start(times);
    let bus = backend.bus();
    assert_eq!(bus.publish(job(0)).await, Ok(Published::Stored));
    bus.pull(&job(0).lane, budget(1)).await.unwrap().into_iter().for_each(crate::Delivery::ack);
    assert_eq!(
        bus.publish(job(0)).await,
        Ok(Published::Duplicate),
        "the window outlives the acknowledgement"
    );
    let again = Job { attempt: 1, ..job(0) };
    assert_eq!(bus.publish(again).await, Ok(Published::Stored), "another attempt is another message");
    bus.pull(&job(0).lane, budget(1)).await.unwrap().into_iter().for_each(crate::Delivery::ack);
    tokio::time::sleep(times.duplicate_window).await;
    assert_eq!(bus.publish(job(0)).await, Ok(Published::Stored));
}

pub(crate) async fn a_job_that_is_stored_is_not_stored_again_under_a_later_attempt<K: Backend>() {
    let backend = K::start(Times::default());
    let again = || Job { attempt: 1, ..job(0) };
    publish_all(backend.bus(), 1).await;
    assert_eq!(backend.bus().publish(again()).await, Ok(Published::Duplicate), "it waits");
    let held = backend.bus().pull(&job(0).lane, budget(9)).await.unwrap();
    assert_eq!(held.len(), 1);
    assert_eq!(backend.bus().publish(again()).await, Ok(Published::Duplicate), "it is in hands");
    held.into_iter().for_each(crate::Delivery::ack);
    assert_eq!(
        backend.bus().publish(again()).await,
        Ok(Published::Stored),
        "it is done, and asked for again"
    );
}

pub(crate) async fn a_cancelled_check_has_no_waiting_jobs_and_workers_are_told<K: Backend>() {
    let times = Times::default();
    let backend = K::start(times);
    let bus = backend.bus();
    let model = job(0).lane.model;
    let mut told = bus.cancellations(&model).await.unwrap();
    let mut others = bus.cancellations(&SubjectToken::from_name("other")).await.unwrap();
    publish_all(bus, 4).await;
    let other = Job { id: JobId { check: 2, ..job(9).id }, ..job(9) };
    bus.publish(other.clone()).await.unwrap();
    let held = bus.pull(&job(0).lane, budget(2)).await.unwrap();
    assert_eq!(bus.cancel(&model, job(0).id.check_id()).await, Ok(vec![job(2).id, job(3).id]));
    assert_eq!(told.next().await, Some(job(0).id.check_id()));
    assert!(timeout(Duration::from_millis(50), others.next()).await.is_err());
    assert_eq!(backend.stored(), 3, "two are in hands, one is another check's");
    let mut held = held.into_iter();
    held.next().unwrap().ack();
    held.next().unwrap().retry(Duration::ZERO);
    let left = bus.pull(&job(0).lane, budget(9)).await.unwrap();
    assert_eq!(left.iter().map(|delivery| delivery.job().id).collect::<Vec<_>>(), [other.id]);
    left.into_iter().for_each(crate::Delivery::ack);
    assert_eq!((backend.stored(), backend.dead()), (0, Vec::new()));
}

pub(crate) async fn a_job_that_is_handed_back_comes_at_once_and_as_good_as_new<K: Backend>() {
    let times = Times::default();
    let backend = K::start(times);
    publish_all(backend.bus(), 1).await;
    for _ in 0..2 * times.max_deliver {
        let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
        assert_eq!(held[0].delivered(), 1);
        held.into_iter().for_each(crate::Delivery::hand_back);
    }
    // A holder that is late says nothing on the delivery that came after its own, though both are the first.
    let late = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    tokio::time::sleep(times.ack_wait).await;
    let next = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    next.into_iter().for_each(crate::Delivery::hand_back);
    late.into_iter().for_each(crate::Delivery::ack);
    assert_eq!((backend.stored(), backend.dead()), (1, Vec::new()));
}

pub(crate) async fn an_undecided_job_is_delivered_again_after_the_ack_wait<K: Backend>() {
    let times = Times::default();
    let backend = K::start(times);
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    let start = Instant::now();
    let again = loop {
        let pulled = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
        if let Some(delivery) = pulled.into_iter().next() {
            break delivery;
        }
    };
    assert!(start.elapsed() >= times.ack_wait && start.elapsed() < times.ack_wait + Duration::from_secs(1));
    assert_eq!((held[0].delivered(), again.delivered()), (1, 2));
    assert!(again.time_left() <= job(0).time_left - times.ack_wait, "waiting uses up the job's time");
    // The first holder is late; what it says changes nothing.
    held.into_iter().for_each(crate::Delivery::ack);
    assert_eq!(backend.stored(), 1);
    again.ack();
    assert_eq!(backend.stored(), 0);
}

pub(crate) async fn an_extended_job_stays_with_its_holder<K: Backend>() {
    let times = Times::default();
    let backend = K::start(times);
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    for _ in 0..6 {
        tokio::time::sleep(times.ack_wait / 2).await;
        held[0].extend();
        let wait = PullBudget { wait: Duration::ZERO, ..budget(1) };
        assert!(backend.bus().pull(&job(0).lane, wait).await.unwrap().is_empty());
    }
    held.into_iter().for_each(crate::Delivery::ack);
    assert_eq!(backend.stored(), 0);
}

pub(crate) async fn a_retry_waits_as_long_as_it_was_told<K: Backend>() {
    let backend = K::start(Times::default());
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    held.into_iter().for_each(|delivery| delivery.retry(Duration::from_millis(700)));
    let start = Instant::now();
    let again = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    assert_eq!((again.len(), again[0].delivered()), (1, 2));
    assert!(start.elapsed() >= Duration::from_millis(700));
    again.into_iter().for_each(crate::Delivery::ack);
}

pub(crate) async fn a_dropped_delivery_comes_back_at_once<K: Backend>() {
    let backend = K::start(Times::default());
    publish_all(backend.bus(), 1).await;
    drop(backend.bus().pull(&job(0).lane, budget(1)).await.unwrap());
    let start = Instant::now();
    let again = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    assert_eq!(again.len(), 1);
    assert!(start.elapsed() < Duration::from_millis(100));
    again.into_iter().for_each(crate::Delivery::ack);
}

pub(crate) async fn a_job_is_dead_after_the_last_allowed_delivery<K: Backend>() {
    let times = Times::default();
    let backend = K::start(times);
    publish_all(backend.bus(), 1).await;
    for delivered in 1..=times.max_deliver {
        let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
        assert_eq!(held[0].delivered(), delivered);
        held.into_iter().for_each(|delivery| delivery.retry(Duration::ZERO));
    }
    assert!(backend.bus().pull(&job(0).lane, budget(1)).await.unwrap().is_empty());
    assert_eq!(backend.dead(), [(job(0).id, Code::JOB_DEAD, times.max_deliver as usize)]);
    assert_eq!(backend.stored(), 0);
}

pub(crate) async fn a_rejected_job_is_dead_at_once<K: Backend>() {
    let backend = K::start(Times::default());
    publish_all(backend.bus(), 1).await;
    let held = backend.bus().pull(&job(0).lane, budget(1)).await.unwrap();
    held.into_iter().for_each(|delivery| delivery.reject(Reason::new(Code::INTERNAL, "test")));
    assert!(backend.bus().pull(&job(0).lane, budget(1)).await.unwrap().is_empty());
    assert_eq!(backend.dead(), [(job(0).id, Code::INTERNAL, 1)]);
}

pub(crate) async fn one_tenant_cannot_fill_the_bus<K: Backend>() {
    let times = Times::default();
    let backend = K::start(times);
    publish_all(backend.bus(), times.max_jobs_per_tenant as u32).await;
    let refused = backend.bus().publish(job(100)).await;
    assert_eq!(refused, Err(PublishError::TenantFull { waiting: times.max_jobs_per_tenant }));
    let other = Job { tenant: SubjectToken::from_name("other"), ..job(101) };
    assert_eq!(backend.bus().publish(other).await, Ok(Published::Stored));
    backend.bus().pull(&job(0).lane, budget(1)).await.unwrap().into_iter().for_each(crate::Delivery::ack);
    assert_eq!(backend.bus().publish(job(100)).await, Ok(Published::Stored), "a refusal is not remembered");
}

pub(crate) async fn a_job_over_the_size_limit_is_refused<K: Backend>() {
    let backend = K::start(Times::default());
    let text = "x".repeat(MAX_JOB_BYTES);
    let large = Job { texts: JobTexts::intern([&Work::Embed { text: text.into() }]), ..job(0) };
    let refused = backend.bus().publish(large).await;
    assert!(matches!(refused, Err(PublishError::TooLarge { .. })), "{refused:?}");
}

pub(crate) async fn a_pull_keeps_to_its_budget_of_tokens<K: Backend>() {
    let backend = K::start(Times::default());
    publish_all(backend.bus(), 4).await;
    let pull = |max_tokens| PullBudget { max_tokens, ..budget(9) };
    let lane = job(0).lane;
    let small = backend.bus().pull(&lane, pull(5)).await.unwrap();
    assert_eq!(small.len(), 1, "the first is given even where it is larger than the budget");
    let rest = backend.bus().pull(&lane, pull(29)).await.unwrap();
    assert_eq!(rest.len(), 2);
    small.into_iter().chain(rest).for_each(crate::Delivery::ack);
}

pub(crate) async fn lanes_and_models_do_not_mix<K: Backend>() {
    let backend = K::start(Times::default());
    publish_all(backend.bus(), 1).await;
    let bulk = LaneId { lane: Lane::Bulk, ..job(0).lane };
    let other = LaneId { model: SubjectToken::from_name("other"), ..job(0).lane };
    for lane in [bulk, other] {
        assert!(backend.bus().pull(&lane, budget(1)).await.unwrap().is_empty());
    }
}

pub(crate) async fn a_waiting_pull_wakes_on_publish<K: Backend>() {
    let backend = K::start(Times::default());
    let (lane, bus) = (job(0).lane, backend.bus().clone());
    let pull = bus.pull(&lane, budget(1));
    let publish = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        backend.bus().publish(job(0)).await.unwrap();
    };
    let start = Instant::now();
    let (pulled, ()) = tokio::join!(pull, publish);
    assert!(start.elapsed() < Duration::from_millis(500));
    pulled.unwrap().into_iter().for_each(crate::Delivery::ack);
}

pub(crate) async fn results_reach_their_reader_and_nobody_else<K: Backend>() {
    let backend = K::start(Times::default());
    let bus = backend.bus();
    let result =
        |reply_to| JobResult { id: JobId { reply_to, ..job(0).id }, attempt: 0, answer: JobAnswer::Split };
    let mut mine = bus.results(me()).await.unwrap();
    bus.answer(result(Incarnation::random())).await.unwrap();
    bus.answer(result(me())).await.unwrap();
    assert_eq!(mine.next().await, Some(result(me())));
    assert!(timeout(Duration::from_millis(50), mine.next()).await.is_err());
    let mut newer = bus.results(me()).await.unwrap();
    assert_eq!(mine.next().await, None, "a second stream takes the place of the first");
    bus.answer(result(me())).await.unwrap();
    assert_eq!(newer.next().await, Some(result(me())));
}

pub(crate) async fn workers_are_heard_by_who_asks_for_their_model<K: Backend>() {
    let backend = K::start(Times::default());
    let bus = backend.bus();
    let model = job(0).lane.model;
    let worker = |serial: u64| Presence {
        worker: SubjectToken::from_name("worker"),
        model: model.clone(),
        engine: "toy".into(),
        schema: "1.0".into(),
        is_ready: true,
        capacity_tokens: 8192,
        held_tokens: serial as usize,
        tokens_per_second: 0.5,
    };
    let mut heard = bus.presences(&model).await.unwrap();
    let mut others = bus.presences(&SubjectToken::from_name("other")).await.unwrap();
    bus.announce(worker(1)).await.unwrap();
    bus.announce(worker(2)).await.unwrap();
    assert_eq!(heard.next().await, Some(worker(1)));
    assert_eq!(heard.next().await, Some(worker(2)));
    assert!(timeout(Duration::from_millis(50), others.next()).await.is_err());
}

pub(crate) async fn a_drained_bus_refuses_everything_and_wakes_who_waits<K: Backend>() {
    let backend = K::start(Times::default());
    let bus = backend.bus().clone();
    let mut results = bus.results(me()).await.unwrap();
    let mut state = bus.state();
    assert!(state.borrow_and_update().connected);
    let lane = job(0).lane;
    let pull = bus.pull(&lane, PullBudget { wait: Duration::from_secs(3600), ..budget(1) });
    let drain = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        backend.bus().clone().drain().await.unwrap();
    };
    let (pulled, ()) = tokio::join!(pull, drain);
    assert!(pulled.is_err());
    assert_eq!(results.next().await, None);
    assert!(matches!(bus.publish(job(0)).await, Err(PublishError::Closed(_))));
    state.changed().await.unwrap();
    assert!(!state.borrow().connected);
}

/// Any order of publishing, taking, deciding and waiting: every job ends acknowledged or dead, once.
pub(crate) async fn no_job_is_lost_or_doubled_whatever_workers_do<K: Backend>() {
    for seed in 0..50_u64 {
        let times = Times { max_jobs_per_tenant: 100, ..Times::default() };
        let backend = K::start(times);
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let roll = |step: u64, sides: u64| hasher.hash_one((seed, step, sides)) % sides;
        publish_all(backend.bus(), 20).await;
        let (mut acked, mut step) = (Vec::new(), 0);
        let mut held = Vec::new();
        while backend.stored() > 0 {
            step += 1;
            assert!(step < 10_000, "seed {seed} does not end");
            let wait = PullBudget { wait: Duration::from_millis(100), ..budget(1 + roll(step, 4) as usize) };
            held.extend(backend.bus().pull(&job(0).lane, wait).await.unwrap());
            if roll(step, 7) == 0 {
                tokio::time::sleep(times.ack_wait).await;
            }
            if held.is_empty() {
                continue;
            }
            let delivery = held.remove(roll(step, held.len() as u64) as usize);
            let before = backend.stored();
            match roll(step, 4) {
                0 => drop(delivery),
                1 => delivery.retry(Duration::from_millis(roll(step, 900))),
                _ => {
                    let serial = delivery.job().id.serial;
                    delivery.ack();
                    acked.extend((backend.stored() < before).then_some(serial));
                }
            }
        }
        let mut ended = acked;
        ended.extend(backend.dead().iter().map(|(id, ..)| id.serial));
        ended.sort_unstable();
        assert_eq!(ended, (0..20).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// Makes every test of the contract a test of one backend.
macro_rules! contract_suite {
    ($backend:ty) => {
        contract::contract_suite!($backend:
            jobs_come_out_in_order_and_acked_ones_are_gone
            an_attempt_is_stored_once_within_the_window
            a_job_that_is_stored_is_not_stored_again_under_a_later_attempt
            a_cancelled_check_has_no_waiting_jobs_and_workers_are_told
            a_job_that_is_handed_back_comes_at_once_and_as_good_as_new
            an_undecided_job_is_delivered_again_after_the_ack_wait
            an_extended_job_stays_with_its_holder
            a_retry_waits_as_long_as_it_was_told
            a_dropped_delivery_comes_back_at_once
            a_job_is_dead_after_the_last_allowed_delivery
            a_rejected_job_is_dead_at_once
            one_tenant_cannot_fill_the_bus
            a_job_over_the_size_limit_is_refused
            a_pull_keeps_to_its_budget_of_tokens
            lanes_and_models_do_not_mix
            a_waiting_pull_wakes_on_publish
            results_reach_their_reader_and_nobody_else
            workers_are_heard_by_who_asks_for_their_model
            a_drained_bus_refuses_everything_and_wakes_who_waits
            no_job_is_lost_or_doubled_whatever_workers_do
        );
    };
    ($backend:ty: $($test:ident)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $test() {
                contract::$test::<$backend>().await;
            }
        )*
    };
}
pub(crate) use contract_suite;
