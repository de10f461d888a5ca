//! The contract and what only a broker can do wrong, against a real server.

mod cluster;
mod credentials;
mod forgets;
mod rights;

use super::*;
use crate::contract::{self, Backend, Dead, Times, budget, expect_left, job, me};
use crate::{JobAnswer, MAX_JOB_BYTES, NatsStorage, Secret};
use groundline_testkit::NatsServer;
use groundline_types::{Code, Reason};
use tokio::time::{Instant, sleep, timeout};

/// A server of its own, and a bus on it.
pub(super) struct Nats {
    pub(super) server: NatsServer,
    pub(super) bus: NatsBus,
}

pub(super) fn options(server: &NatsServer, times: Times) -> NatsOptions {
    let ms = |duration: Duration| duration.as_millis() as u64;
    NatsOptions {
        ack_wait_online_ms: ms(times.ack_wait),
        ack_wait_bulk_ms: ms(times.ack_wait),
        ack_wait_check_ms: ms(times.ack_wait),
        max_deliver: times.max_deliver,
        duplicate_window_ms: ms(times.duplicate_window),
        max_jobs_per_tenant: times.max_jobs_per_tenant as u64,
        max_job_bytes_total: 64 << 20,
        max_dead_bytes_total: 64 << 20,
        max_check_bytes_total: 64 << 20,
        max_body_bytes_total: 128 << 20,
        max_answer_bytes_total: 64 << 20,
        ..NatsOptions::at(server.url())
    }
}

impl Nats {
    pub(super) async fn with(change: impl FnOnce(&mut NatsOptions)) -> Self {
        let server = NatsServer::start();
        let mut options = options(&server, Self::TIMES);
        change(&mut options);
        let bus = NatsBus::connect(options).await.unwrap();
        Self { server, bus }
    }

    async fn second_bus(&self) -> NatsBus {
        NatsBus::connect(self.bus.shared.options.clone()).await.unwrap()
    }
}

impl Backend for Nats {
    type Bus = NatsBus;
    const TIMES: Times = Times {
        ack_wait: Duration::from_secs(1),
        max_deliver: 3,
        duplicate_window: Duration::from_secs(1),
        max_jobs_per_tenant: 8,
    };
    const LATE_ACKS_COUNT: bool = true;
    const SEEDS: u64 = 2;

    async fn start(times: Times) -> Self {
        let server = NatsServer::start();
        let bus = NatsBus::connect(options(&server, times)).await.unwrap();
        Self { server, bus }
    }

    fn bus(&self) -> &NatsBus {
        &self.bus
    }

    async fn dead(&self) -> Vec<Dead> {
        let dead = crate::DeadJobs::list(&self.bus, 1000, 0).await.unwrap().into_iter();
        dead.map(|dead| (dead.job.unwrap().id, dead.reason.code, dead.history.len())).collect()
    }

    async fn stored(&self) -> usize {
        let info = self.bus.shared.connection.api.ask("STREAM.INFO.GL_JOBS_V1", None).await.unwrap();
        info.pointer("/state/messages").unwrap().as_u64().unwrap() as usize
    }
}

