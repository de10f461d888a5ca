//! Many checks, large checks, and ends in good order.

use super::*;
use groundline_bus::MAX_JOB_ITEMS;

#[tokio::test]
async fn checks_over_the_limit_are_refused_and_a_caller_that_leaves_makes_room() {
    let (gate, hooks) = closed_gate();
    let options = CoordinatorOptions { max_checks: 2, ..CoordinatorOptions::default() };
    let cluster = Cluster::with(hooks, options).await;
    let slow = |sentences: usize| cluster.coordinator.check(long_request(sentences));
    let mut running = Box::pin(async { tokio::join!(slow(3), slow(4)) });
    assert!(timeout(Duration::from_millis(200), &mut running).await.is_err());
    assert_eq!(cluster.check(request()).await.unwrap_err().code, Code::OVERLOADED);
    drop(running);
    gate.open();
    eventually("the bus is empty", || cluster.bus.stored_jobs() == 0).await;
    assert_eq!(cluster.check(request()).await.unwrap().coverage, Some(1.0));
}

#[tokio::test]
async fn a_caller_that_leaves_stops_its_work() {
    let (gate, hooks) = closed_gate();
    let options = CoordinatorOptions { window_jobs: 1, ..CoordinatorOptions::default() };
    let cluster = Cluster::with(hooks, options).await;
    let request = long_request(200);
    assert!(timeout(Duration::from_millis(500), cluster.coordinator.check(request)).await.is_err());
    gate.open();
    eventually("the bus is empty", || cluster.bus.stored_jobs() == 0).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(cluster.items() <= 2 * MAX_JOB_ITEMS, "{} items were scored for nobody", cluster.items());
}

#[tokio::test]
async fn a_waiting_check_goes_on_when_the_leading_one_leaves() {
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let mut leading = Box::pin(cluster.coordinator.check(request()));
    assert!(timeout(Duration::from_millis(150), &mut leading).await.is_err());
    let waiting = cluster.check(request());
    let leaving = async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        drop(leading);
        gate.open();
    };
    let (result, ()) = tokio::join!(waiting, leaving);
    assert_eq!(result.unwrap().coverage, Some(1.0));
}

#[tokio::test]
async fn a_stop_lets_running_checks_finish_and_refuses_new_ones() {
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let coordinator = cluster.coordinator.clone();
    let stopping = async {
        eventually("a job is at the worker", || cluster.items() > 0).await;
        let open = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(cluster.check(request()).await.unwrap_err().code, Code::OVERLOADED);
            gate.open();
        };
        tokio::join!(coordinator.stop(), open);
    };
    let (result, ()) = tokio::join!(cluster.check(request()), stopping);
    assert_eq!(result.unwrap().coverage, Some(1.0));
    assert_eq!(cluster.check(request()).await.unwrap_err().code, Code::INTERNAL);
}

#[tokio::test]
async fn a_stop_that_takes_too_long_makes_checks_answer_with_what_they_have() {
    let (_gate, hooks) = closed_gate();
    let options =
        CoordinatorOptions { stop_timeout: Duration::from_millis(100), ..CoordinatorOptions::default() };
    let cluster = Cluster::with(hooks, options).await;
    let coordinator = cluster.coordinator.clone();
    let stopping = async {
        eventually("a job is at the worker", || cluster.items() > 0).await;
        coordinator.stop().await;
    };
    let (result, ()) = tokio::join!(cluster.check(request()), stopping);
    assert!(result.unwrap().notes.iter().any(|note| note.code == Code::CANCELLED));
}

#[tokio::test]
async fn many_checks_at_once_all_answer_in_both_lanes() {
    let options = CoordinatorOptions { max_checks: 100, ..CoordinatorOptions::default() };
    let cluster = Cluster::with(ToyHooks::default(), options).await;
    let mut checks = tokio::task::JoinSet::new();
    for number in 0..100 {
        let coordinator = cluster.coordinator.clone();
        checks.spawn(async move {
            let mut request = long_request(1 + number % 13);
            request.lane = (number % 3 == 0).then_some(groundline_types::Lane::Bulk);
            let tenant = SubjectToken::from_name(&format!("tenant-{}", number % 5));
            coordinator.check_for(tenant, request, CheckObserver::default()).await
        });
    }
    let mut answered = 0;
    while let Some(result) = timeout(PATIENCE, checks.join_next()).await.unwrap() {
        let result = result.unwrap().unwrap();
        assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes);
        answered += 1;
    }
    assert_eq!(answered, 100);
    eventually("the bus is empty", || cluster.bus.stored_jobs() == 0).await;
}

