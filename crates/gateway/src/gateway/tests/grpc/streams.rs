use super::super::events::wait_until;
use super::*;
use crate::grpc::wire::stream_event::Event;
use crate::grpc::wire::stream_piece::Piece;
use crate::grpc::wire::{StreamEvent, StreamHead, StreamPiece};
use futures_util::Stream;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;
use tonic::Streaming;

type Pieces = mpsc::UnboundedSender<StreamPiece>;

/// Pieces that are sent bit by bit; the response is complete when the sender is dropped.
fn pieces() -> (Pieces, impl Stream<Item = StreamPiece> + Send + 'static) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    });
    (sender, pieces)
}

fn head(stop_at: Option<&str>) -> StreamPiece {
    let head = StreamHead { check: Some(check("")), stop_at: stop_at.map(str::to_owned) };
    StreamPiece { piece: Some(Piece::Head(head)) }
}

fn text(text: &str) -> StreamPiece {
    StreamPiece { piece: Some(Piece::Text(text.to_owned())) }
}

async fn next(events: &mut Streaming<StreamEvent>) -> Result<Option<Event>, Status> {
    let next = tokio::time::timeout(Duration::from_secs(20), events.message());
    next.await.expect("nothing comes").map(|event| event.map(|event| event.event.unwrap()))
}

/// The error that ends a stream, whether it began or not. Its response never ends, unless `ends`.
async fn failure(grpc: &mut Caller, sent: Vec<StreamPiece>, ends: bool) -> Status {
    let (sender, pieces) = pieces();
    sent.into_iter().for_each(|piece| sender.send(piece).unwrap());
    let _open = (!ends).then_some(sender);
    let mut events = match grpc.stream_check(pieces).await {
        Ok(events) => events.into_inner(),
        Err(status) => return status,
    };
    loop {
        match next(&mut events).await {
            Ok(event) => assert!(event.is_some(), "it ended well"),
            Err(status) => return status,
        }
    }
}

#[tokio::test]
async fn sentences_come_back_while_the_response_is_still_being_written() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    let (send, pieces) = pieces();
    send.send(head(None)).unwrap();
    let mut events = grpc.stream_check(pieces).await.unwrap().into_inner();
    for piece in ["Marie Curie was bo", "rn in Warsaw. ", "Marie Curie was not "] {
        send.send(text(piece)).unwrap();
    }
    let Some(Event::Sentence(first)) = next(&mut events).await.unwrap() else { panic!("no sentence") };
    assert_eq!((first.verdict.as_deref(), first.start, first.end), (Some("supported"), 0, GOOD.len() as u64));
    send.send(text("born in Warsaw.")).unwrap();
    drop(send);
    let Some(Event::Sentence(second)) = next(&mut events).await.unwrap() else { panic!("no sentence") };
    assert_eq!((second.verdict.as_deref(), second.start), (Some("contradicted"), GOOD.len() as u64 + 1));
    let Some(Event::Done(result)) = next(&mut events).await.unwrap() else { panic!("no result") };
    assert_eq!((result.verdict.as_deref(), result.sentences.len()), (Some("contradicted"), 2));
    assert_eq!(next(&mut events).await.unwrap(), None);
    wait_until(|| site.gateway.app.gate().load().0 == 0).await;
}

#[tokio::test]
async fn a_stream_ends_at_the_first_contradiction_where_asked() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    let (send, pieces) = pieces();
    send.send(head(Some("first_contradiction"))).unwrap();
    send.send(text(&format!("{BAD} And so it goes on and "))).unwrap();
    let mut events = grpc.stream_check(pieces).await.unwrap().into_inner();
    let Some(Event::Sentence(first)) = next(&mut events).await.unwrap() else { panic!("no sentence") };
    assert_eq!(first.verdict.as_deref(), Some("contradicted"));
    assert!(matches!(next(&mut events).await.unwrap(), Some(Event::Done(_))));
    assert_eq!(next(&mut events).await.unwrap(), None);
    wait_until(|| site.gateway.app.gate().load().0 == 0).await;
    drop(send);
}

