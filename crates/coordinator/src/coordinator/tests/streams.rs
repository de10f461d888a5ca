//! Responses that are checked while they are written.

use super::*;
use crate::{StreamEvent, StreamEvents, StreamInput};
use groundline_types::{OffsetUnit, SentenceResult, StopAt, StreamRequest};

const TEXTS: &[&str] = &[
    RESPONSE,
    "Marie Curie was born in Warsaw.",
    "Dr. Marie Curie (born 7 Nov. 1867) won at 5 p.m. The cat sat on the mat, e.g. in No. 3. Was it 3.5 million? Yes!",
    "Sure! Here it is:\n\n## Life\n\n1. **Marie Curie** was born in Warsaw [1].\n2. She won the Nobel Prize in 1905.\n   She did.\n\n\
     | Who | What |\n|---|---|\n| Curie | Physics. Yes |\n| Cat | mat |\n\n```\nx = 1. Y\n```\n\n> The cat sat. The mat was new.\n\nDone. Really.",
    "Ça va… Le chat 🎉 était là. 猫坐在垫子上。它很高兴。The cat sat on the mat. <b>Bold. Words</b> here. A `code. X` and [label]. End of it.",
];

impl Cluster {
    fn stream(&self, request: StreamRequest) -> (StreamInput, StreamEvents) {
        let tenant = self.coordinator.inner.anonymous.clone();
        self.coordinator.stream_for(tenant, request).unwrap()
    }
}

fn stream_request() -> StreamRequest {
    StreamRequest::new(CheckRequest::new("", SOURCE))
}

/// Pieces of so many characters.
fn pieces(text: &str, size: usize) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(size).map(|piece| piece.iter().collect()).collect()
}

async fn next(events: &mut StreamEvents) -> Option<StreamEvent> {
    timeout(PATIENCE, events.next()).await.expect("an event in time")
}

/// Every sentence, and how the stream ended.
async fn rest(events: &mut StreamEvents) -> (Vec<SentenceResult>, StreamEvent) {
    let mut sentences = Vec::new();
    loop {
        match next(events).await.expect("a last event") {
            StreamEvent::Sentence(sentence) => sentences.push(*sentence),
            last => return (sentences, last),
        }
    }
}

fn done(event: StreamEvent) -> CheckResult {
    match event {
        StreamEvent::Done(result) => *result,
        other => panic!("not done: {other:?}"),
    }
}

#[tokio::test]
async fn the_sentences_and_the_result_are_those_of_a_check_of_the_whole_text() {
    for text in TEXTS {
        let mut request = StreamRequest::new(CheckRequest { facts: true, ..CheckRequest::new("", SOURCE) });
        let ordinary = Cluster::start().await;
        let whole = CheckRequest { response: (*text).into(), ..request.check.clone() };
        let expected = ordinary.check(whole).await.unwrap();
        for (size, unit) in
            [(1, OffsetUnit::Bytes), (3, OffsetUnit::Chars), (7, OffsetUnit::Utf16), (50, OffsetUnit::Bytes)]
        {
            request.check.offsets = Some(unit);
            let cluster = Cluster::start().await;
            let (input, mut events) = cluster.stream(request.clone());
            for piece in pieces(text, size) {
                input.push(&piece).unwrap();
                tokio::task::yield_now().await;
            }
            input.finish();
            let (sentences, last) = rest(&mut events).await;
            let result = done(last);
            assert_eq!(sentences, result.sentences, "pieces of {size} of {text:?}");
            let source = |_: &str| Some(SOURCE);
            let converted = expected.clone().with_offsets(unit, text, source);
            assert_eq!(without_times(result), without_times(converted), "pieces of {size} of {text:?}");
            assert_eq!(next(&mut events).await, None, "nothing comes behind the end");
            assert_eq!(cluster.items(), ordinary.items(), "no pair is scored twice, none in vain");
        }
    }
}

#[tokio::test]
async fn a_sentence_has_its_verdict_before_the_next_one_is_complete() {
    let cluster = Cluster::start().await;
    let (input, mut events) = cluster.stream(stream_request());
    input.push("Marie Curie was born in Warsaw. She won").unwrap();
    input.push(" the").unwrap();
    let Some(StreamEvent::Sentence(first)) = next(&mut events).await else { panic!("no sentence") };
    assert_eq!(
        (first.text.as_str(), first.verdict),
        ("Marie Curie was born in Warsaw.", Some(Verdict::Supported))
    );
    assert_eq!((first.start, first.end), (0, 31));
    input.push(" Nobel Prize in Physics in 1905. Hello there! Thanks for").unwrap();
    let Some(StreamEvent::Sentence(second)) = next(&mut events).await else { panic!("no sentence") };
    assert_eq!((second.start, second.verdict), (32, Some(Verdict::Contradicted)));
    assert!(input.is_open());
    input.finish();
    let (sentences, last) = rest(&mut events).await;
    let result = done(last);
    assert_eq!(sentences.len() + 2, result.sentences.len());
    assert_eq!(
        result.sentences[..2],
        [*first, *second],
        "checked alone, a sentence refers back all the same"
    );
}

