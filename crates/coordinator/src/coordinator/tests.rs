use super::*;
use crate::dispatch::DispatchMessage;
use crate::observer::Stage;
use groundline_bus::MemoryBus;
use groundline_inference::Engine;
use groundline_testkit::{Gate, ToyEngine, ToyHooks, ToyStats};
use groundline_types::{SentenceStatus, Status, Verdict};
use groundline_worker::{Worker, WorkerOptions};
use std::sync::atomic::Ordering::SeqCst;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

mod faults;
mod judge;
mod load;
mod policies;
mod samples;
mod streams;

const PATIENCE: Duration = Duration::from_secs(30);
const SOURCE: &str =
    "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1903. The cat sat on the mat.";
const RESPONSE: &str =
    "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1905. Hello there!";

/// A whole cluster in one process.
struct Cluster {
    bus: MemoryBus,
    coordinator: Coordinator,
    worker: Worker,
    stats: Arc<ToyStats>,
}

impl Cluster {
    async fn start() -> Self {
        Self::with(ToyHooks::default(), CoordinatorOptions::default()).await
    }

    async fn with(hooks: ToyHooks, options: CoordinatorOptions) -> Self {
        let bus = MemoryBus::default();
        let engine = ToyEngine::new(hooks);
        let (stats, facts) = (engine.stats(), engine.facts().clone());
        let worker = Worker::start(bus.clone(), Arc::new(engine), WorkerOptions::default()).await.unwrap();
        let coordinator = Coordinator::start(bus.clone(), facts, options).await.unwrap();
        Cluster { bus, coordinator, worker, stats }
    }

    async fn check(&self, request: CheckRequest) -> Result<CheckResult, Problem> {
        timeout(PATIENCE, self.coordinator.check(request)).await.expect("an answer in time")
    }

    fn items(&self) -> usize {
        self.stats.items.load(SeqCst)
    }
}

/// Waits until `holds`, for as long as a busy machine may need.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < give_up, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn request() -> CheckRequest {
    CheckRequest::new(RESPONSE, SOURCE)
}

/// A response of many sentences, each with a word of its own.
fn long_request(sentences: usize) -> CheckRequest {
    let sentence = |index: usize| format!("The number{index} cat sat on the mat. ");
    let response = (0..sentences).map(sentence).collect::<String>();
    CheckRequest::new(response.as_str(), SOURCE)
}

fn closed_gate() -> (Arc<Gate>, ToyHooks) {
    let gate = Arc::new(Gate::closed());
    (Arc::clone(&gate), ToyHooks { gate: Some(gate), ..ToyHooks::default() })
}

fn without_times(mut result: CheckResult) -> CheckResult {
    result.timings = groundline_types::Timings::default();
    result.usage.cache_hits = 0;
    result.id = String::new();
    result
}

#[tokio::test]
async fn a_check_runs_through_coordinator_and_worker() {
    let options = CoordinatorOptions {
        config_hash: "abc".to_owned(),
        engine_name: "toy".to_owned(),
        ..Default::default()
    };
    let cluster = Cluster::with(ToyHooks::default(), options).await;
    let result = cluster.check(request()).await.unwrap();
    let verdicts = result.sentences.iter().map(|sentence| sentence.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts, [Some(Verdict::Supported), Some(Verdict::Contradicted), None]);
    assert_eq!((result.status, result.coverage), (Status::Scored, Some(1.0)));
    assert_eq!((result.config_hash.as_str(), result.model.engine.as_str()), ("abc", "toy"));
    assert_eq!(result.model.name, "toy");
    assert!(result.id.starts_with("check-"));
    assert_eq!(
        result.usage.pairs + result.usage.embeddings,
        cluster.items(),
        "every distinct item is scored once"
    );
    assert!(result.timings.total_ms >= result.timings.score_ms);
    assert_eq!(cluster.bus.stored_jobs(), 0);
}

#[tokio::test]
async fn equal_work_of_methods_is_scored_once_and_the_next_check_scores_nothing() {
    let cluster = Cluster::start().await;
    let mut one = request();
    one.methods = vec!["summac".to_owned()];
    let summac = cluster.check(one).await.unwrap();
    let scored = cluster.items();
    assert_eq!(scored, summac.usage.pairs);
    let mut both = request();
    both.methods = vec!["summac".to_owned(), "summac_conv".to_owned()];
    let result = cluster.check(both).await.unwrap();
    assert_eq!(cluster.items(), scored, "the cache knows every pair");
    assert_eq!(result.usage.cache_hits, result.usage.pairs);
    assert_eq!(result.scores.summac, summac.scores.summac);
}

#[tokio::test]
async fn a_sentence_that_stands_twice_is_scored_once() {
    let cluster = Cluster::start().await;
    let sentence = "Marie Curie was born in Warsaw. ";
    let once = cluster.check(CheckRequest::new(sentence, SOURCE)).await.unwrap();
    let scored = cluster.items();
    let cluster = Cluster::start().await;
    let twice = cluster.check(CheckRequest::new(sentence.repeat(2), SOURCE)).await.unwrap();
    assert_eq!(cluster.items(), scored);
    assert_eq!(twice.sentences.len(), 2);
    assert_eq!(twice.scores.min, once.scores.min);
}

