use super::*;
use groundline_testkit::{ToyEngine, ToyHooks};
use groundline_types::Source;

/// The sentence that supports the claim shares one word with it; those that share more do not support it.
fn request(methods: &[&str]) -> CheckRequest {
    let near = (1..=6).map(|number| format!("The old ship number {number} sailed north in spring. "));
    let source = near.collect::<String>() + "Rain fell on the hills. The cat sat on the mat.";
    let mut request = CheckRequest::with_sources(
        "The old ship sailed north in spring. The cat sat on the mat.",
        vec![Source { id: None, title: None, text: source.into() }],
    );
    request.methods = methods.iter().map(|name| (*name).to_owned()).collect();
    request.deadline_ms = Some(1);
    request
}

async fn measured(requests: &[CheckRequest], candidates: &[usize]) -> Result<CandidateReport, Problem> {
    let engine = Arc::new(ToyEngine::new(ToyHooks::default()));
    let mut told = Vec::new();
    let report = measure_candidates(engine, &Config::default(), requests, candidates, |done, of| {
        told.push((done, of));
    })
    .await;
    let checks = requests.len() * (candidates.len() + 1);
    if report.is_ok() {
        assert_eq!(told, (0..checks).map(|done| (done, checks)).collect::<Vec<_>>());
    }
    report
}

#[tokio::test]
async fn pairs_are_counted_and_as_many_candidates_as_sentences_change_nothing() {
    let requests = [request(&["entailment"]), request(&["entailment", "numeric"])];
    let report = measured(&requests, &[3, 8]).await.unwrap();
    assert_eq!((report.requests, report.model.engine.as_str()), (2, "toy"));
    let [few, same] = &*report.measured else { panic!("two were asked: {report:?}") };
    assert_eq!((few.candidate_sentences, few.limited_requests, few.compared_sentences), (3, 2, 4));
    // The second request is answered from the cache, as far as it is the first one again.
    assert!(few.work.pairs < report.all.pairs && few.saved_pairs > 0.0, "{report:?}");
    let share = 1.0 - few.work.pairs as f64 / report.all.pairs as f64;
    assert!((few.saved_pairs - share).abs() < 1e-12);
    assert_eq!((same.limited_requests, same.changed_sentences, same.saved_pairs), (0, 0, 0.0));
    assert_eq!((same.work.pairs, same.work.embeddings), (report.all.pairs, report.all.embeddings));
    assert_eq!((same.mean_support_drift, same.largest_support_drift), (0.0, 0.0));
}

#[tokio::test]
async fn summac_beside_it_keeps_every_pair_of_sentences() {
    let report = measured(&[request(&["entailment", "summac"])], &[3]).await.unwrap();
    let alone = measured(&[request(&["entailment"])], &[3]).await.unwrap();
    assert!(report.measured[0].saved_pairs < alone.measured[0].saved_pairs);
    assert!(report.measured[0].work.pairs >= 2 * 8, "the whole grid");
}

#[test]
fn changes_are_counted_by_kind_and_drift_over_sentences_with_both_probabilities() {
    let sentence = |verdict: Option<Verdict>, support: f64| {
        let status = if verdict.is_some() { "scored" } else { "failed" };
        serde_json::json!({
            "text": "x", "start": 0, "end": 1, "status": status, "verdict": verdict, "support_probability": support,
            "contradiction_probability": 0.0, "neutral_probability": 0.0, "weight": 1.0, "tags": [],
            "reason": "entailed", "evidence": [], "facts": []})
    };
    let result = |sentences: [(Option<Verdict>, f64); 4]| -> CheckResult {
        let sentences = sentences.map(|(verdict, support)| sentence(verdict, support));
        serde_json::from_value(serde_json::json!({
            "id": "a", "schema": "groundline.check/1", "status": "scored", "verdict": null, "action": null,
            "alert": false, "coverage": 1.0, "calibrated": false, "config_hash": "c",
            "scores": {"min": null, "mean": null, "weighted": null, "summac": null, "summac_zs": null,
                       "summac_conv": null, "ensemble": null},
            "model": {"name": "m", "revision": "r", "engine": "toy"}, "sentences": sentences, "methods": {},
            "notes": [], "usage": {"pairs": 0, "embeddings": 0, "cache_hits": 0, "judge_tokens": 0},
            "timings": {"prepare_ms": 0.0, "score_ms": 0.0, "total_ms": 500.0}}))
        .unwrap()
    };
    let (yes, no, against) =
        (Some(Verdict::Supported), Some(Verdict::NotMentioned), Some(Verdict::Contradicted));
    let all = result([(yes, 0.75), (yes, 1.0), (against, 0.5), (yes, 0.5)]);
    let few = result([(no, 0.25), (no, 0.5), (yes, 0.5), (None, 0.0)]);
    let mut sum = Sum::default();
    sum.compare(&all, &few);
    sum.add_work(&few, (1, 1), (5, 3));
    let measured = sum.measured(4, &ScoredWork { pairs: 16, embeddings: 2, seconds: 1.0 });
    assert_eq!((measured.compared_sentences, measured.changed_sentences), (3, 3));
    let change = |from: Option<Verdict>, to: Option<Verdict>, sentences| VerdictChange {
        from: from.unwrap(),
        to: to.unwrap(),
        sentences,
    };
    assert_eq!(measured.changes, [change(yes, no, 2), change(against, yes, 1)]);
    assert!((measured.mean_support_drift - 1.0 / 3.0).abs() < 1e-9);
    assert!((measured.largest_support_drift - 0.5).abs() < 1e-9);
    assert_eq!(measured.work, ScoredWork { pairs: 4, embeddings: 2, seconds: 0.5 });
    assert!((measured.saved_pairs - 0.75).abs() < 1e-9);
}

#[tokio::test]
async fn what_cannot_be_measured_is_refused() {
    let code = |report: Result<CandidateReport, Problem>| report.unwrap_err().code;
    assert_eq!(code(measured(&[], &[4]).await), Code::INVALID_FIELD);
    let one = [request(&["entailment"])];
    assert_eq!(code(measured(&one, &[]).await), Code::INVALID_CONFIG);
    assert_eq!(code(measured(&one, &[0]).await), Code::INVALID_CONFIG);
    let problem = measured(&one, &[2]).await.unwrap_err();
    assert_eq!(problem.code, Code::INVALID_CONFIG);
    assert!(problem.message.contains("candidate_sentences is 2"), "{problem}");
    let broken = [one[0].clone(), request(&["no_such_method"])];
    let problem = measured(&broken, &[4]).await.unwrap_err();
    assert_eq!(problem.code, Code::UNKNOWN_METHOD);
    assert!(problem.message.starts_with("request 2: "), "{problem}");
}