/// `sentences` in the source and `claims` in the response, all different.
fn large_request(sentences: usize, claims: usize, deadline_ms: u64) -> CheckRequest {
    let sentence = |number: usize| format!("Item number{number} lies in box number{number}. ");
    let source = (0..sentences).map(sentence).collect::<String>();
    let response = (0..claims).map(sentence).collect::<String>();
    let mut request = CheckRequest::new(response.as_str(), source.as_str());
    request.deadline_ms = Some(deadline_ms);
    request
}

/// Prints what a pair costs; run it in release to read a meaningful number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_check_goes_through_uncut_in_rounds() {
    let cluster = Cluster::start().await;
    let (began, request) = (Instant::now(), large_request(2_000, 20, 300_000));
    let result = timeout(10 * PATIENCE, cluster.coordinator.check(request)).await.unwrap().unwrap();
    assert_eq!(result.coverage, Some(1.0), "{:?} {:?}", result.notes, result.usage);
    assert_eq!(result.verdict, Some(Verdict::Supported));
    assert!(result.usage.pairs >= 20 * 2_000);
    let per_pair = began.elapsed() / u32::try_from(result.usage.pairs).unwrap();
    println!("{} pairs, {per_pair:?} a pair, score included", result.usage.pairs);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_check_answers_at_its_deadline() {
    let hooks = ToyHooks { batch_delay: Duration::from_millis(50), ..ToyHooks::default() };
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let (began, request) = (Instant::now(), large_request(2_000, 50, 2_000));
    let result = timeout(PATIENCE, cluster.coordinator.check(request)).await.unwrap().unwrap();
    let over = began.elapsed().saturating_sub(Duration::from_secs(2));
    println!("{over:?} over the deadline");
    assert!(over < Duration::from_secs(2), "{over:?} over the deadline");
    assert!(result.coverage < Some(1.0) && result.notes.iter().any(|note| note.code == Code::DEADLINE));
}

#[tokio::test]
async fn the_work_of_callers_that_left_is_not_done_and_holds_up_nobody() {
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let mut abandoned = 0;
    for _ in 0..4 {
        let request = large_request(200, 40, 600_000);
        assert!(timeout(Duration::from_millis(300), cluster.coordinator.check(request)).await.is_err());
        abandoned += 1;
    }
    eventually("only what a worker began is left", || cluster.bus.stored_jobs() <= 4 * 16).await;
    gate.open();
    let result = cluster.check(request()).await.unwrap();
    assert_eq!((abandoned, result.coverage), (4, Some(1.0)));
    eventually("the bus is empty", || cluster.bus.stored_jobs() == 0).await;
    // Two batches were with the device; everything else was dropped.
    let wanted = result.usage.pairs + result.usage.embeddings;
    println!("{} items scored, {wanted} of them wanted", cluster.items());
    assert!(cluster.items() <= wanted + 1024, "{} items were scored for nobody", cluster.items() - wanted);
}

#[tokio::test]
async fn a_caller_with_an_answer_may_ask_again_at_once() {
    let options = CoordinatorOptions { max_checks: 1, ..CoordinatorOptions::default() };
    let cluster = Cluster::with(ToyHooks::default(), options).await;
    for round in 0..50 {
        let result = cluster.check(long_request(1 + round % 3)).await;
        assert!(result.is_ok(), "round {round}: {result:?}");
    }
}

/// Counts no token before its gate is open.
struct StuckCounter(Arc<dyn groundline_types::CountTokens>, Arc<Gate>);

impl groundline_types::CountTokens for StuckCounter {
    fn count_tokens(&self, text: &str) -> usize {
        self.1.wait();
        self.0.count_tokens(text)
    }

    fn prefix_within(&self, text: &str, budget: usize) -> usize {
        self.0.prefix_within(text, budget)
    }
}

#[tokio::test]
async fn work_on_a_thread_counts_as_running_until_it_ends_though_its_caller_left() {
    // Long enough for a thread: a short one is worked on where it is.
    let request = || long_request(150);
    let gate = Arc::new(Gate::closed());
    let stuck = Arc::clone(&gate);
    let engine = ToyEngine::default().with_facts(move |facts| {
        facts.counter = Arc::new(StuckCounter(Arc::clone(&facts.counter), stuck));
    });
    let (bus, facts) = (MemoryBus::default(), engine.facts().clone());
    let _worker = Worker::start(bus.clone(), Arc::new(engine), WorkerOptions::default()).await.unwrap();
    let options = CoordinatorOptions { max_checks: 1, ..CoordinatorOptions::default() };
    let coordinator = Coordinator::start(bus, facts, options).await.unwrap();
    assert!(timeout(Duration::from_millis(200), coordinator.check(request())).await.is_err());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(coordinator.check(request()).await.unwrap_err().code, Code::OVERLOADED);
    gate.open();
    let give_up = Instant::now() + PATIENCE;
    while let Err(problem) = coordinator.check(request()).await {
        assert!(problem.code == Code::OVERLOADED && Instant::now() < give_up, "{problem}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
