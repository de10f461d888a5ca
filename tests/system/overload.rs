//! Some ask for much more than there is: others hardly notice.

use groundline_testkit::{NatsServer, ToyHooks, tiny_model_dir};
use groundline_types::{CheckRequest, Lane};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use system_tests::cluster::{
    WorkerProcess, coordinator_at, coordinator_options, expect_no_dead, nats_options, request, worker,
};
use system_tests::role::{Role, cluster_toml, http};
use system_tests::{file, groundline, run};

/// How long a batch takes on the simulated device.
const BATCH: Duration = Duration::from_millis(100);
const WORKERS: usize = 3;
/// How many callers of the noisy tenant ask without pause, for one of the quiet tenant.
const NOISE: usize = 100;
const QUIET_CHECKS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);

fn percentile_95(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() * 95).div_ceil(100) - 1]
}

/// A gateway with two tenants, and the key of each.
fn gateway_with_tenants(folder: &Path, model: &Path, nats: &str) -> (Role, [String; 2]) {
    let mut keys_file = String::new();
    let keys = ["noisy", "quiet"].map(|tenant| {
        let made = run(&["keys", "new", "--tenant", tenant]);
        keys_file += &made.stdout;
        let key = made.stdout.lines().nth(1).and_then(|line| line.strip_prefix("# ")).map(str::to_owned);
        key.unwrap_or_else(|| panic!("{made:?}"))
    });
    // The noisy tenant may have some of its checks under way, and gets 429 for more.
    write!(keys_file, "[tenants.noisy]\nin_flight_tokens = 800\n").unwrap();
    let keys_file = file(folder, "keys.toml", keys_file);
    let sections = format!(
        "[gateway]\nkeys_file = {keys_file:?}\n[coordinator]\nmax_checks = 1000\ntarget_queue_ms = 100\n"
    );
    let config = file(folder, "groundline.toml", cluster_toml(model, &sections));
    let arguments =
        ["gateway", "--config", &config, "--nats", nats, "--listen", "127.0.0.1:0", "--admin-listen", ""];
    (Role::start(groundline(&arguments), &folder.join("gateway.log")).unwrap(), keys)
}

/// Status and time of one check.
fn ask(gateway: &str, key: &str, number: usize) -> (u16, Duration) {
    let text = format!("Crate {number} holds the list.");
    let body = serde_json::json!({"source": text, "response": text, "methods": ["entailment"]});
    let began = Instant::now();
    let headers = format!("x-api-key: {key}\r\n");
    let (status, result) = http(gateway, "POST /v1/check", &headers, &body.to_string(), PATIENCE).unwrap();
    assert!(status != 200 || result["coverage"] == 1.0, "{result}");
    (status, began.elapsed())
}

#[test]
fn a_tenant_that_floods_is_told_so_and_another_waits_for_few_batches_more() {
    let folder = tempfile::tempdir().unwrap();
    let (server, model) = (NatsServer::start(), tiny_model_dir().unwrap());
    let _workers = std::array::from_fn::<_, WORKERS, _>(|_| {
        WorkerProcess::start_at(&server.url(), BATCH, Some(model.path()))
    });
    let (gateway, [noisy, quiet]) = gateway_with_tenants(folder.path(), model.path(), &server.url());
    let measure = |first: usize| {
        let times = (first..first + QUIET_CHECKS).map(|number| ask(&gateway.address, &quiet, number));
        percentile_95(times.inspect(|(status, _)| assert_eq!(*status, 200)).map(|(_, took)| took).collect())
    };
    measure(0);
    let alone = measure(1000);
    let (stop, next) = (AtomicBool::new(false), AtomicUsize::new(1_000_000));
    let (answered, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let beside = std::thread::scope(|scope| {
        for _ in 0..NOISE {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    match ask(&gateway.address, &noisy, next.fetch_add(1, Ordering::SeqCst)).0 {
                        200 => answered.fetch_add(1, Ordering::SeqCst),
                        429 => {
                            // As `Retry-After` asks; no less, or the flood would be of refusals.
                            std::thread::sleep(Duration::from_secs(1));
                            refused.fetch_add(1, Ordering::SeqCst)
                        }
                        status => panic!("the noisy tenant gets {status}"),
                    };
                }
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        let beside = measure(2000);
        stop.store(true, Ordering::SeqCst);
        beside
    });
    let (answered, refused) = (answered.into_inner(), refused.into_inner());
    println!("alone {alone:?}, beside {beside:?}; noisy: {answered} answered, {refused} refused");
    assert!(refused > 0, "the noisy tenant is never told");
    assert!(answered > QUIET_CHECKS, "the noisy tenant gets nothing: {answered}");
    // A device has one batch running and one ready: a check waits for both, and for no queue of the noisy tenant's.
    assert!(beside < alone + 4 * BATCH, "{beside:?} instead of {alone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_bulk_leaves_online_checks_quick_and_gets_its_share() {
    let server = NatsServer::start();
    let device = || ToyHooks { batch_delay: BATCH, ..ToyHooks::default() };
    let mut options = coordinator_options();
    options.max_checks = 20_000;
    options.target_queue = BATCH;
    let (bus, coordinator) = coordinator_at(nats_options(&server.url()), options).await;
    let (_one, _first, _) = worker(nats_options(&server.url()), device()).await;
    let (_two, _second, _) = worker(nats_options(&server.url()), device()).await;
    let online = async |numbers: std::ops::Range<usize>| {
        let mut times = Vec::new();
        for number in numbers {
            let began = Instant::now();
            let result = coordinator.check(request(number)).await.unwrap();
            assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes);
            times.push(began.elapsed());
        }
        percentile_95(times)
    };
    online(0..5).await;
    let alone = online(100..130).await;
    let bulk =
        |number| CheckRequest { lane: Some(Lane::Bulk), deadline_ms: Some(900_000), ..request(number) };
    let mut flood = tokio::task::JoinSet::new();
    for number in 0..bulk_checks() {
        let (coordinator, request) = (coordinator.clone(), bulk(1_000_000 + number));
        flood.spawn(async move { coordinator.check(request).await.unwrap().coverage });
    }
    let began = Instant::now();
    let mut done = 0;
    let beside = {
        let online = online(200..240);
        tokio::pin!(online);
        loop {
            tokio::select! {
                biased;
                time = &mut online => break time,
                Some(coverage) = flood.join_next() => {
                    assert_eq!(coverage.unwrap(), Some(1.0));
                    done += 1;
                }
            }
        }
    };
    println!("alone {alone:?}, beside {beside:?}; {done} bulk checks in {:?}", began.elapsed());
    // An eleventh of 40 online checks at least.
    assert!(done >= 4 || flood.is_empty(), "bulk starves: {done}");
    // One batch runs, one is ready, and one in eleven may be a bulk one before: not the seconds that the flood waits for.
    assert!(beside < alone + 4 * BATCH, "{beside:?} instead of {alone:?}");
    while let Some(coverage) = flood.join_next().await {
        assert_eq!(coverage.unwrap(), Some(1.0));
    }
    expect_no_dead(&bus).await;
}

/// How many checks flood: few in the ordinary tests, and as many as the variable says where somebody asks for more.
fn bulk_checks() -> usize {
    std::env::var("GROUNDLINE_BULK_CHECKS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}
