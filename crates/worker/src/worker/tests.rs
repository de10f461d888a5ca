use super::*;
use groundline_bus::{
    Incarnation, Job, JobAnswer, JobId, JobResult, JobTexts, MemoryBus, MemoryBusOptions, PullBudget,
    ResultStream,
};
use groundline_testkit::{Gate, ToyEngine, ToyHooks, ToyStats};
use groundline_types::{Head, Outcome, Score, Work};
use std::sync::atomic::Ordering;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);

struct Bench {
    bus: MemoryBus,
    me: Incarnation,
    results: ResultStream,
    worker: Worker,
    stats: Arc<ToyStats>,
    model: SubjectToken,
}

impl Bench {
    async fn start(hooks: ToyHooks) -> Self {
        let bus = MemoryBus::new(MemoryBusOptions {
            ack_wait_online: Duration::from_millis(200),
            ..MemoryBusOptions::default()
        });
        Self::on(bus, hooks).await
    }

    async fn on(bus: MemoryBus, hooks: ToyHooks) -> Self {
        let engine = ToyEngine::new(hooks);
        let (stats, model) = (engine.stats(), SubjectToken::from_name(&engine.facts().id.revision));
        let me = Incarnation::random();
        let results = bus.results(me).await.unwrap();
        let worker = Worker::start(bus.clone(), Arc::new(engine), WorkerOptions::default()).await.unwrap();
        Bench { bus, me, results, worker, stats, model }
    }

    fn job(&self, serial: u32, hypotheses: &[&str]) -> Job {
        let pair = |hypothesis: &&str| Work::Pair {
            premise: "the cat sat".into(),
            hypothesis: Arc::from(*hypothesis),
            head: Head::Nli,
        };
        let work = hypotheses.iter().map(pair).collect::<Vec<_>>();
        Job {
            id: JobId { reply_to: self.me, check: 1, serial },
            attempt: 0,
            lane: LaneId { model: self.model.clone(), lane: Lane::Online },
            tenant: SubjectToken::from_name("tenant"),
            time_left: Duration::from_secs(60),
            estimated_tokens: 8 * work.len(),
            trace: None,
            texts: JobTexts::intern(&work),
        }
    }

    async fn publish(&self, serial: u32, hypotheses: &[&str]) {
        self.bus.publish(self.job(serial, hypotheses)).await.unwrap();
    }

    async fn result(&mut self) -> JobResult {
        timeout(PATIENCE, self.results.next()).await.expect("a result in time").expect("an open bus")
    }