#[tokio::test]
async fn equal_checks_at_once_are_scored_once() {
    let (gate, hooks) = closed_gate();
    for cache_bytes in [0, 1 << 20] {
        gate.close();
        let options = CoordinatorOptions { cache_bytes, ..CoordinatorOptions::default() };
        let cluster = Cluster::with(hooks.clone(), options).await;
        let checks = async { tokio::join!(cluster.check(request()), cluster.check(request())) };
        let open = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            gate.open();
        };
        let ((one, two), ()) = tokio::join!(checks, open);
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(one.usage.pairs + one.usage.embeddings, cluster.items());
        assert_eq!(without_times(one), without_times(two));
    }
}

#[tokio::test]
async fn tenants_share_no_scores() {
    let cluster = Cluster::start().await;
    for (tenant, times) in [("a", 1), ("a", 1), ("b", 2)] {
        let observer = CheckObserver::default();
        let check = cluster.coordinator.check_for(SubjectToken::from_name(tenant), request(), observer);
        let result = check.await.unwrap();
        assert_eq!(cluster.items(), times * (result.usage.pairs + result.usage.embeddings), "{tenant}");
    }
}

#[tokio::test]
async fn a_deadline_gives_what_is_there_with_reasons() {
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let mut known = request();
    gate.open();
    cluster.check(CheckRequest::new("Marie Curie was born in Warsaw.", SOURCE)).await.unwrap();
    gate.close();
    known.deadline_ms = Some(1000);
    let began = Instant::now();
    let result = cluster.check(known).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(2000), "{:?}", began.elapsed());
    assert_eq!((result.status, result.coverage), (Status::Partial, Some(0.5)));
    assert_eq!(result.sentences[0].verdict, Some(Verdict::Supported), "what the cache knew is there");
    assert_eq!(result.sentences[1].status, SentenceStatus::Failed);
    assert!(result.notes.iter().any(|note| note.code == Code::DEADLINE), "{:?}", result.notes);
    gate.open();
    let again = cluster.check(request()).await.unwrap();
    assert_eq!(again.coverage, Some(1.0), "a failure is not remembered");
}