#[tokio::test]
async fn a_stream_that_is_to_stop_at_a_contradiction_says_what_it_left_out() {
    let cluster = Cluster::start().await;
    let request = StreamRequest { stop_at: StopAt::FirstContradiction, ..stream_request() };
    let (input, mut events) = cluster.stream(request);
    let text = "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1905. The cat sat on the mat. It was a good cat. And so";
    input.push(text).unwrap();
    let (sentences, last) = rest(&mut events).await;
    assert_eq!(sentences.last().unwrap().verdict, Some(Verdict::Contradicted));
    assert_eq!(sentences.len(), 2);
    let result = done(last);
    assert_eq!((result.verdict, result.status), (Some(Verdict::Contradicted), Status::Partial));
    assert_eq!(result.sentences[..2], sentences);
    assert!(result.sentences[2..].iter().all(|sentence| sentence.status == SentenceStatus::Failed));
    assert!(result.coverage.unwrap() < 1.0);
    assert!(result.notes.iter().any(|note| note.code == Code::STREAM_STOPPED), "{:?}", result.notes);
    eventually("the stream takes no more", || !input.is_open()).await;
    assert_eq!(input.push("More."), Ok(()), "a piece too late is no error");
}

#[tokio::test]
async fn dropping_the_events_stops_the_work() {
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let (input, events) = cluster.stream(stream_request());
    input.push("Marie Curie was born in Warsaw. She won the prize. And").unwrap();
    eventually("a batch is at the engine", || cluster.items() > 0).await;
    drop(events);
    eventually("the stream takes no more", || !input.is_open()).await;
    gate.open();
    eventually("the bus is empty", || cluster.bus.stored_jobs() == 0).await;
    let free = || cluster.coordinator.inner.shared.admission.available_permits();
    eventually("no check runs", || free() == CoordinatorOptions::default().max_checks).await;
}

#[tokio::test]
async fn dropping_the_input_ends_the_stream_without_a_result() {
    let cluster = Cluster::start().await;
    let (input, mut events) = cluster.stream(stream_request());
    input.push("Marie Curie").unwrap();
    drop(input);
    let (sentences, last) = rest(&mut events).await;
    assert!(sentences.is_empty());
    assert!(matches!(last, StreamEvent::Failed(Problem { code: Code::CANCELLED, .. })), "{last:?}");
}

#[tokio::test]
async fn what_cannot_be_checked_is_refused_at_the_start_or_as_it_comes() {
    let options = CoordinatorOptions {
        limits: groundline_types::Limits { response_bytes: 20, ..Default::default() },
        ..Default::default()
    };
    let cluster = Cluster::with(ToyHooks::default(), options).await;
    let tenant = cluster.coordinator.inner.anonymous.clone();
    let empty = StreamRequest::new(CheckRequest::new("", " "));
    assert_eq!(cluster.coordinator.stream_for(tenant, empty).unwrap_err().code, Code::EMPTY_SOURCE);
    let (input, mut events) = cluster.stream(stream_request());
    assert_eq!(input.push("nul \0").unwrap_err().code, Code::NUL_BYTE);
    assert_eq!(input.push(&"x".repeat(21)).unwrap_err().code, Code::TOO_LARGE);
    input.push("The cat sat.").unwrap();
    input.finish();
    assert_eq!(done(rest(&mut events).await.1).sentences.len(), 1);
    let (input, mut events) = cluster.stream(stream_request());
    input.finish();
    let (_, last) = rest(&mut events).await;
    assert!(matches!(last, StreamEvent::Failed(Problem { code: Code::EMPTY_RESPONSE, .. })), "{last:?}");
}

#[tokio::test]
async fn a_stream_waits_for_room_and_then_goes_on() {
    let (gate, hooks) = closed_gate();
    let options = CoordinatorOptions { max_checks: 1, ..CoordinatorOptions::default() };
    let cluster = Cluster::with(hooks, options).await;
    let blocked = cluster.check(request());
    let streaming = async {
        eventually("the other check runs", || cluster.items() > 0).await;
        let (input, mut events) = cluster.stream(stream_request());
        input.push(RESPONSE).unwrap();
        input.finish();
        tokio::time::sleep(Duration::from_millis(100)).await;
        gate.open();
        rest(&mut events).await
    };
    let (other, (sentences, last)) = tokio::join!(blocked, streaming);
    assert_eq!(other.unwrap().coverage, Some(1.0));
    assert_eq!(done(last).sentences, sentences);
}

#[tokio::test]
async fn pairs_of_samples_are_scored_once_in_a_stream_and_none_behind_its_stop() {
    let asked = samples::sampled(&["entailment", "selfcheck_nli"], samples::source());
    let ordinary = Cluster::start().await;
    let expected = ordinary.check(asked.clone()).await.unwrap();
    let request = StreamRequest::new(CheckRequest { response: "".into(), ..asked });
    let cluster = Cluster::start().await;
    let (input, mut events) = cluster.stream(request.clone());
    for piece in pieces(RESPONSE, 7) {
        input.push(&piece).unwrap();
        tokio::task::yield_now().await;
    }
    input.finish();
    let result = done(rest(&mut events).await.1);
    assert_eq!(result.methods["selfcheck_nli"], expected.methods["selfcheck_nli"]);
    assert_eq!(cluster.items(), ordinary.items());

    let stopping = StreamRequest { stop_at: StopAt::FirstContradiction, ..request };
    let cluster = Cluster::start().await;
    let (input, mut events) = cluster.stream(stopping);
    input.push(&format!("{RESPONSE} The cat sat on the mat. And so")).unwrap();
    let result = done(rest(&mut events).await.1);
    let cat = result.sentences.iter().position(|sentence| sentence.text.starts_with("The cat")).unwrap();
    let method = &result.methods["selfcheck_nli"].sentences;
    assert_eq!((method[1].status, method[cat].status), (SentenceStatus::Scored, SentenceStatus::Failed));
}
