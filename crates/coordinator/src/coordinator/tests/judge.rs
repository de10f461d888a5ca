//! Checks that ask a judge, against a stub inside the process.

use super::*;
use crate::StreamEvent;
use groundline_judge::stub::{Fault, StubJudge, StubOptions};
use groundline_judge::{Judge, JudgeOptions, Randomness, RetryOptions, SamplingOptions};
use groundline_types::{
    CascadePolicy, GreyZone, MethodStatus, PolicyChoice, StopAt, StreamRequest, VerdictReason,
};

/// Long enough for everything but a judge that hangs.
const SHORT_DEADLINE_MS: u64 = 1_500;

async fn judged(script: Vec<Option<Fault>>, hooks: ToyHooks) -> (Cluster, StubJudge) {
    judged_as(script, hooks, SamplingOptions::default()).await
}

async fn judged_as(
    script: Vec<Option<Fault>>,
    hooks: ToyHooks,
    sampling: SamplingOptions,
) -> (Cluster, StubJudge) {
    let stub = StubJudge::new(StubOptions { script, ..StubOptions::default() });
    let options = JudgeOptions {
        sampling,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "stub".to_owned(),
        capabilities: Some(StubOptions::default().capabilities),
        max_concurrent_calls: 1,
        retry: RetryOptions { base_ms: 1, unreadable_reasks: 0, ..RetryOptions::default() },
        ..JudgeOptions::default()
    };
    let judge = Judge::with_transport(options, stub.transport(), Randomness::seeded(7)).unwrap();
    let bus = MemoryBus::default();
    let engine = ToyEngine::new(hooks);
    let (stats, facts) = (engine.stats(), engine.facts().clone());
    let worker = Worker::start(bus.clone(), Arc::new(engine), WorkerOptions::default()).await.unwrap();
    let options = CoordinatorOptions::default();
    let coordinator = Coordinator::start_with_judge(bus.clone(), facts, options, Some(judge)).await.unwrap();
    (Cluster { bus, coordinator, worker, stats }, stub)
}

fn asking(methods: &[&str]) -> CheckRequest {
    CheckRequest { methods: methods.iter().map(|name| (*name).to_owned()).collect(), ..request() }
}

#[tokio::test]
async fn a_judge_is_asked_about_each_claim_and_what_it_took_is_counted() {
    let (cluster, stub) = judged(Vec::new(), ToyHooks::default()).await;
    let result = cluster.check(asking(&["judge"])).await.unwrap();
    assert_eq!(result.status, Status::Scored);
    let reasons = result.sentences.iter().map(|sentence| sentence.reason).collect::<Vec<_>>();
    assert_eq!(reasons, [VerdictReason::Judge, VerdictReason::Judge, VerdictReason::NotAClaim]);
    assert_eq!(stub.seen().requests, 2);
    assert_eq!(result.usage.judge_tokens as u64, stub.seen().billed_tokens);
    assert_eq!((result.usage.pairs, cluster.items()), (0, 0), "no engine worked");
    let again = cluster.check(asking(&["judge"])).await.unwrap();
    assert_eq!((stub.seen().requests, again.usage.judge_tokens), (2, 0), "the judge's own cache answers");
    assert_eq!(again.methods["judge"].extra["cache_hits"], 2.0);
}

#[tokio::test]
async fn a_judge_that_hangs_takes_no_verdict_from_other_methods() {
    let (cluster, _stub) = judged(vec![Some(Fault::Hang); 8], ToyHooks::default()).await;
    let mut request = asking(&["entailment", "judge"]);
    request.deadline_ms = Some(SHORT_DEADLINE_MS);
    let result = cluster.check(request).await.unwrap();
    assert_eq!(result.status, Status::Scored, "{:?}", result.notes);
    assert_eq!(result.methods["entailment"].status, MethodStatus::Scored);
    assert_eq!(result.methods["judge"].status, MethodStatus::Failed);
    let codes = result.notes.iter().map(|note| note.code).collect::<Vec<_>>();
    assert!(codes.contains(&Code::JUDGE_DEADLINE) || codes.contains(&Code::DEADLINE), "{codes:?}");
}