    async fn is_empty(&self) -> bool {
        for _ in 0..200 {
            if self.bus.stored_jobs() == 0 {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }
}

fn items(result: JobResult) -> Vec<Outcome<Score>> {
    match result.answer {
        JobAnswer::Items(items) => items,
        JobAnswer::Split => panic!("a split was not expected"),
    }
}

fn codes(result: JobResult) -> Vec<Option<Code>> {
    items(result).iter().map(|outcome| outcome.reason().map(|reason| reason.code)).collect()
}

#[tokio::test]
async fn a_job_is_answered_in_order_and_acknowledged() {
    let mut bench = Bench::start(ToyHooks::default()).await;
    bench.publish(3, &["the cat sat", "a dog ran"]).await;
    let result = bench.result().await;
    assert_eq!((result.id.serial, result.attempt), (3, 0));
    let support = |outcome: &Outcome<Score>| outcome.scored().unwrap().logits().unwrap()[0];
    let items = items(result);
    assert!(support(&items[0]) > support(&items[1]));
    assert!(bench.is_empty().await);
    assert!(bench.bus.dead_jobs().is_empty());
}

#[tokio::test]
async fn an_engine_that_panics_or_fails_costs_one_item_and_the_worker_lives() {
    let hooks = ToyHooks {
        panic_word: Some("bomb".to_owned()),
        nan_word: Some("nan".to_owned()),
        ..ToyHooks::default()
    };
    let mut bench = Bench::start(hooks).await;
    let too_long = "word ".repeat(600);
    bench.publish(1, &["the cat", "the bomb", "the nan", &too_long]).await;
    let expected = [None, Some(Code::INTERNAL), Some(Code::NON_FINITE), Some(Code::TEXT_TOO_LONG)];
    assert_eq!(codes(bench.result().await), expected);
    bench.publish(2, &["the cat"]).await;
    assert_eq!(codes(bench.result().await), [None]);
    assert!(bench.is_empty().await);
}

#[tokio::test]
async fn a_long_run_keeps_its_deliveries() {
    let gate = Arc::new(Gate::closed());
    let mut bench = Bench::start(ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() }).await;
    bench.publish(1, &["the cat"]).await;
    // Five times the wait for a decision.
    tokio::time::sleep(Duration::from_secs(1)).await;
    gate.open();
    assert_eq!(codes(bench.result().await), [None]);
    assert!(bench.is_empty().await);
    assert_eq!(bench.stats.items.load(Ordering::SeqCst), 1, "it was scored once");
}

#[tokio::test]
async fn a_group_that_comes_back_is_split_and_a_single_dies_at_the_third_delivery() {
    let bus = MemoryBus::default();
    let mut bench = Bench::on(bus, ToyHooks::default()).await;
    // Another worker takes the jobs and lets them go.
    let other = LaneId { model: SubjectToken::from_name("other"), lane: Lane::Online };
    let drop_times = |times: u32, bus: MemoryBus, lane: LaneId| async move {
        for _ in 0..times {
            let budget = PullBudget { max_jobs: 1, max_tokens: 100, wait: Duration::from_secs(1) };
            drop(bus.pull(&lane, budget).await.unwrap());
        }
    };
    for (serial, texts, times) in [(1, &["a", "b"][..], 1), (2, &["a"][..], 1), (3, &["a"][..], 2)] {
        let job = Job { lane: other.clone(), ..bench.job(serial, texts) };
        bench.bus.publish(job).await.unwrap();
        drop_times(times, bench.bus.clone(), other.clone()).await;
        // Now the worker for that model starts, and meets the job with its history.
        let engine = ToyEngine::default().with_facts(|facts| facts.id.revision = "other".to_owned());
        let late =
            Worker::start(bench.bus.clone(), Arc::new(engine), WorkerOptions::default()).await.unwrap();
        let result = bench.result().await;
        match serial {
            1 => assert_eq!(result.answer, JobAnswer::Split),
            2 => assert_eq!(codes(result), [None]),
            _ => assert_eq!(codes(result), [Some(Code::JOB_DEAD)]),
        }
        assert!(bench.is_empty().await);
        late.drain().await;
    }
    let dead = bench.bus.dead_jobs();
    let serials = dead.iter().filter_map(|dead| dead.job.as_ref()).map(|job| job.id.serial);
    assert_eq!(serials.collect::<Vec<_>>(), [3]);
}

#[tokio::test]
async fn two_attempts_held_at_once_are_scored_once() {
    let gate = Arc::new(Gate::closed());
    let mut bench = Bench::start(ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() }).await;
    bench.publish(1, &["the cat"]).await;
    let again = bench.bus.publish(Job { attempt: 1, ..bench.job(1, &["the cat"]) }).await;
    assert_eq!(again, Ok(groundline_bus::Published::Duplicate));
    tokio::time::sleep(Duration::from_millis(100)).await;
    gate.open();
    bench.result().await;
    assert!(bench.is_empty().await, "both are acknowledged");
    assert_eq!(bench.stats.items.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_expired_job_is_answered_without_being_scored() {
    let gate = Arc::new(Gate::closed());
    let mut bench = Bench::start(ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() }).await;
    // Two batches fill the device.
    for serial in 0..2 {
        bench.publish(serial, &["the cat"]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bench
        .bus
        .publish(Job { time_left: Duration::from_millis(50), ..bench.job(9, &["the cat"]) })
        .await
        .unwrap();
    let result = bench.result().await;
    assert_eq!((result.id.serial, codes(result)), (9, vec![Some(Code::DEADLINE)]));
    gate.open();
    bench.result().await;
    bench.result().await;
    assert_eq!(bench.stats.items.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_worker_holds_no_more_than_it_has_room_for() {
    let gate = Arc::new(Gate::closed());
    let mut bench = Bench::start(ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() }).await;
    let size = 4096;
    for serial in 0..12 {
        let job = Job { estimated_tokens: size, ..bench.job(serial, &["the cat"]) };
        bench.bus.publish(job).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(150)).await;
    let budget = PullBudget { max_jobs: 99, max_tokens: usize::MAX, wait: Duration::ZERO };
    let lane = LaneId { model: bench.model.clone(), lane: Lane::Online };
    let left = bench.bus.pull(&lane, budget).await.unwrap();
    assert_eq!(left.len(), 10, "two batches' worth are held, the rest is left to others");
    left.into_iter().for_each(groundline_bus::Delivery::ack);
    gate.open();
    for _ in 0..2 {
        bench.result().await;
    }
}

#[tokio::test]
async fn a_drain_finishes_what_runs_and_hands_back_the_rest() {
    let gate = Arc::new(Gate::closed());
    let mut bench = Bench::start(ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() }).await;
    // A batch each: two fill the device, the third waits.
    for serial in 0..3 {
        bench.publish(serial, &["the cat"]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let open = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        gate.open();
    };
    let worker = bench.worker;
    timeout(PATIENCE, async { tokio::join!(worker.drain(), open) }).await.unwrap();
    for serial in 0..2 {
        assert_eq!(bench.results.next().await.unwrap().id.serial, serial);
    }
    let budget = PullBudget { max_jobs: 9, max_tokens: usize::MAX, wait: Duration::ZERO };
    let lane = LaneId { model: bench.model.clone(), lane: Lane::Online };
    let left = bench.bus.pull(&lane, budget).await.unwrap();
    let left_are = left.iter().map(|delivery| (delivery.job().id.serial, delivery.delivered()));
    assert_eq!(left_are.collect::<Vec<_>>(), [(2, 1)], "what was not begun says nothing against the job");
    left.into_iter().for_each(groundline_bus::Delivery::ack);
    assert_eq!(bench.bus.stored_jobs(), 0);
}

#[tokio::test]
async fn a_batcher_that_fails_loses_no_job() {
    let mut bench =
        Bench::start(ToyHooks { batch_delay: Duration::from_millis(20), ..ToyHooks::default() }).await;
    for serial in 0..20 {
        bench.publish(serial, &["the cat"]).await;
    }
    assert!(bench.worker.batcher.send(BatcherMessage::Panic).is_ok());
    let mut answered = std::collections::BTreeSet::new();
    while answered.len() < 20 {
        let result = bench.result().await;
        answered.insert(result.id.serial);
    }
    assert!(bench.is_empty().await);
    assert_eq!(*bench.worker.batcher.generations().borrow(), 2, "it was started again");
}

#[tokio::test]
async fn a_worker_that_fails_too_often_says_so() {
    let bench = Bench::start(ToyHooks::default()).await;
    let failed = bench.worker.failed();
    for life in 1..=MAX_RESTARTS as u64 + 1 {
        let mut generations = bench.worker.batcher.generations();
        timeout(PATIENCE, generations.wait_for(|now| *now >= life)).await.unwrap().unwrap();
        assert!(bench.worker.batcher.send(BatcherMessage::Panic).is_ok());
    }
    let failure = timeout(PATIENCE, failed).await.unwrap();
    assert_eq!((failure.message.as_str(), failure.code.exit_status()), ("too many failures", 70));
}

#[tokio::test]
async fn what_a_cancelled_check_has_not_begun_is_not_scored_and_its_jobs_are_answered() {
    let gate = Arc::new(Gate::closed());
    let mut bench = Bench::start(ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() }).await;
    // Two batches fill the device; a third job waits in the batcher.
    for serial in 0..3 {
        bench.publish(serial, &["the cat"]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let check = bench.job(0, &["the cat"]).id.check_id();
    assert_eq!(bench.bus.cancel(&bench.model, check).await, Ok(Vec::new()), "all are in hands");
    let result = bench.result().await;
    assert_eq!((result.id.serial, codes(result)), (2, vec![Some(Code::CANCELLED)]));
    // One that comes after the word of its end.
    bench.publish(3, &["the cat"]).await;
    let result = bench.result().await;
    assert_eq!((result.id.serial, codes(result)), (3, vec![Some(Code::CANCELLED)]));
    gate.open();
    for serial in 0..2 {
        let result = bench.result().await;
        assert_eq!((result.id.serial, codes(result)), (serial, vec![None]));
    }
    assert!(bench.is_empty().await);
    assert_eq!(bench.stats.items.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_job_without_items_is_answered_at_once() {
    let mut bench = Bench::start(ToyHooks::default()).await;
    bench.publish(1, &[]).await;
    assert_eq!(items(bench.result().await), []);
    assert!(bench.is_empty().await);
}

#[tokio::test]
async fn a_worker_that_loses_its_device_gives_its_jobs_back_and_says_so() {
    let gate = Arc::new(Gate::closed());
    let hooks = ToyHooks {
        gate: Some(Arc::clone(&gate)),
        lose_device_word: Some("cosmic".to_owned()),
        ..ToyHooks::default()
    };
    let mut bench = Bench::start(hooks).await;
    let failed = bench.worker.failed();
    // A batch each: two fill the device, the third waits.
    for (serial, text) in [(0, "cosmic ray"), (1, "the cat"), (2, "the dog")] {
        bench.publish(serial, &[text]).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    gate.open();
    let failure = timeout(PATIENCE, failed).await.unwrap();
    assert_eq!((failure.code, failure.code.exit_status()), (Code::DEVICE_LOST, 75));
    // Another worker gets them: what had begun with the mark of it.
    let budget = PullBudget { max_jobs: 9, max_tokens: usize::MAX, wait: Duration::from_secs(1) };
    let lane = LaneId { model: bench.model.clone(), lane: Lane::Online };
    let mut back = Vec::new();
    while back.len() < 3 {
        back.extend(bench.bus.pull(&lane, budget).await.unwrap());
    }
    let mut delivered = back.iter().map(|held| (held.job().id.serial, held.delivered())).collect::<Vec<_>>();
    delivered.sort_unstable();
    assert_eq!(delivered, [(0, 2), (1, 2), (2, 1)]);
    assert!(timeout(Duration::from_millis(50), bench.results.next()).await.is_err(), "nothing is answered");
}
