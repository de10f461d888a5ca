use super::*;
use groundline_testkit::{ToyEngine, ToyHooks};
use groundline_types::{Code, Note};

/// A result with nothing in it but what the caller of this function sets.
async fn result_of(response: &str, source: &str) -> CheckResult {
    let bus = groundline_bus::MemoryBus::new(groundline_bus::MemoryBusOptions::default());
    let engine = Arc::new(ToyEngine::new(ToyHooks::default()));
    let facts = groundline_inference::Engine::facts(&*engine).clone();
    let options = groundline_worker::WorkerOptions::default();
    let worker = groundline_worker::Worker::start(bus.clone(), engine, options).await.unwrap();
    let coordinator =
        crate::Coordinator::start(bus, facts, crate::CoordinatorOptions::default()).await.unwrap();
    let result = coordinator.check(CheckRequest::new(response, source)).await.unwrap();
    coordinator.stop().await;
    worker.drain().await;
    result
}

#[tokio::test]
async fn the_evaluation_of_a_result_has_its_verdict_and_no_text() {
    let result =
        result_of("Ada wrote the first program. Hello!", "Ada wrote the first program in 1843.").await;
    let told = evaluation(&result);
    assert_eq!(
        told.min_support_probability.map(|score| score as f32),
        result.scores.min.map(|score| score.get())
    );
    assert_eq!(told.label.as_str(), serde_name(result.verdict.unwrap()));
    assert_eq!((told.response_id, told.error), (Some(result.id.as_str()), None));
    let ends = result.sentences.iter().map(sentence_end).collect::<Vec<_>>();
    assert_eq!(ends.len(), 2);
    assert_eq!(ends[1], SentenceEnd::NoClaim);
    assert_ne!(ends[0], SentenceEnd::NoClaim);
}

#[tokio::test]
async fn a_result_without_a_verdict_is_told_as_what_it_is() {
    let mut result = result_of("Hello! How are you?", "Ada wrote the first program in 1843.").await;
    assert_eq!(result.verdict, None);
    assert_eq!(evaluation(&result).label, EvaluationLabel::Abstained);
    result.status = Status::Failed;
    result.notes.insert(0, Note { code: Code::DEADLINE, message: String::new(), location: None });
    let told = evaluation(&result);
    assert_eq!((told.label, told.error), (EvaluationLabel::Failed, Some(Code::DEADLINE)));
}

fn serde_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "supported",
        Verdict::Contradicted => "contradicted",
        Verdict::NotMentioned => "not_mentioned",
    }
}
