//! What fails, and that every check answers.

use super::*;

#[tokio::test]
async fn an_engine_that_panics_fails_the_sentence_to_blame_and_no_other() {
    let hooks = ToyHooks { panic_word: Some("bomb".to_owned()), ..ToyHooks::default() };
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let response = "The cat sat on the mat. The bomb sat on the mat.";
    let result = cluster.check(CheckRequest::new(response, SOURCE)).await.unwrap();
    let status = result.sentences.iter().map(|sentence| sentence.status).collect::<Vec<_>>();
    assert_eq!(status, [SentenceStatus::Scored, SentenceStatus::Failed]);
    assert!(result.notes.iter().any(|note| note.code == Code::INTERNAL), "{:?}", result.notes);
    assert!(cluster.bus.dead_jobs().is_empty());
}

#[tokio::test]
async fn a_router_and_a_dispatcher_that_fail_hold_up_no_check() {
    let hooks = ToyHooks { batch_delay: Duration::from_millis(5), ..ToyHooks::default() };
    let options = CoordinatorOptions { window_jobs: 2, ..CoordinatorOptions::default() };
    let cluster = Cluster::with(hooks, options).await;
    let breaking = async {
        for round in 0..4 {
            tokio::time::sleep(Duration::from_millis(15)).await;
            let shared = &cluster.coordinator.inner.shared;
            // Between two lives of an actor, there is nobody to break.
            let is_broken = || match round % 2 {
                0 => shared.router.send(RouterMessage::Panic).is_ok(),
                _ => shared.dispatch.send(DispatchMessage::Panic).is_ok(),
            };
            eventually("an actor is there", is_broken).await;
        }
    };
    let checks = async {
        let (a, b, c) = (long_request(60), long_request(61), long_request(40));
        tokio::join!(cluster.check(a), cluster.check(b), cluster.check(c))
    };
    let ((a, b, c), ()) = tokio::join!(checks, breaking);
    for result in [a, b, c] {
        assert_eq!(result.unwrap().coverage, Some(1.0));
    }
    eventually("the bus is empty", || cluster.bus.stored_jobs() == 0).await;
}

#[tokio::test]
async fn a_worker_that_goes_away_hands_its_work_to_the_next() {
    let (gate, hooks) = closed_gate();
    let Cluster { bus, coordinator, worker, stats } =
        Cluster::with(hooks, CoordinatorOptions::default()).await;
    let replacing = async {
        eventually("a job is at the worker", || stats.items.load(SeqCst) > 0).await;
        // Dropped in the middle of a batch; its deliveries come back, and groups among them are split.
        drop(worker);
        let next = Worker::start(bus.clone(), Arc::new(ToyEngine::default()), WorkerOptions::default())
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        gate.open();
        next
    };
    let check = async { timeout(PATIENCE, coordinator.check(long_request(20))).await.unwrap() };
    let (result, _next) = tokio::join!(check, replacing);
    assert_eq!(result.unwrap().coverage, Some(1.0));
}

#[tokio::test]
async fn a_lost_result_is_asked_for_again() {
    let options =
        CoordinatorOptions { resend_after: Duration::from_millis(300), ..CoordinatorOptions::default() };
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, options).await;
    let losing = async {
        eventually("a job is at the worker", || cluster.items() > 0).await;
        // Another reader takes the results for a while: they are lost to the router.
        let me = cluster.coordinator.inner.shared.me;
        let thief = groundline_bus::JobBus::results(&cluster.bus, me).await.unwrap();
        gate.open();
        eventually("the answers are gone", || cluster.bus.stored_jobs() == 0).await;
        drop(thief);
        assert!(cluster.coordinator.inner.shared.router.send(RouterMessage::Panic).is_ok());
    };
    let (result, ()) = tokio::join!(cluster.check(request()), losing);
    assert_eq!(result.unwrap().coverage, Some(1.0));
}

#[tokio::test]
async fn without_any_worker_a_job_is_given_up_after_its_attempts() {
    let options = CoordinatorOptions {
        resend_after: Duration::from_millis(100),
        max_attempts: 2,
        ..CoordinatorOptions::default()
    };
    let facts = ToyEngine::default().facts().clone();
    let coordinator = Coordinator::start(MemoryBus::default(), facts, options).await.unwrap();
    let result = timeout(PATIENCE, coordinator.check(request())).await.unwrap().unwrap();
    assert_eq!(result.status, Status::Failed);
    assert!(result.notes.iter().any(|note| note.code == Code::JOB_DEAD), "{:?}", result.notes);
}

