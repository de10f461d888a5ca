use super::*;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use groundline_testkit::Gate as EngineGate;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_body_over_the_limit_is_refused_whether_or_not_it_says_its_length() {
    let mut config = config();
    config.gateway.http.body_bytes = 1000;
    let site = Site::start(config).await;
    let large = request(&"x".repeat(1000)).to_string();
    site.client.post_text("/v1/check", large.clone()).await.expect_problem(413, "GL1005");
    let pieces = large.as_bytes().chunks(300).map(|piece| Ok::<_, std::io::Error>(piece.to_vec()));
    let unsaid = Body::from_stream(futures_util::stream::iter(pieces.collect::<Vec<_>>()));
    site.client.post_text("/v1/check", unsaid).await.expect_problem(413, "GL1005");
    site.post("/v1/check", request(GOOD)).await.expect_ok();
}

#[tokio::test]
async fn a_length_that_is_too_large_is_refused_before_anything_is_read() {
    let site = Site::start(config()).await;
    let mut socket = TcpStream::connect(site.gateway.addresses().main).await.unwrap();
    let head = "POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 1000];
    let read = socket.read(&mut answer).await.unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.1 413 "), "{}", String::from_utf8_lossy(&answer[..read]));
}

#[tokio::test]
async fn a_client_that_is_too_slow_loses_its_connection() {
    let mut config = config();
    config.gateway.http.header_timeout_ms = 200;
    config.gateway.http.body_timeout_ms = 200;
    let site = Site::start(config).await;
    let send = async |text: &str| {
        let mut socket = TcpStream::connect(site.gateway.addresses().main).await.unwrap();
        socket.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), socket.read_to_end(&mut answer));
        read.await.expect("the connection was kept").unwrap();
        String::from_utf8(answer).unwrap()
    };
    // Nothing at all, half a head, and half a body.
    assert_eq!(send("").await, "");
    let half_head = send("POST /v1/check HTTP/1.1\r\nhost:").await;
    assert!(half_head.is_empty() || half_head.starts_with("HTTP/1.1 408"), "{half_head}");
    let head =
        "POST /v1/check HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    let half_body = send(&format!("{head}{{\"response\":")).await;
    assert!(half_body.starts_with("HTTP/1.1 408 ") && half_body.contains("GL6008"), "{half_body}");
    site.post("/v1/check", request(GOOD)).await.expect_ok();
}

#[tokio::test]
async fn a_tenant_over_its_limit_gets_429_and_all_together_503() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    for (tenant_tokens, status, code) in [(30, 429, "GL6003"), (10_000, 503, "GL6004")] {
        let mut config = config();
        config.gateway.admission.tenant_in_flight_tokens = tenant_tokens;
        config.gateway.admission.in_flight_tokens = 40;
        gate.close();
        let site = Site::with_hooks(config, hooks.clone()).await;
        let first = site.post("/v1/check", request(GOOD));
        let second = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let refused = site.post("/v1/check", request(GOOD)).await;
            gate.open();
            refused
        };
        let (first, second) = tokio::join!(first, second);
        first.expect_ok();
        second.expect_problem(status, code);
        assert_eq!(second.header(RETRY_AFTER), "1");
        site.post("/v1/check", request(GOOD)).await.expect_ok();
    }
}

#[tokio::test]
async fn a_rate_is_kept_and_says_when_there_is_room() {
    let mut config = config();
    config.gateway.admission.tenant_tokens_per_second = 10;
    config.gateway.admission.tenant_burst_tokens = 30;
    let site = Site::start(config).await;
    site.post("/v1/check", request(GOOD)).await.expect_ok();
    let refused = site.post("/v1/check", request(GOOD)).await;
    refused.expect_problem(429, "GL6003");
    let wait = refused.header(RETRY_AFTER).parse::<u64>().unwrap();
    assert!((1..=5).contains(&wait), "{wait}");
    // A list of the same texts costs the same, and so does a reward, which waits instead.
    site.post("/v1/check", json!([request(GOOD)])).await.expect_problem(429, "GL6003");
    site.post("/v1/reward", request(GOOD)).await.expect_ok();
}

#[tokio::test]
async fn a_full_coordinator_is_503_for_checks() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let mut config = config();
    config.coordinator.max_checks = 1;
    let site = Site::with_hooks(config, hooks).await;
    let second = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let refused = site.post("/v1/check", request(GOOD)).await;
        gate.open();
        refused
    };
    let (first, second) = tokio::join!(site.post("/v1/check", request(GOOD)), second);
    first.expect_ok();
    second.expect_problem(503, "GL2004");
    assert_eq!(second.header(RETRY_AFTER), "1");
}

#[tokio::test]
async fn connections_over_the_limit_are_closed_at_once() {
    let mut config = config();
    config.gateway.http.max_connections = 2;
    let site = Site::start(config).await;
    let address = site.gateway.addresses().main;
    let open = async || {
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 15];
        let read = socket.read_exact(&mut answer).await;
        (socket, read.is_ok() && answer == b"HTTP/1.1 200 OK")
    };
    let (first, second, third) = (open().await, open().await, open().await);
    assert_eq!((first.1, second.1, third.1), (true, true, false));
    drop(first);
    for _ in 0..100 {
        if open().await.1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("a place was not given back");
}

#[tokio::test]
async fn nothing_of_a_text_stands_in_an_error() {
    let site = Site::start(config()).await;
    let secret = "the-secret-of-a-user";
    for body in [
        json!({ "response": [secret], "source": SOURCE }).to_string(),
        json!({ "response": GOOD, "source": { "text": GOOD, "id": [secret] } }).to_string(),
        format!("{{\"response\": \"{secret}"),
        json!({ "response": format!("{secret}\u{0}"), "source": SOURCE }).to_string(),
    ] {
        let answer = site.client.post_text("/v1/check", body).await;
        assert!(answer.status.is_client_error());
        assert!(!String::from_utf8_lossy(&answer.body).contains(secret));
    }
    let odd = site.client.with(CONTENT_TYPE, secret).post("/v1/check", request(GOOD)).await;
    assert!(!String::from_utf8_lossy(&odd.body).contains(secret));
}
