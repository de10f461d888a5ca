//! What networks do to a cluster, and what it makes of that: black holes, lost messages, readers that stall, mixed versions.

use groundline_bus::JobBus;
use groundline_coordinator::Coordinator;
use groundline_inference::Engine;
use groundline_testkit::{FaultProxy, NatsMessage, NatsServer, ToyEngine, ToyHooks, ToyStats, Way};
use groundline_types::CheckResult;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use system_tests::cluster::{
    ACK_WAIT, Load, WorkerProcess, connect, coordinator, coordinator_at, coordinator_options, eventually,
    expect_no_dead, nats_options, request, worker,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How long a batch takes.
const BATCH: Duration = Duration::from_millis(100);
const CALLERS: usize = 8;
/// How long a partition lasts: longer than the broker's client takes to see it.
const PARTITION: Duration = Duration::from_secs(9);
/// Within this time a client sees that nothing comes any more.
const NOTICED: Duration = Duration::from_secs(8);
/// Within this time after its end, a partition is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(5);
/// How late an answer may be, on a busy machine.
const TICK: Duration = Duration::from_millis(500);
/// The first number of requests that no load sends.
const OWN: usize = 1_000_000;

fn slow(batch_delay: Duration) -> ToyHooks {
    ToyHooks { batch_delay, ..ToyHooks::default() }
}

fn batches(stats: &ToyStats) -> usize {
    stats.batches.load(Ordering::SeqCst)
}

async fn ask(coordinator: &Coordinator, number: usize) -> CheckResult {
    let result = coordinator.check(request(number)).await.unwrap();
    assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes);
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_in_a_black_hole_is_replaced_and_pulls_again_soon_after_it() {
    let server = NatsServer::start();
    let proxy = FaultProxy::start(server.port());
    let (cut_off, _worker, stats) = worker(nats_options(&proxy.url()), slow(BATCH)).await;
    let _other = WorkerProcess::start(&server, BATCH);
    let (bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, CALLERS);
    eventually("it has work", || batches(&stats) > 2).await;

    proxy.black_hole();
    let cut = Instant::now();
    let mut state = cut_off.state();
    // What is waited for holds a lock for as long as it is held.
    let seen = timeout(NOTICED, state.wait_for(|state| !state.connected)).await.is_ok();
    assert!(seen, "the worker does not see that it is cut off");
    sleep_until(cut + PARTITION).await;
    let before = batches(&stats);
    proxy.heal();
    let healed = Instant::now();
    eventually("it pulls again", || batches(&stats) > before).await;
    assert!(healed.elapsed() < FORGOTTEN, "{:?}", healed.elapsed());
    load.expect_all_whole().await;
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_in_a_black_hole_keeps_its_deadlines_and_completes_the_rest_after_it() {
    let server = NatsServer::start();
    let proxy = FaultProxy::start(server.port());
    let _worker = WorkerProcess::start(&server, BATCH);
    let (bus, coordinator) = coordinator_at(nats_options(&proxy.url()), coordinator_options()).await;
    let load = Load::start(&coordinator, CALLERS);
    sleep(Duration::from_secs(1)).await;

    proxy.black_hole();
    let cut = Instant::now();
    let deadline = Duration::from_secs(3);
    let mut hurried = request(OWN);
    hurried.deadline_ms = Some(3000);
    let result = timeout(deadline + TICK, coordinator.check(hurried)).await.expect("it is late").unwrap();
    assert_ne!(result.coverage, Some(1.0), "nobody can have scored it");
    let mut state = bus.state();
    let left = NOTICED.saturating_sub(cut.elapsed());
    let seen = timeout(left, state.wait_for(|state| !state.connected)).await.is_ok();
    assert!(seen, "the coordinator does not see that it is cut off");
    sleep_until(cut + PARTITION).await;
    proxy.heal();
    let after = timeout(Duration::from_secs(10), ask(&coordinator, OWN + 1)).await;
    assert!(after.is_ok(), "it does not recover");
    load.expect_all_whole().await;
    expect_no_dead(&bus).await;
}

/// What the broker says to whoever has published a job.
fn is_publish_ack(message: &NatsMessage) -> bool {
    let text = String::from_utf8_lossy(&message.payload);
    text.contains("\"stream\":\"GL_JOBS_V1\"") && text.contains("\"seq\":") && !text.contains("config")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_whose_publishing_was_not_confirmed_is_done_once() {
    let server = NatsServer::start();
    let proxy = FaultProxy::start(server.port());
    let (_bus, _worker, stats) = worker(nats_options(&server.url()), slow(BATCH)).await;
    let (bus, coordinator) = coordinator_at(nats_options(&proxy.url()), coordinator_options()).await;
    ask(&coordinator, OWN).await;
    let of_one = stats.items.load(Ordering::SeqCst);

    let mut left = 5;
    proxy.set_rule(move |way, message| {
        let drops = left > 0 && way == Way::ToClient && is_publish_ack(message);
        left -= usize::from(drops);
        !drops
    });
    let checks = (1..=3).map(|number| ask(&coordinator, OWN + number));
    futures_util::future::join_all(checks).await;
    // A job whose confirmation is missing is published again after a time, answered or not.
    sleep(Duration::from_secs(3)).await;
    assert_eq!(proxy.dropped(), 5);
    assert_eq!(stats.items.load(Ordering::SeqCst), 4 * of_one, "something was scored twice");
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_get_lost_are_sent_again_and_not_computed_again() {
    let server = NatsServer::start();
    let proxy = FaultProxy::start(server.port());
    let (_bus, _worker, stats) = worker(nats_options(&server.url()), slow(Duration::from_millis(10))).await;
    let (bus, coordinator) = coordinator_at(nats_options(&proxy.url()), coordinator_options()).await;
    ask(&coordinator, OWN).await;
    let of_one = stats.items.load(Ordering::SeqCst);

    proxy.set_rule(|way, message| way == Way::ToServer || !message.subject.starts_with("gl.v1.results."));
    let lost = async {
        sleep(Duration::from_secs(5)).await;
        proxy.clear_rule();
    };
    let checks = futures_util::future::join_all((1..=6).map(|number| ask(&coordinator, OWN + number)));
    tokio::join!(lost, checks);
    assert!(proxy.dropped() > 0, "no answer was lost");
    assert_eq!(stats.items.load(Ordering::SeqCst), 7 * of_one, "something was scored twice");
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coordinator_that_stalls_loses_answers_gets_them_again_and_does_not_grow() {
    const STALL: Duration = Duration::from_secs(4);
    const MAX_GROWTH_BYTES: usize = 64 << 20;
    let server = NatsServer::start();
    let _worker = WorkerProcess::start(&server, Duration::from_millis(10));
    // The client of the broker lives here and goes on; its reader lives on a thread that stalls.
    let mut options = nats_options(&server.url());
    options.subscription_capacity = 8;
    let bus = connect(options).await;
    let for_thread = bus.clone();
    let before = resident_bytes();
    let stalling = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let facts = ToyEngine::default().facts().clone();
            let coordinator = Coordinator::start(for_thread, facts, coordinator_options()).await.unwrap();
            let load = Load::start(&coordinator, 3 * CALLERS);
            sleep(Duration::from_secs(1)).await;
            std::thread::sleep(STALL);
            load.expect_all_whole().await
        })
    });
    let (count, took) = tokio::task::spawn_blocking(|| stalling.join()).await.unwrap().unwrap();
    println!("{count} checks in {took:?}, {:?}", bus.stats());
    assert!(bus.stats().slow_consumers > 0, "nothing was lost: {:?}", bus.stats());
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < MAX_GROWTH_BYTES, "it has grown by {growth} bytes");
    expect_no_dead(&bus).await;
}