contract::contract_suite!(Nats, flavor = "multi_thread", worker_threads = 2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_that_is_dropped_takes_no_job() {
    let nats = Nats::start(Nats::TIMES).await;
    let lane = job(0).lane;
    for _ in 0..5 {
        let wait = PullBudget { wait: Duration::from_secs(60), ..budget(1) };
        assert!(timeout(Duration::from_millis(50), nats.bus.pull(&lane, wait)).await.is_err());
    }
    nats.bus.publish(job(0)).await.unwrap();
    let start = Instant::now();
    let pulled = nats.bus.pull(&lane, budget(1)).await.unwrap();
    assert_eq!(pulled.len(), 1);
    assert!(start.elapsed() < Duration::from_millis(500), "no dropped pull has it");
    pulled.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dropped_pull_had_taken_comes_back_as_good_as_new() {
    let nats = Nats::start(Times { ack_wait: Duration::from_secs(20), ..Nats::TIMES }).await;
    let (lane, shared) = (job(0).lane, &nats.bus.shared);
    for serial in 0..3 {
        nats.bus.publish(job(serial)).await.unwrap();
    }
    // The first pull makes the consumer.
    nats.bus.pull(&lane, budget(1)).await.unwrap().into_iter().for_each(Delivery::ack);
    // Two come, and it waits for more.
    let queue = pull::Queue::of_jobs(&lane, shared.settled_life().await);
    let asking = pull::ask(shared, &queue, 5, Duration::from_secs(10));
    assert!(timeout(Duration::from_millis(500), asking).await.is_err());
    nats.bus.settled().await.unwrap();
    let back = nats.bus.pull(&lane, budget(5)).await.unwrap();
    let seen = back.iter().map(|delivery| (delivery.job().id.serial, delivery.delivered()));
    assert_eq!(seen.collect::<std::collections::BTreeSet<_>>(), [(1, 1), (2, 1)].into());
    back.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_takes_no_more_than_it_asked_for() {
    let nats = Nats::start(Times { max_jobs_per_tenant: 100, ..Nats::TIMES }).await;
    for serial in 0..20 {
        nats.bus.publish(job(serial)).await.unwrap();
    }
    let other = nats.second_bus().await;
    let first = nats.bus.pull(&job(0).lane, budget(3)).await.unwrap();
    let second = other.pull(&job(0).lane, budget(30)).await.unwrap();
    assert_eq!((first.len(), second.len()), (3, 17), "what one worker did not ask for is another's at once");
    first.into_iter().chain(second).for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_with_less_room_than_the_streams_reserve_is_refused_with_what_to_do() {
    let server = NatsServer::start();
    let too_much = NatsOptions { max_job_bytes_total: 1 << 40, ..options(&server, Nats::TIMES) };
    let problem = NatsBus::connect(too_much).await.expect_err("more than the server may store");
    assert_eq!(problem.code, Code::BROKER_UNSUITABLE);
    for part in ["stream GL_JOBS_V1", "max_file_store", "nats.max_…_bytes_total"] {
        assert!(problem.message.contains(part), "{}", problem.message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_survive_a_crash_of_the_broker() {
    let mut nats = Nats::start(Nats::TIMES).await;
    let mut state = nats.bus.state();
    nats.bus.publish(job(0)).await.unwrap();
    let before = state.borrow_and_update().generation;
    nats.server.kill();
    state.wait_for(|state| !state.connected).await.unwrap();
    // Published while there is no broker: stored as soon as there is one.
    let mend = async {
        sleep(Duration::from_millis(300)).await;
        nats.server.restart();
        state.wait_for(|state| state.connected && state.generation > before).await.unwrap();
    };
    let (late, ()) = tokio::join!(nats.bus.publish(job(1)), mend);
    assert_eq!(late, Ok(Published::Stored));
    let mut pulled = Vec::new();
    while pulled.len() < 2 {
        pulled.extend(nats.bus.pull(&job(0).lane, budget(9)).await.unwrap());
    }
    pulled.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_streams_are_there_again_after_a_broker_that_forgot_everything() {
    let mut nats = Nats::with(|options| options.storage = NatsStorage::Memory).await;
    let lane = job(0).lane;
    nats.bus.publish(job(0)).await.unwrap();
    assert_eq!(nats.bus.pull(&lane, budget(1)).await.unwrap().len(), 1);
    nats.server.kill();
    nats.server.wipe();
    nats.server.restart();
    let again = Job { attempt: 1, ..job(0) };
    assert_eq!(nats.bus.publish(again).await, Ok(Published::Stored), "the one that is lost is no duplicate");
    let pulled =
        nats.bus.pull(&lane, PullBudget { wait: Duration::from_secs(10), ..budget(1) }).await.unwrap();
    assert_eq!(pulled[0].job().attempt, 1);
    pulled.into_iter().for_each(Delivery::ack);
    expect_left(&nats, 0, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_dies_with_the_last_delivery_leaves_a_dead_job_and_an_answer() {
    let nats = Nats::start(Nats::TIMES).await;
    let mut results = nats.bus.results(me()).await.unwrap();
    nats.bus.publish(job(0)).await.unwrap();
    let wait = PullBudget { wait: Duration::from_secs(5), ..budget(1) };
    let mut held = Vec::new();
    for delivered in 1..=Nats::TIMES.max_deliver {
        let pulled = nats.bus.pull(&job(0).lane, wait).await.unwrap();
        assert_eq!(pulled[0].delivered(), delivered);
        held.extend(pulled);
    }
    // Somebody else asks, as workers do, and the broker finds that it may not deliver it once more.
    assert!(nats.bus.pull(&job(0).lane, wait).await.unwrap().is_empty());
    expect_left(&nats, 0, &[(job(0).id, Code::JOB_DEAD, 3)]).await;
    let answer = results.next().await.unwrap();
    let JobAnswer::Items(items) = answer.answer else { panic!("{answer:?}") };
    assert_eq!(items[0].reason().map(|reason| reason.code), Some(Code::JOB_DEAD));
    held.into_iter().for_each(Delivery::ack);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_decoded_is_dead_at_once_and_never_answered_elsewhere() {
    let nats = Nats::start(Nats::TIMES).await;
    let api = &nats.bus.shared.connection.api;
    let mut spy = api.client.subscribe("evil").await.unwrap();
    let subject = subjects::jobs(&job(0).lane, &job(0).tenant);
    let mut headers = headers::for_job(&job(0), subjects::JOBS_STREAM, "bad-1", headers::Carried::default());
    api.store(subject.clone(), headers.clone(), "no protobuf".into()).await.unwrap();
    headers.insert("Nats-Msg-Id", "bad-2");
    headers.insert("Gl-Reply-To", "evil");
    api.store(subject, headers, crate::wire::encode_job(&job(0))).await.unwrap();
    assert!(nats.bus.pull(&job(0).lane, budget(9)).await.unwrap().is_empty());
    let mut dead = Vec::new();
    for _ in 0..100 {
        dead = crate::DeadJobs::list(&nats.bus, 9, 0).await.unwrap();
        if dead.len() == 2 {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(dead.iter().map(|dead| dead.job.is_some()).collect::<Vec<_>>(), [false, true]);
    assert!(dead.iter().all(|dead| dead.tenant == job(0).tenant && dead.reason.code == Code::INTERNAL));
    use futures_util::StreamExt as _;
    assert!(timeout(Duration::from_millis(100), spy.next()).await.is_err());
    assert_eq!(nats.bus.stats().malformed, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_a_later_schema_is_left_to_others_first() {
    let nats = Nats::start(Nats::TIMES).await;
    let api = &nats.bus.shared.connection.api;
    let mut headers = headers::for_job(&job(0), subjects::JOBS_STREAM, "later", headers::Carried::default());
    headers.insert("Gl-Schema", "2.0");
    let subject = subjects::jobs(&job(0).lane, &job(0).tenant);
    api.store(subject, headers, crate::wire::encode_job(&job(0))).await.unwrap();
    assert!(nats.bus.pull(&job(0).lane, budget(9)).await.unwrap().is_empty());
    expect_left(&nats, 1, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_that_changed_are_set_right_and_what_may_not_change_is_refused() {
    let nats = Nats::start(Nats::TIMES).await;
    let base = nats.bus.shared.options.clone();
    let more = NatsOptions { max_jobs_per_tenant: 99, ..base.clone() };
    let obeying = NatsOptions { manages_streams: false, ..more.clone() };
    let refused = NatsBus::connect(obeying.clone()).await.unwrap_err();
    assert_eq!(refused.code, Code::BROKER_UNSUITABLE);
    assert!(refused.message.contains("max_msgs_per_subject is 8 and should be 99"), "{}", refused.message);
    NatsBus::connect(more).await.unwrap();
    NatsBus::connect(obeying).await.unwrap();
    let moved = NatsOptions { storage: NatsStorage::Memory, ..base };
    let refused = NatsBus::connect(moved).await.unwrap_err();
    assert_eq!(refused.code, Code::BROKER_UNSUITABLE);
    assert!(refused.message.contains("storage is \"file\""), "{}", refused.message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_credentials_and_a_broker_that_is_not_there_are_told_apart() {
    let version = groundline_testkit::NatsVersion::of_tests();
    let server = NatsServer::start_with(version, "authorization { token: \"right\" }");
    let with = |token: &str| NatsOptions { token: Secret::new(token), ..options(&server, Nats::TIMES) };
    assert_eq!(NatsBus::connect(with("wrong")).await.unwrap_err().code, Code::BROKER_DENIED);
    let bus = NatsBus::connect(with("right")).await.unwrap();
    assert_eq!(bus.publish(job(0)).await, Ok(Published::Stored));
    let nobody = NatsOptions { start_patience_ms: 100, ..NatsOptions::at("nats://127.0.0.1:1") };
    assert_eq!(NatsBus::connect(nobody).await.unwrap_err().code, Code::BUS_UNAVAILABLE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_job_fits_the_broker() {
    let nats = Nats::start(Nats::TIMES).await;
    let text = "x".repeat(MAX_JOB_BYTES - 1024);
    let work = groundline_types::Work::Embed { text: text.into() };
    let large = Job { texts: crate::JobTexts::intern([&work]), ..job(0) };
    assert_eq!(nats.bus.publish(large.clone()).await, Ok(Published::Stored));
    let pulled = nats.bus.pull(&job(0).lane, budget(1)).await.unwrap();
    assert_eq!(**pulled[0].job(), large);
    pulled.into_iter().for_each(|delivery| delivery.reject(Reason::new(Code::INTERNAL, "test")));
    expect_left(&nats, 0, &[(job(0).id, Code::INTERNAL, 1)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_jobs_are_confirmed_at_once() {
    let nats = Nats::start(Times { max_jobs_per_tenant: 5000, ..Nats::TIMES }).await;
    let publishing = (0..2000).map(|serial| nats.bus.publish(job(serial)));
    let all = futures_util::future::join_all(publishing).await;
    assert!(all.iter().all(|stored| *stored == Ok(Published::Stored)));
    assert_eq!(nats.stored().await, 2000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_may_not_publish_jobs_hands_them_back_counted() {
    let version = groundline_testkit::NatsVersion::of_tests();
    let users = r#"authorization { users: [
        { user: coordinator, password: secret },
        { user: worker, password: secret, permissions: { publish: { deny: "gl.v1.jobs.>" } } }
    ] }"#;
    let server = NatsServer::start_with(version, users);
    let times = Times { ack_wait: Duration::from_secs(10), max_deliver: 9, ..Nats::TIMES };
    let with = |user: &str| NatsOptions {
        user: user.into(),
        password: Secret::new("secret"),
        request_timeout_ms: 1000,
        ..options(&server, times)
    };
    let coordinator = NatsBus::connect(with("coordinator")).await.unwrap();
    let worker = NatsBus::connect(with("worker")).await.unwrap();
    coordinator.publish(job(0)).await.unwrap();
    let wait = PullBudget { wait: Duration::from_secs(5), ..budget(1) };
    for delivered in 1..=3 {
        let held = worker.pull(&job(0).lane, wait).await.unwrap();
        assert_eq!(held[0].delivered(), delivered);
        held.into_iter().for_each(Delivery::hand_back);
    }
    assert_eq!(worker.stats().handed_back, 0);
    assert_eq!(worker.stats().refusals, 1, "it is tried once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_whose_clock_is_wrong_takes_no_job_for_late() {
    let nats = Nats::start(Nats::TIMES).await;
    assert!(nats.bus.shared.clock_ahead_ms.load(Ordering::Relaxed).abs() < 1000);
    // As if the broker's clock were taken for a minute slow.
    nats.bus.shared.clock_ahead_ms.fetch_add(-60_000, Ordering::Relaxed);
    nats.bus.publish(job(0)).await.unwrap();
    let early = nats.bus.pull(&job(0).lane, budget(1)).await.unwrap();
    assert_eq!(early[0].time_left(), job(0).time_left, "the future is not waiting time");
    early.into_iter().for_each(|delivery| delivery.retry(Duration::ZERO));
    // A broker before 2.10 does not say its time.
    if nats.bus.shared.connection.version >= topology::Version(2, 10, 0) {
        nats.bus.shared.birth_of_streams().await.unwrap();
        assert!(nats.bus.shared.clock_ahead_ms.load(Ordering::Relaxed).abs() < 10_000);
    }
    let again = nats.bus.pull(&job(0).lane, budget(1)).await.unwrap();
    assert!(again[0].time_left() > job(0).time_left - Duration::from_secs(10));
    again.into_iter().for_each(Delivery::ack);
}