#[tokio::test]
async fn a_deadline_that_passes_at_once_still_names_every_sentence() {
    let (_gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let mut hasty = request();
    hasty.deadline_ms = Some(0);
    let result = cluster.check(hasty).await.unwrap();
    assert_eq!((result.status, result.coverage, result.verdict), (Status::Failed, Some(0.0), None));
    let statuses = result.sentences.iter().map(|sentence| sentence.status).collect::<Vec<_>>();
    assert_eq!(statuses, [SentenceStatus::Failed, SentenceStatus::Failed, SentenceStatus::Abstained]);
    assert!(result.notes.iter().any(|note| note.code == Code::DEADLINE), "{:?}", result.notes);
}

#[tokio::test]
async fn offsets_are_right_in_each_source_where_an_id_looks_like_a_made_one() {
    let cluster = Cluster::start().await;
    let source = |id: Option<&str>, text: &str| groundline_types::Source {
        id: id.map(str::to_owned),
        title: None,
        text: text.into(),
    };
    let named = source(Some("source-2"), "Ünder älder öaks. Tea is a drink.");
    let sources = vec![named, source(None, "é é é. Marie Curie was born in Warsaw.")];
    let mut request = CheckRequest::with_sources("Marie Curie was born in Warsaw.", sources);
    request.offsets = Some(groundline_types::OffsetUnit::Chars);
    let result = cluster.check(request).await.unwrap();
    let evidence = &result.sentences[0].evidence[0];
    assert_eq!((evidence.source.as_str(), evidence.start, evidence.end), ("source-2-2", 7, 38));
}

#[tokio::test]
async fn a_cancelled_check_answers_with_what_it_has_and_progress_is_told() {
    let (_gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let (progress, cancel) = (watch::Sender::new(Default::default()), CancelToken::default());
    let mut seen = progress.subscribe();
    let observer = CheckObserver { progress: Some(progress), cancel: Some(cancel.clone()) };
    let check = cluster.coordinator.check_with(request(), observer);
    let cancelling = async {
        let planned =
            seen.wait_for(|progress: &crate::Progress| progress.stage == Stage::Scoring).await.unwrap();
        assert!(planned.planned_items > 0 && planned.planned_tokens > planned.planned_items);
        drop(planned);
        cancel.cancel();
    };
    let (result, ()) = timeout(PATIENCE, async { tokio::join!(check, cancelling) }).await.unwrap();
    let result = result.unwrap();
    assert_eq!((result.status, result.coverage), (Status::Failed, Some(0.0)));
    assert!(result.notes.iter().any(|note| note.code == Code::CANCELLED), "{:?}", result.notes);
    assert_eq!(seen.borrow().stage, Stage::Done);
}

#[tokio::test]
async fn progress_ends_with_everything_done() {
    let cluster = Cluster::start().await;
    let progress = watch::Sender::new(crate::Progress::default());
    let seen = progress.subscribe();
    let observer = CheckObserver { progress: Some(progress), cancel: None };
    cluster.coordinator.check_with(long_request(20), observer).await.unwrap();
    let last = *seen.borrow();
    assert_eq!((last.stage, last.done_items), (Stage::Done, last.planned_items));
}

#[tokio::test]
async fn progress_with_candidates_ends_with_everything_done_and_the_result_says_what_was_left_out() {
    let mut options = CoordinatorOptions::default();
    options.detectors.candidate_sentences = 4;
    let cluster = Cluster::with(ToyHooks::default(), options).await;
    let progress = watch::Sender::new(crate::Progress::default());
    let seen = progress.subscribe();
    let observer = CheckObserver { progress: Some(progress), cancel: None };
    let source = (1..=12).map(|day| format!("On day {day} the ship sailed north. ")).collect::<String>();
    let mut request = CheckRequest::new("The ship sailed north. It sank in a storm.", source);
    request.methods = vec!["entailment".to_owned()];
    let result = cluster.coordinator.check_with(request, observer).await.unwrap();
    let last = *seen.borrow();
    assert_eq!((last.stage, last.done_items), (Stage::Done, last.planned_items));
    assert_eq!(last.planned_items, result.methods["entailment"].work_items);
    let notes = result.notes.iter().filter(|note| note.code == Code::NEAREST_ONLY).collect::<Vec<_>>();
    assert!(notes.len() == 1 && notes[0].message.contains("the 4 nearest of 12 sentences"), "{notes:?}");
}

#[tokio::test]
async fn what_cannot_be_checked_is_refused_or_abstained_from() {
    let cluster = Cluster::start().await;
    let code = |answer: Result<CheckResult, Problem>| answer.unwrap_err().code;
    assert_eq!(code(cluster.check(CheckRequest::new("  ", SOURCE)).await), Code::EMPTY_RESPONSE);
    assert_eq!(code(cluster.check(CheckRequest::new(RESPONSE, "...")).await), Code::EMPTY_SOURCE);
    let greeting = cluster.check(CheckRequest::new("Hello there!", SOURCE)).await.unwrap();
    assert_eq!((greeting.status, greeting.coverage, greeting.verdict), (Status::Abstained, None, None));
    assert_eq!(cluster.items(), 0);
}

#[tokio::test]
async fn a_claim_that_leaves_no_room_for_evidence_is_unchecked_with_its_code() {
    let cluster = Cluster::start().await;
    let endless = format!("Cats {}. The cat sat on the mat.", "sleep ".repeat(600).trim());
    let result = cluster.check(CheckRequest::new(endless.as_str(), SOURCE)).await.unwrap();
    assert_eq!(result.sentences[0].status, SentenceStatus::Failed);
    assert_eq!(result.sentences[1].verdict, Some(Verdict::Supported));
    assert!(result.notes.iter().any(|note| note.code == Code::CLAIM_TOO_LONG), "{:?}", result.notes);
    assert_eq!(result.coverage, Some(0.5));
}

#[tokio::test]
async fn a_foreign_source_never_makes_a_sentence_contradicted() {
    let cluster = Cluster::start().await;
    let german =
        "Marie Curie wurde in Warschau geboren und war die erste Frau, die den Preis mit ihrem Mann erhielt.";
    let english = "Marie Curie was born in Warsaw and she was the first woman to win the prize with her husband in 1911.";
    let result = cluster.check(CheckRequest::new(english, german)).await.unwrap();
    assert_eq!((result.status, result.verdict), (Status::Failed, None));
    assert!(result.notes.iter().any(|note| note.code == Code::LANGUAGE_MISMATCH), "{:?}", result.notes);
}

#[tokio::test]
async fn a_result_does_not_depend_on_rounds_windows_or_batches() {
    let expected = Cluster::start().await.check(long_request(30)).await.unwrap();
    for (pairs_per_round, window_jobs, credit_tokens) in [(2, 1, 1), (7, 3, 100), (64, 64, usize::MAX)] {
        let mut options = CoordinatorOptions { window_jobs, credit_tokens, ..CoordinatorOptions::default() };
        options.detectors.pairs_per_round = pairs_per_round;
        let result = Cluster::with(ToyHooks::default(), options).await.check(long_request(30)).await.unwrap();
        let plain = |result: &CheckResult| {
            let mut plain = without_times(result.clone());
            // With small rounds, equal pairs of two rounds are counted in each.
            plain.usage = Default::default();
            plain
        };
        assert_eq!(plain(&result), plain(&expected), "{pairs_per_round} {window_jobs} {credit_tokens}");
    }
}
