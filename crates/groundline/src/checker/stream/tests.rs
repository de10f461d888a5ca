use super::*;
use crate::Config;
use groundline_testkit::{Gate, ToyEngine, ToyHooks};
use groundline_types::{CheckRequest, Code};
use std::sync::Arc;

const SOURCE: &str = "Marie Curie was born in Warsaw. The cat sat on the mat.";

fn toy(hooks: ToyHooks) -> Checker {
    Checker::with_engine(Arc::new(ToyEngine::new(hooks)), Config::default()).unwrap()
}

fn request() -> StreamRequest {
    StreamRequest::new(CheckRequest::new("", SOURCE))
}

#[tokio::test]
async fn a_stream_gives_sentences_and_then_the_result_of_the_whole() {
    let checker = toy(ToyHooks::default());
    let (input, mut events) = checker.stream("t", request()).await.unwrap();
    for piece in ["Marie Curie was b", "orn in Warsaw. Th", "e cat sat on the mat."] {
        input.push(piece).unwrap();
    }
    input.finish();
    let (mut sentences, mut result) = (Vec::new(), None);
    while let Some(event) = events.next().await {
        match event {
            StreamEvent::Sentence(sentence) => sentences.push(*sentence),
            StreamEvent::Done(done) => result = Some(*done),
            StreamEvent::Failed(problem) => panic!("{problem}"),
        }
    }
    let result = result.unwrap();
    assert_eq!((result.sentences.len(), &result.sentences), (2, &sentences));
    assert_eq!(result.config_hash, checker.config_hash());
    checker.shutdown().await;
}

#[tokio::test]
async fn a_stream_without_a_source_starts_nothing() {
    let checker = toy(ToyHooks::default());
    let empty = StreamRequest::new(CheckRequest::new("", " "));
    assert_eq!(checker.stream("t", empty).await.unwrap_err().code, Code::EMPTY_SOURCE);
    assert!(checker.inner.parts.get().is_none());
}

#[tokio::test]
async fn a_worker_that_gave_up_fails_the_stream_at_once() {
    let gate = Arc::new(Gate::closed());
    let checker = toy(ToyHooks { gate: Some(gate), ..ToyHooks::default() });
    let (input, mut events) = checker.stream("t", request()).await.unwrap();
    input.push("Marie Curie was born in Warsaw. The cat").unwrap();
    let health = {
        let parts = checker.inner.parts.get().unwrap();
        parts.worker.lock().unwrap().as_ref().unwrap().health().clone()
    };
    health.component("worker").report(groundline_actors::Condition::Failed("test"));
    let Some(StreamEvent::Failed(problem)) = events.next().await else { panic!("not failed") };
    assert_eq!(problem.code, Code::INTERNAL);
    assert_eq!(events.next().await, None);
}