/// Memory of this process.
fn resident_bytes() -> usize {
    system_tests::resident_bytes(std::process::id()).unwrap()
}

/// Makes a message look as if a program of a later minor version had sent it, with a field that nobody here knows.
fn upgrade(message: &mut NatsMessage) {
    /// Field 2000 with the value 1.
    const UNKNOWN_FIELD: [u8; 3] = [0x80, 0x7d, 0x01];
    if message.subject.starts_with("gl.v1.") && message.has_header("Gl-Schema: 1.0") {
        message.replace_header("Gl-Schema: 1.0", "Gl-Schema: 1.1");
        message.payload.extend(UNKNOWN_FIELD);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_and_newer_programs_of_one_major_version_work_together() {
    let server = NatsServer::start();
    let newer = FaultProxy::start(server.port());
    let upgraded = Arc::new(Mutex::new(0_usize));
    let counter = Arc::clone(&upgraded);
    newer.set_rule(move |way, message| {
        if way == Way::ToServer {
            upgrade(message);
            *counter.lock().unwrap() += usize::from(message.has_header("Gl-Schema: 1.1"));
        }
        true
    });
    let (old_bus, _old, old_stats) = worker(nats_options(&server.url()), slow(BATCH)).await;
    let (new_bus, _new, new_stats) = worker(nats_options(&newer.url()), slow(BATCH)).await;
    let (old_side, old_coordinator) = coordinator(&server).await;
    let (new_side, new_coordinator) = coordinator_at(nats_options(&newer.url()), coordinator_options()).await;
    for coordinator in [&old_coordinator, &new_coordinator] {
        let load = Load::start(coordinator, CALLERS);
        eventually("both workers are known", || coordinator.ready_workers() == 2).await;
        sleep(Duration::from_secs(1)).await;
        load.expect_all_whole().await;
    }
    assert!(*upgraded.lock().unwrap() > 20, "nothing was newer");
    assert!(batches(&old_stats) > 2 && batches(&new_stats) > 2, "{old_stats:?} {new_stats:?}");
    for bus in [&old_bus, &new_bus, &old_side, &new_side] {
        assert_eq!(bus.stats().malformed, 0);
    }
    expect_no_dead(&old_side).await;
}

/// Number of a job that is on its way to a worker; `None` for other messages.
fn delivered_job(way: Way, message: &NatsMessage) -> Option<u64> {
    let words = message.reply.as_deref()?.strip_prefix("$JS.ACK.")?.split('.').collect::<Vec<_>>();
    let is_job = way == Way::ToClient && message.subject.starts_with("gl.v1.jobs.");
    let place = if words.len() == 7 { 3 } else { 5 };
    is_job.then(|| words[place].parse().ok()).flatten()
}

/// Jobs by when they were delivered last, and how many came again because nobody had decided in time. One that is given back comes
/// again at once.
#[derive(Default)]
struct Deliveries {
    last: BTreeMap<u64, Instant>,
    timed_out: usize,
}

impl Deliveries {
    fn note(&mut self, way: Way, message: &NatsMessage) {
        let Some(job) = delivered_job(way, message) else { return };
        let before = self.last.insert(job, Instant::now());
        self.timed_out += usize::from(before.is_some_and(|before| before.elapsed() >= ACK_WAIT));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_told_to_stop_leaves_nothing_to_time_out() {
    let server = NatsServer::start();
    let (for_stopped, for_other) = (FaultProxy::start(server.port()), FaultProxy::start(server.port()));
    let deliveries = Arc::new(Mutex::new(Deliveries::default()));
    for proxy in [&for_stopped, &for_other] {
        let deliveries = Arc::clone(&deliveries);
        proxy.set_rule(move |way, message| {
            deliveries.lock().unwrap().note(way, message);
            true
        });
    }
    let mut stopped = WorkerProcess::start_at(&for_stopped.url(), BATCH, None);
    let _other = WorkerProcess::start_at(&for_other.url(), BATCH, None);
    let (bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, 3 * CALLERS);
    sleep(Duration::from_secs(2)).await;
    stopped.signal("TERM");
    let told = Instant::now();
    assert_eq!(stopped.ended(), 0);
    println!("it ended after {:?}", told.elapsed());
    // Longer than a delivery may stay undecided.
    sleep(Duration::from_secs(3)).await;
    load.expect_all_whole().await;
    let (jobs, timed_out) = {
        let deliveries = deliveries.lock().unwrap();
        (deliveries.last.len(), deliveries.timed_out)
    };
    assert!(jobs > CALLERS, "{jobs} jobs were delivered");
    assert_eq!(timed_out, 0, "jobs were left to time out");
    expect_no_dead(&bus).await;
}