#[tokio::test]
async fn a_supervisor_of_checks_that_fails_answers_its_callers() {
    let (_gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let failing = async {
        eventually("a job is at the worker", || cluster.items() > 0).await;
        assert!(cluster.coordinator.inner.checks.send(ChecksMessage::Panic).is_ok());
    };
    let (result, ()) = tokio::join!(cluster.check(request()), failing);
    assert_eq!(result.unwrap_err().code, Code::INTERNAL);
}

#[tokio::test]
async fn a_closed_bus_is_an_error_at_the_start_and_unchecked_sentences_later() {
    let cluster = Cluster::start().await;
    groundline_bus::JobBus::drain(cluster.bus.clone()).await.unwrap();
    let result = cluster.check(request()).await.unwrap();
    assert!(result.notes.iter().any(|note| note.code == Code::BUS_UNAVAILABLE), "{:?}", result.notes);
    let facts = ToyEngine::default().facts().clone();
    let refused = Coordinator::start(cluster.bus.clone(), facts, CoordinatorOptions::default()).await;
    assert_eq!(refused.unwrap_err().code, Code::BUS_UNAVAILABLE);
}

#[tokio::test]
async fn a_slow_worker_is_waited_for_and_scores_everything_once() {
    // A check takes many times what a job may wait without any answer, and more than all attempts together.
    let hooks = ToyHooks { batch_delay: Duration::from_millis(400), ..ToyHooks::default() };
    let options = CoordinatorOptions {
        resend_after: Duration::from_millis(700),
        max_attempts: 2,
        window_jobs: 64,
        ..CoordinatorOptions::default()
    };
    let cluster = Cluster::with(hooks, options).await;
    let mut request = long_request(400);
    request.deadline_ms = Some(600_000);
    let began = Instant::now();
    let result = cluster.check(request).await.unwrap();
    assert!(began.elapsed() > Duration::from_millis(1400), "the worker is not slow: {:?}", began.elapsed());
    assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes);
    assert_eq!(result.usage.pairs + result.usage.embeddings, cluster.items(), "nothing is scored twice");
}

#[tokio::test]
async fn a_job_that_one_worker_holds_for_long_is_not_sent_twice() {
    let options = CoordinatorOptions {
        resend_after: Duration::from_millis(600),
        max_attempts: 9,
        ..CoordinatorOptions::default()
    };
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, options).await;
    let opening = async {
        eventually("a job is at the worker", || cluster.items() > 0).await;
        let stored = cluster.bus.stored_jobs();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(cluster.bus.stored_jobs(), stored, "attempts of one job are one job");
        gate.open();
    };
    let mut request = request();
    request.deadline_ms = Some(600_000);
    let (result, ()) = tokio::join!(cluster.check(request), opening);
    let result = result.unwrap();
    assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes);
    assert_eq!(result.usage.pairs + result.usage.embeddings, cluster.items());
}

#[tokio::test]
async fn without_any_worker_a_check_is_answered_soon_where_that_is_wanted() {
    let options =
        CoordinatorOptions { no_worker_timeout: Some(Duration::from_millis(200)), ..Default::default() };
    let facts = ToyEngine::default().facts().clone();
    let coordinator = Coordinator::start(MemoryBus::default(), facts, options).await.unwrap();
    assert_eq!(coordinator.ready_workers(), 0);
    let began = Instant::now();
    let result = timeout(PATIENCE, coordinator.check(request())).await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!((result.status, result.coverage), (Status::Failed, Some(0.0)));
    assert!(result.notes.iter().any(|note| note.code == Code::NO_WORKER), "{:?}", result.notes);
}

#[tokio::test]
async fn a_worker_is_known_while_it_takes_jobs_and_says_how_fast_it_is() {
    let options = CoordinatorOptions { no_worker_timeout: Some(Duration::ZERO), ..Default::default() };
    let hooks = ToyHooks { batch_delay: Duration::from_millis(30), ..ToyHooks::default() };
    let cluster = Cluster::with(hooks, options).await;
    eventually("the worker is known", || cluster.coordinator.ready_workers() == 1).await;
    let result = cluster.check(long_request(40)).await.unwrap();
    assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes);
    let fleet = &cluster.coordinator.inner.fleet;
    eventually("its speed is known", || fleet.borrow().credit_tokens.is_some()).await;
    cluster.worker.drain().await;
    eventually("it is gone", || fleet.borrow().ready_workers == 0).await;
}

#[tokio::test]
async fn a_coordinator_that_fails_too_often_says_so() {
    let cluster = Cluster::start().await;
    let failed = cluster.coordinator.failed();
    let shared = &cluster.coordinator.inner.shared;
    for life in 1..=MAX_RESTARTS as u64 + 1 {
        let mut generations = shared.dispatch.generations();
        timeout(PATIENCE, generations.wait_for(|now| *now >= life)).await.unwrap().unwrap();
        eventually("an actor is there", || shared.dispatch.send(DispatchMessage::Panic).is_ok()).await;
    }
    let failure = timeout(PATIENCE, failed).await.unwrap();
    assert_eq!((failure.message.as_str(), failure.code.exit_status()), ("too many failures", 70));
}
