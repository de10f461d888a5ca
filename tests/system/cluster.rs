//! Workers that come, go and die on a real broker: no request fails.

use groundline_bus::{JobBus, NatsBus};
use groundline_testkit::NatsServer;
use groundline_types::{CheckRequest, Code, MethodStatus, SentenceStatus};
use std::time::Duration;
use system_tests::cluster::{Load, POISON, WorkerProcess, coordinator, request};
use tokio::time::{Instant, sleep};

/// How long a batch takes, so that a signal meets one that runs.
const BATCH: Duration = Duration::from_millis(300);
const CALLERS: usize = 12;

async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < give_up, "never: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn expect_no_dead(bus: &NatsBus) {
    let dead = groundline_bus::DeadJobs::list(bus, 100, 0).await.unwrap();
    assert!(dead.is_empty(), "{dead:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_killed_in_the_middle_of_a_batch_fails_no_request() {
    let server = NatsServer::start();
    let mut killed = WorkerProcess::start(&server, BATCH);
    let _other = WorkerProcess::start(&server, BATCH);
    let (bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, CALLERS);
    sleep(Duration::from_secs(2)).await;
    killed.signal("KILL");
    assert_eq!(killed.ended(), -1);
    sleep(Duration::from_secs(4)).await;
    let (count, took) = load.expect_all_whole().await;
    println!("{count} checks in {took:?}");
    assert!(count > CALLERS, "{count} checks");
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_told_to_stop_ends_well_and_others_take_over() {
    let server = NatsServer::start();
    let mut stopped = WorkerProcess::start(&server, BATCH);
    let _other = WorkerProcess::start(&server, BATCH);
    let (bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, CALLERS);
    sleep(Duration::from_secs(2)).await;
    stopped.signal("TERM");
    assert_eq!(stopped.ended(), 0);
    sleep(Duration::from_secs(2)).await;
    load.expect_all_whole().await;
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stopped_process_says_when_it_wakes_changes_nothing() {
    let server = NatsServer::start();
    let zombie = WorkerProcess::start(&server, BATCH);
    let _other = WorkerProcess::start(&server, BATCH);
    let (bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, CALLERS);
    sleep(Duration::from_secs(1)).await;
    zombie.signal("STOP");
    sleep(Duration::from_secs(6)).await;
    zombie.signal("CONT");
    sleep(Duration::from_secs(2)).await;
    load.expect_all_whole().await;
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_crashes_and_comes_back_loses_no_request() {
    let mut server = NatsServer::start();
    let _worker = WorkerProcess::start(&server, BATCH);
    let (bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, CALLERS);
    sleep(Duration::from_secs(1)).await;
    server.kill();
    let mut state = bus.state();
    state.wait_for(|state| !state.connected).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    server.restart();
    state.wait_for(|state| state.connected).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    load.expect_all_whole().await;
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_forgot_everything_gets_every_job_again() {
    let mut server = NatsServer::start();
    let _worker = WorkerProcess::start(&server, BATCH);
    let (bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, CALLERS);
    sleep(Duration::from_secs(1)).await;
    server.kill();
    server.wipe();
    server.restart();
    sleep(Duration::from_secs(4)).await;
    load.expect_all_whole().await;
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pair_that_kills_its_workers_costs_three_of_them_and_nothing_else() {
    let server = NatsServer::start();
    let (bus, coordinator) = coordinator(&server).await;
    let mut deaths = 0;
    let mut worker = WorkerProcess::start(&server, Duration::from_millis(20));
    let mut poisoned = request(0);
    poisoned.response = format!("{}The {POISON} holds the list.", poisoned.response).into();
    poisoned.methods = vec!["entailment".to_owned()];
    let checking = coordinator.check(poisoned);
    tokio::pin!(checking);
    let result = loop {
        tokio::select! {
            result = &mut checking => break result.unwrap(),
            () = sleep(Duration::from_millis(50)) => {
                if worker.is_dead() {
                    deaths += 1;
                    worker = WorkerProcess::start(&server, Duration::from_millis(20));
                }
            }
        }
    };
    let dead = groundline_bus::DeadJobs::list(&bus, 100, 0).await.unwrap();
    println!("{deaths} deaths, {} dead jobs", dead.len());
    assert!(deaths <= 3 * dead.len(), "{deaths} workers died of {} jobs", dead.len());
    let (poison, others) = result.sentences.split_last().unwrap();
    assert_eq!(poison.status, SentenceStatus::Failed);
    assert!(others.iter().all(|sentence| sentence.status == SentenceStatus::Scored), "{:?}", result.notes);
    assert!(result.notes.iter().any(|note| note.code == Code::JOB_DEAD), "{:?}", result.notes);
    assert!(!dead.is_empty() && dead.iter().all(|dead| dead.reason.code == Code::JOB_DEAD));
    assert!(dead.iter().all(|dead| !dead.history.is_empty()), "{dead:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_and_a_coordinator_that_join_under_load_share_the_work() {
    let server = NatsServer::start();
    let _first = WorkerProcess::start(&server, BATCH);
    let (bus, one) = coordinator(&server).await;
    let load = Load::start(&one, CALLERS);
    sleep(Duration::from_secs(1)).await;
    let _second = WorkerProcess::start(&server, BATCH);
    let (_other_bus, other) = coordinator(&server).await;
    let more = Load::start(&other, CALLERS);
    eventually("both workers are known", || one.ready_workers() == 2 && other.ready_workers() == 2).await;
    sleep(Duration::from_secs(1)).await;
    more.expect_all_whole().await;
    load.expect_all_whole().await;
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentences_and_samples_are_compared_token_by_token_on_a_worker_elsewhere() {
    let server = NatsServer::start();
    let _worker = WorkerProcess::start(&server, Duration::from_millis(1));
    let (bus, coordinator) = coordinator(&server).await;
    let response = "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1905.";
    let mut request = CheckRequest::with_sources(response, Vec::new());
    request.methods = vec!["selfcheck_bertscore".to_owned()];
    request.samples =
        vec!["Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1903.".to_owned()];
    let result = coordinator.check(request).await.unwrap();
    let method = &result.methods["selfcheck_bertscore"];
    assert_eq!(method.status, MethodStatus::Scored, "{method:?}");
    // The engine there matches equal words: all of the first sentence's, and 8 of 9 of the second's.
    for (sentence, expected) in method.sentences.iter().zip([0.0, 1.0 / 9.0]) {
        assert!((sentence.score.unwrap() - expected).abs() < 1e-6, "{sentence:?}");
    }
    assert_eq!(result.usage.pairs, 4);
    expect_no_dead(&bus).await;
}
