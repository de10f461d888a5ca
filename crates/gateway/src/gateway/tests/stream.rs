use super::events::{events, wait_until};
use super::*;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// A body that is written bit by bit, and ends when its sender is dropped.
fn body() -> (mpsc::UnboundedSender<String>, Body) {
    let (sender, receiver) = mpsc::unbounded_channel::<String>();
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(piece), receiver))
    });
    (sender, Body::from_stream(pieces))
}

fn line(value: Value) -> String {
    format!("{value}\n")
}

fn client(site: &Site) -> Client {
    site.client.with(CONTENT_TYPE, "application/x-ndjson")
}

/// The next events of an answer.
async fn more(response: &mut Response<Body>) -> Vec<(String, Value)> {
    let frame = response.body_mut().frame().await.expect("it has ended").unwrap();
    events(std::str::from_utf8(&frame.into_data().unwrap()).unwrap())
}

/// Every event until the end.
async fn rest(response: Response<Body>) -> Vec<(String, Value)> {
    let rest = tokio::time::timeout(Duration::from_secs(20), response.into_body().collect());
    let rest = rest.await.expect("it does not end").unwrap().to_bytes();
    events(std::str::from_utf8(&rest).unwrap())
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn sentences_come_back_while_the_response_is_still_being_written() {
    let site = Site::start(config()).await;
    let (send, body) = body();
    send.send(line(json!({ "source": SOURCE, "id": "s" }))).unwrap();
    let mut response = client(&site).post_open("/v1/stream", body).await;
    assert_eq!(response.status(), 200);
    for piece in ["Marie Curie was bo", "rn in Warsaw. ", "Marie Curie was not "] {
        send.send(line(json!({ "text": piece }))).unwrap();
    }
    let first = more(&mut response).await;
    assert_eq!((first[0].0.as_str(), &first[0].1["verdict"]), ("sentence", &json!("supported")));
    assert_eq!((&first[0].1["start"], &first[0].1["end"]), (&json!(0), &json!(GOOD.len())));
    send.send(line(json!({ "text": "born in Warsaw." }))).unwrap();
    drop(send);
    let rest = rest(response).await;
    assert_eq!(names(&rest), ["sentence", "done"]);
    let (verdict, start) = (&rest[0].1["verdict"], &rest[0].1["start"]);
    assert_eq!((verdict, start), (&json!("contradicted"), &json!(GOOD.len() + 1)));
    assert_eq!((&rest[1].1["id"], &rest[1].1["verdict"]), (&json!("s"), &json!("contradicted")));
}

#[tokio::test]
async fn a_line_can_end_the_response_although_the_body_stays_open() {
    let site = Site::start(config()).await;
    let (send, body) = body();
    send.send(line(json!({ "source": SOURCE }))).unwrap();
    send.send(line(json!({ "text": GOOD }))).unwrap();
    send.send(line(json!({ "end": true }))).unwrap();
    let answer = rest(client(&site).post_open("/v1/stream", body).await).await;
    assert_eq!(names(&answer), ["sentence", "done"]);
    assert_eq!(answer[1].1["status"], "scored");
    drop(send);
}

#[tokio::test]
async fn a_stream_ends_at_the_first_contradiction_where_asked() {
    let site = Site::start(config()).await;
    let (send, body) = body();
    send.send(line(json!({ "source": SOURCE, "stop_at": "first_contradiction" }))).unwrap();
    send.send(line(json!({ "text": format!("{BAD} And so it goes on and ") }))).unwrap();
    // It ends although the response does not.
    let answer = rest(client(&site).post_open("/v1/stream", body).await).await;
    assert_eq!(names(&answer), ["sentence", "done"]);
    assert_eq!(answer[0].1["verdict"], "contradicted");
    wait_until(|| site.gateway.app.gate().load().0 == 0).await;
    drop(send);
}

#[tokio::test]
async fn what_is_wrong_with_the_head_is_a_problem_and_later_an_event() {
    let site = Site::start(config()).await;
    let post = async |text: &str| client(&site).post_text("/v1/stream", text.to_owned()).await;
    post("").await.expect_problem(400, "GL1006");
    post("{").await.expect_problem(400, "GL1006");
    post(r#"{"source": "a", "response": "b"}"#).await.expect_problem(400, "GL1007");
    post(r#"{"source": "a", "stop_at": "soon"}"#).await.expect_problem(400, "GL1007");
    post(r#"{"source": "a", "deadline_ms": 999999999}"#).await.expect_problem(400, "GL1007");
    post(r#"{"source": " "}"#).await.expect_problem(422, "GL1002");
    site.client.post_text("/v1/stream", "{}").await.expect_problem(415, "GL6007");
    for bad in [r#"{"txet": "a"}"#, r#"{"text": "a", "end": true}"#, r#"{"end": false}"#, r#"["a"]"#, "{"] {
        let answer = post(&format!("{{\"source\": \"a\"}}\n{bad}\n")).await;
        let events = events(std::str::from_utf8(&answer.body).unwrap());
        assert_eq!((answer.status.as_u16(), names(&events)), (200, vec!["error"]), "{bad}");
        assert_eq!(events[0].1["status"], 400);
    }
    // Nothing was said at all.
    let answer = post("{\"source\": \"a\"}\n").await;
    let events = events(std::str::from_utf8(&answer.body).unwrap());
    assert_eq!((names(&events), &events[0].1["code"]), (vec!["error"], &json!("GL1001")));
}

#[tokio::test]
async fn a_stream_needs_a_key_and_room_and_stays_within_the_limits() {
    let key = crate::new_key().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let entry = format!("[[keys]]\nid = \"a\"\nsha256 = \"{}\"\ntenant = \"team-a\"\n", key.sha256);
    std::fs::write(&file, entry).unwrap();
    let mut config = config();
    config.gateway.keys_file = file;
    config.gateway.http.body_bytes = 2000;
    config.gateway.admission.tenant_in_flight_tokens = 60;
    let site = Site::start(config).await;
    let head = line(json!({ "source": SOURCE }));
    client(&site).post_text("/v1/stream", head.clone()).await.expect_problem(401, "GL6001");
    let client = client(&site).with(AUTHORIZATION, &format!("Bearer {}", key.key));
    client.post_text("/v1/stream", "x".repeat(2001)).await.expect_problem(413, "GL1005");
    // What is under way counts as it grows.
    let (send, body) = body();
    send.send(head.clone()).unwrap();
    let open = client.post_open("/v1/stream", body).await;
    send.send(line(json!({ "text": "a ".repeat(100) }))).unwrap();
    wait_until(|| site.gateway.app.gate().load().0 > 60).await;
    client.post_text("/v1/stream", head).await.expect_problem(429, "GL6003");
    for _ in 0..10 {
        send.send(line(json!({ "text": "a ".repeat(100) }))).unwrap();
    }
    let answer = rest(open).await;
    let (name, problem) = answer.last().unwrap();
    assert_eq!((name.as_str(), &problem["code"]), ("error", &json!("GL1005")));
    wait_until(|| site.gateway.app.gate().load().0 == 0).await;
}

#[tokio::test]
async fn hanging_up_stops_the_checks_of_a_stream_and_gives_its_budget_back() {
    let engine = ToyEngine::new(ToyHooks { batch_delay: Duration::from_millis(50), ..ToyHooks::default() });
    let stats = engine.stats();
    let mut config = config();
    config.worker.batch_tokens = 50;
    let gateway = config.gateway.clone();
    let checker = Checker::with_engine(Arc::new(engine), config).unwrap();
    let parts = GatewayParts { checker, async_checks: None, metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let client = Client::new(gateway.addresses()).with(CONTENT_TYPE, "application/x-ndjson");
    let (send, body) = body();
    let long =
        (0..200).map(|number| format!("Town {number} was built in year {number}. ")).collect::<String>();
    send.send(line(json!({ "source": long }))).unwrap();
    send.send(line(json!({ "text": long }))).unwrap();
    let response = client.post_open("/v1/stream", body).await;
    wait_until(|| stats.batches.load(Ordering::SeqCst) > 0).await;
    assert!(gateway.app.gate().load().0 > 0);
    drop(response);
    drop(client);
    wait_until(|| gateway.app.gate().load().0 == 0).await;
    // What was sent to the engine already may still run; nothing is added.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let batches = stats.batches.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stats.batches.load(Ordering::SeqCst), batches);
    drop(send);
}

#[tokio::test]
async fn a_stream_that_says_nothing_for_too_long_is_ended_unless_blank_lines_keep_it() {
    let mut config = config();
    config.gateway.http.stream_idle_ms = 400;
    let site = Site::start(config).await;
    let (send, body) = body();
    send.send(line(json!({ "source": SOURCE }))).unwrap();
    let response = client(&site).post_open("/v1/stream", body).await;
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        send.send("\n".to_owned()).unwrap();
    }
    let answer = rest(response).await;
    assert_eq!((names(&answer), &answer[0].1["code"]), (vec!["error"], &json!("GL6008")));
    wait_until(|| send.is_closed()).await;
}

#[tokio::test]
async fn a_caller_that_takes_no_events_is_not_read_from_and_misses_none() {
    let mut config = config();
    config.limits.response_bytes = 8 << 20;
    let site = Site::start(config).await;
    let (send, body) = mpsc::channel::<String>(1);
    let pieces = futures_util::stream::unfold(body, |mut body| async move {
        let piece = body.recv().await?;
        Some((Ok::<_, std::io::Error>(piece), body))
    });
    send.send(line(json!({ "source": SOURCE }))).await.unwrap();
    // HTTP/2, where a caller says how much it takes ahead.
    let mut client = HttpClient::builder(TokioExecutor::new());
    client.http2_only(true).http2_initial_stream_window_size(65_535);
    let client = client.build_http::<Body>();
    let uri = format!("http://{}/v1/stream", site.gateway.addresses().main);
    let request = Request::post(uri).header(CONTENT_TYPE, "application/x-ndjson");
    let open = client.request(request.body(Body::from_stream(pieces)).unwrap());
    // Sentences whose events are far larger than what connections buffer.
    let word = "word ".repeat(2000);
    let sentences = 600;
    let write = async {
        for number in 0..sentences {
            // No faster than sentences are checked.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let text = format!("Sentence number {number} has a {word}in it. ");
            let sent = tokio::time::timeout(Duration::from_secs(1), send.send(line(json!({ "text": text }))));
            if sent.await.is_err() {
                return number;
            }
        }
        sentences
    };
    let (response, stuck_at) = tokio::join!(open, write);
    let response = response.unwrap().map(Body::new);
    assert!(stuck_at < sentences, "everything was read although nothing was taken");
    drop(send);
    let answer = rest(response).await;
    let starts = answer.iter().filter_map(|(_, data)| data["start"].as_u64()).collect::<Vec<_>>();
    assert_eq!((starts.len(), answer.last().unwrap().0.as_str()), (stuck_at, "done"));
    assert!(starts.is_sorted());
}
