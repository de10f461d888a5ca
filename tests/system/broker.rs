//! Brokers that forget, and brokers that go.

use groundline_bus::{JobBus, NatsBus, NatsOptions, NatsStorage};
use groundline_coordinator::Coordinator;
use groundline_testkit::{NatsCluster, NatsServer, ToyHooks};
use groundline_worker::Worker;
use std::time::Duration;
use system_tests::cluster::{
    Load, coordinator_at, coordinator_options, expect_no_dead, nats_options, worker,
};
use tokio::time::sleep;

const CALLERS: usize = 8;
/// How long a batch takes, so that whatever happens meets one that runs.
const BATCH: Duration = Duration::from_millis(100);
/// A server sends its clients away within half a minute.
const LAME_DUCK_PATIENCE: Duration = Duration::from_secs(60);

async fn start(options: &NatsOptions) -> ((NatsBus, Coordinator), (NatsBus, Worker)) {
    let asking = coordinator_at(options.clone(), coordinator_options()).await;
    let hooks = ToyHooks { batch_delay: BATCH, ..ToyHooks::default() };
    let (bus, worker, _) = worker(options.clone(), hooks).await;
    (asking, (bus, worker))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_keeps_jobs_in_memory_is_sent_them_again_after_a_restart() {
    let mut server = NatsServer::start();
    let options = NatsOptions { storage: NatsStorage::Memory, ..nats_options(&server.url()) };
    let ((bus, coordinator), _worker) = start(&options).await;
    let load = Load::start(&coordinator, CALLERS);
    for _ in 0..2 {
        sleep(Duration::from_secs(1)).await;
        let mut state = bus.state();
        let before = state.borrow_and_update().generation;
        server.kill();
        server.restart();
        state.wait_for(|state| state.connected && state.generation > before).await.unwrap();
    }
    sleep(Duration::from_secs(1)).await;
    let (count, took) = load.expect_all_whole().await;
    println!("{count} checks in {took:?}");
    expect_no_dead(&bus).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_a_cluster_that_is_told_to_go_is_left_without_an_error() {
    let mut cluster = NatsCluster::start(3);
    // The client learns of the others by itself.
    let options = NatsOptions { replicas: 3, ..nats_options(&cluster.server(0).url()) };
    let ((bus, coordinator), (worker_bus, _worker)) = start(&options).await;
    let load = Load::start(&coordinator, CALLERS);
    sleep(Duration::from_secs(1)).await;
    assert_eq!((bus.stats().disconnects, worker_bus.stats().disconnects), (0, 0));
    cluster.server(0).begin_lame_duck();
    let leaving = cluster.server(0);
    // Not on this thread: the load runs on it.
    tokio::task::block_in_place(|| leaving.wait_for_end(LAME_DUCK_PATIENCE));
    sleep(Duration::from_secs(2)).await;
    let (count, took) = load.expect_all_whole().await;
    println!("{count} checks in {took:?}");
    for bus in [&bus, &worker_bus] {
        assert!(bus.stats().disconnects > 0, "it was connected to another server");
        assert_eq!(bus.trouble(), None);
    }
    expect_no_dead(&bus).await;
}