#[tokio::test]
async fn what_is_wrong_with_a_stream_ends_it_with_a_status() {
    let mut config = config();
    config.gateway.http.body_bytes = 2000;
    config.gateway.http.stream_idle_ms = 300;
    let site = Site::start(config).await;
    let mut grpc = caller(&site.gateway).await;
    let grpc = &mut grpc;
    let nothing = StreamPiece { piece: None };
    let with_response = StreamHead { check: Some(check(GOOD)), stop_at: None };
    let with_response = StreamPiece { piece: Some(Piece::Head(with_response)) };
    let sourceless = StreamHead { check: Some(CheckRequest::default()), stop_at: None };
    let sourceless = StreamPiece { piece: Some(Piece::Head(sourceless)) };
    let large = text(&"word ".repeat(300));
    for (sent, code, stable) in [
        (vec![text(GOOD)], Code::InvalidArgument, "GL1007"),
        (vec![nothing.clone()], Code::InvalidArgument, "GL1007"),
        (vec![with_response], Code::InvalidArgument, "GL1007"),
        (vec![head(Some("soon"))], Code::InvalidArgument, "GL1007"),
        (vec![sourceless], Code::InvalidArgument, "GL1002"),
        (vec![head(None), head(None)], Code::InvalidArgument, "GL1007"),
        (vec![head(None), nothing], Code::InvalidArgument, "GL1007"),
        (vec![head(None), text("a\u{0}")], Code::InvalidArgument, "GL1004"),
        (vec![head(None), large.clone(), large], Code::ResourceExhausted, "GL1005"),
        (vec![head(None), text(&"x".repeat(3000))], Code::ResourceExhausted, "GL1005"),
        // It says nothing more, and does not end.
        (vec![head(None)], Code::DeadlineExceeded, "GL6008"),
    ] {
        expect_status(&failure(grpc, sent, false).await, code, stable);
    }
    // An end without a word of the response.
    expect_status(&failure(grpc, vec![head(None)], true).await, Code::InvalidArgument, "GL1001");
    wait_until(|| site.gateway.app.gate().load().0 == 0).await;
}

#[tokio::test]
async fn a_stream_ends_when_its_caller_stops_waiting() {
    let site = Site::start(config()).await;
    let mut grpc = caller(&site.gateway).await;
    let (send, pieces) = pieces();
    send.send(head(None)).unwrap();
    let mut request = Request::new(pieces);
    request.set_timeout(Duration::from_millis(400));
    let mut events = grpc.stream_check(request).await.unwrap().into_inner();
    let late = next(&mut events).await.unwrap_err();
    assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late:?}");
    wait_until(|| site.gateway.app.gate().load().0 == 0).await;
    drop(send);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_nothing_of_its_stream() {
    let engine = ToyEngine::new(ToyHooks { batch_delay: Duration::from_millis(50), ..ToyHooks::default() });
    let stats = engine.stats();
    let mut config = config();
    config.worker.batch_tokens = 50;
    let gateway = config.gateway.clone();
    let checker = Checker::with_engine(Arc::new(engine), config).unwrap();
    let parts = GatewayParts { checker, async_checks: None, metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let long =
        (0..200).map(|number| format!("Town {number} was built in year {number}. ")).collect::<String>();
    let mut check = check("");
    check.sources[0].text.clone_from(&long);
    let head = StreamHead { check: Some(check), stop_at: None };
    // A process of its own, as far as a test can have one.
    let process = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let address = format!("http://{}", gateway.addresses().main);
    process.spawn(async move {
        let (send, pieces) = pieces();
        send.send(StreamPiece { piece: Some(Piece::Head(head)) }).unwrap();
        send.send(text(&long)).unwrap();
        let channel = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
        let mut events = GroundlineClient::new(channel).stream_check(pieces).await.unwrap().into_inner();
        while next(&mut events).await.unwrap().is_some() {}
    });
    wait_until(|| stats.batches.load(Ordering::SeqCst) > 0).await;
    assert!(gateway.app.gate().load().0 > 0);
    process.shutdown_background();
    wait_until(|| gateway.app.gate().load().0 == 0).await;
    // What was sent to the engine already may still run; nothing is added.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let batches = stats.batches.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stats.batches.load(Ordering::SeqCst), batches);
}

#[tokio::test]
async fn a_caller_that_takes_no_events_is_not_read_from_and_misses_none() {
    let mut config = config();
    config.limits.response_bytes = 8 << 20;
    let site = Site::start(config).await;
    let address = format!("http://{}", site.gateway.addresses().main);
    // It takes little ahead.
    let endpoint = Endpoint::from_shared(address).unwrap().initial_stream_window_size(65_535);
    let mut grpc = GroundlineClient::new(endpoint.connect().await.unwrap());
    let (send, receiver) = mpsc::channel(1);
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    });
    send.send(head(None)).await.unwrap();
    let mut events = grpc.stream_check(pieces).await.unwrap().into_inner();
    let word = "word ".repeat(2000);
    let mut sent = 0;
    while sent < 600 {
        // No faster than sentences are checked.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let sentence = text(&format!("Sentence number {sent} has a {word}in it. "));
        if tokio::time::timeout(Duration::from_secs(1), send.send(sentence)).await.is_err() {
            break;
        }
        sent += 1;
    }
    assert!(sent < 600, "everything was read although nothing was taken");
    drop(send);
    let mut starts = Vec::new();
    while let Some(event) = next(&mut events).await.unwrap() {
        if let Event::Sentence(sentence) = event {
            starts.push(sentence.start);
        }
    }
    assert_eq!(starts.len(), sent);
    assert!(starts.is_sorted());
}