#[tokio::test]
async fn a_check_that_is_cancelled_stops_asking_and_answers() {
    let (cluster, stub) = judged(vec![Some(Fault::Hang); 8], ToyHooks::default()).await;
    let cancel = crate::CancelToken::default();
    let observer = CheckObserver { cancel: Some(cancel.clone()), ..CheckObserver::default() };
    let check = cluster.coordinator.check_with(asking(&["judge"]), observer);
    let ended = async {
        eventually("the judge is asked", || stub.seen().requests > 0).await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(check, ended);
    let result = result.unwrap();
    assert_eq!((result.status, result.verdict), (Status::Failed, None));
    assert!(result.notes.iter().any(|note| note.code == Code::CANCELLED), "{:?}", result.notes);
    let judge = cluster.coordinator.inner.shared.judge.clone().unwrap();
    eventually("no call is under way", || judge.health().calls_under_way == 0).await;
}

#[tokio::test]
async fn only_sentences_in_the_grey_zone_are_asked_about() {
    let (cluster, stub) = judged(Vec::new(), ToyHooks::default()).await;
    let plain = cluster.check(asking(&["entailment"])).await.unwrap();
    let first = plain.sentences[0].support_probability.unwrap().get();
    let second = plain.sentences[1].support_probability.unwrap().get();
    assert!(first > second, "{first} {second}");
    let grey_zone =
        GreyZone { methods: vec!["judge".to_owned()], support_from: 0.0, support_to: (first + second) / 2.0 };
    let policy =
        CascadePolicy { always: vec!["entailment".to_owned()], grey_zone: Some(grey_zone), audit: None };
    let request = CheckRequest { policy: Some(PolicyChoice::Own(policy)), ..request() };
    let result = cluster.check(request).await.unwrap();
    assert_eq!(stub.seen().requests, 1);
    let reasons = result.sentences.iter().map(|sentence| sentence.reason).collect::<Vec<_>>();
    assert_eq!(reasons[..2], [VerdictReason::Entailed, VerdictReason::Judge], "{:?}", result.notes);
}

#[tokio::test]
async fn without_a_judge_what_needs_one_is_refused() {
    let cluster = Cluster::start().await;
    let grey_zone = Some(GreyZone { methods: vec!["judge".to_owned()], support_from: 0.0, support_to: 1.0 });
    let policy = CascadePolicy { always: vec!["entailment".to_owned()], grey_zone, audit: None };
    let mut drawing = asking(&["selfcheck_ngram"]);
    (drawing.draw_samples, drawing.question) = (true, Some("Who was she?".to_owned()));
    let requests = [
        asking(&["judge"]),
        asking(&["default", "selfcheck_prompt"]),
        CheckRequest { policy: Some(PolicyChoice::Own(policy)), ..request() },
        drawing,
    ];
    for request in requests {
        let problem = cluster.check(request).await.unwrap_err();
        assert_eq!(problem.code, Code::JUDGE_MISSING, "{problem}");
    }
}

#[tokio::test]
async fn samples_are_drawn_where_asked_and_a_failure_says_why_there_are_none() {
    let drawing = || {
        let mut request = asking(&["selfcheck_overlap"]);
        (request.draw_samples, request.question) = (true, Some("Who was Marie Curie?".to_owned()));
        request.sources.clear();
        request
    };
    let (cluster, stub) = judged(Vec::new(), ToyHooks::default()).await;
    let result = cluster.check(drawing()).await.unwrap();
    assert_eq!(result.methods["selfcheck_overlap"].status, MethodStatus::Scored, "{:?}", result.notes);
    assert!(result.notes.iter().any(|note| note.code == Code::JUDGE_SAMPLES), "{:?}", result.notes);
    assert!(stub.seen().requests > 0 && result.usage.judge_tokens > 0);

    let (cluster, _) = judged(vec![Some(Fault::ServerError); 40], ToyHooks::default()).await;
    let problem = cluster.check(drawing()).await.unwrap_err();
    assert_eq!(problem.code, Code::JUDGE_UNAVAILABLE, "{problem}");

    let (cluster, _) = judged(vec![Some(Fault::Hang); 40], ToyHooks::default()).await;
    let mut request = CheckRequest { deadline_ms: Some(SHORT_DEADLINE_MS), ..drawing() };
    request.methods.push("entailment".to_owned());
    request.sources = super::request().sources;
    let result = cluster.check(request).await.unwrap();
    assert_eq!(result.methods["entailment"].status, MethodStatus::Scored, "{:?}", result.notes);
    assert_eq!(result.methods["selfcheck_overlap"].status, MethodStatus::Abstained);
    assert!(result.notes.iter().any(|note| note.code == Code::JUDGE_DEADLINE), "{:?}", result.notes);
}

#[tokio::test]
async fn tenants_share_no_answers() {
    let (cluster, stub) = judged(Vec::new(), ToyHooks::default()).await;
    for (tenant, requests) in [("a", 2), ("b", 4), ("a", 4)] {
        let tenant = SubjectToken::from_name(tenant);
        let checked = cluster.coordinator.check_for(tenant, asking(&["judge"]), CheckObserver::default());
        checked.await.unwrap();
        assert_eq!(stub.seen().requests, requests);
    }
}

#[tokio::test]
async fn what_was_asked_for_a_caller_that_left_is_stopped_and_told_all_the_same() {
    let (cluster, stub) = judged(vec![Some(Fault::Hang); 8], ToyHooks::default()).await;
    let check = cluster.coordinator.check(asking(&["judge"]));
    let asked = eventually("the judge is asked", || stub.seen().requests > 0);
    tokio::select! {
        _ = check => panic!("the judge hangs"),
        () = asked => {}
    }
    let shared = &cluster.coordinator.inner.shared;
    let judge = shared.judge.clone().unwrap();
    eventually("no call is under way", || judge.health().calls_under_way == 0).await;
    eventually("the call is told of", || shared.judge_spending.told_calls() == 1).await;
}

/// Streams the text in two pieces, the second one once the first has brought a sentence.
async fn streamed(cluster: &Cluster, request: StreamRequest, pieces: [&str; 2]) -> CheckResult {
    let tenant = cluster.coordinator.inner.anonymous.clone();
    let (input, mut events) = cluster.coordinator.stream_for(tenant, request).unwrap();
    input.push(pieces[0]).unwrap();
    let mut rest = Some((input, pieces[1]));
    loop {
        match timeout(PATIENCE, events.next()).await.expect("an event in time").expect("a last event") {
            StreamEvent::Sentence(_) => {
                if let Some((input, piece)) = rest.take() {
                    input.push(piece).unwrap();
                    input.finish();
                }
            }
            StreamEvent::Done(result) => return *result,
            StreamEvent::Failed(problem) => panic!("{problem}"),
        }
    }
}

#[tokio::test]
async fn of_a_stream_that_stopped_the_judge_is_asked_no_more() {
    let (cluster, stub) = judged(Vec::new(), ToyHooks::default()).await;
    let request =
        StreamRequest { stop_at: StopAt::FirstContradiction, ..StreamRequest::new(asking(&["judge"])) };
    let first = "She won the Nobel Prize in Physics in 1905. The cat sat on the mat";
    let result = streamed(&cluster, request, [first, ". Marie Curie was born in Warsaw."]).await;
    assert_eq!(result.sentences[0].verdict, Some(Verdict::Contradicted));
    assert_eq!(stub.seen().requests, 1, "{:?}", result.sentences);
    assert!(result.sentences[1..].iter().all(|sentence| sentence.status == SentenceStatus::Failed));
    assert!(result.notes.iter().any(|note| note.code == Code::STREAM_STOPPED), "{:?}", result.notes);
}

#[tokio::test]
async fn for_a_stream_samples_are_drawn_once_also_where_that_fails() {
    let mut check = asking(&["entailment", "selfcheck_overlap"]);
    (check.draw_samples, check.question) = (true, Some("Who was Marie Curie?".to_owned()));
    let pieces = ["Marie Curie was born in Warsaw. The cat", " sat on the mat. She won the Nobel Prize."];
    // Four server errors are one drawing that fails.
    for (errors, requests) in [(0, 1), (4, 4)] {
        let sampling = SamplingOptions { seed: 0, ..SamplingOptions::default() };
        let script = vec![Some(Fault::ServerError); errors];
        let (cluster, stub) = judged_as(script, ToyHooks::default(), sampling).await;
        let result = streamed(&cluster, StreamRequest::new(check.clone()), pieces).await;
        assert_eq!(stub.seen().requests, requests, "after {errors} errors");
        let is_scored = result.methods["selfcheck_overlap"].status == MethodStatus::Scored;
        assert_eq!(is_scored, errors == 0, "{:?}", result.notes);
        let is_drawn = result.notes.iter().any(|note| note.code == Code::JUDGE_SAMPLES);
        assert_eq!(is_drawn, errors == 0, "{:?}", result.notes);
        let says_why = result.notes.iter().any(|note| note.message.starts_with("no samples could be drawn"));
        assert_eq!(says_why, errors > 0, "{:?}", result.notes);
        assert_eq!(result.sentences[0].status, SentenceStatus::Scored, "other methods go on");
    }
}
