use super::*;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::BodyExt as _;
use std::sync::atomic::Ordering;

/// The events of a text, each with its data.
pub(super) fn events(text: &str) -> Vec<(String, Value)> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    let blocks = text.split("\n\n").filter(|block| block.contains("event:"));
    blocks
        .map(|block| (field(block, "event:"), serde_json::from_str(&field(block, "data:")).unwrap()))
        .collect()
}

#[tokio::test]
async fn progress_is_told_before_the_result() {
    let hooks = ToyHooks { batch_delay: Duration::from_millis(40), ..ToyHooks::default() };
    let mut config = config();
    config.worker.batch_tokens = 100;
    let site = Site::with_hooks(config, hooks).await;
    let client = site.client.with(ACCEPT, "text/event-stream");
    // Each sentence is another one, so that each pair is work, and there is more of it than a job holds.
    let long =
        (0..60).map(|number| format!("Town {number} was built in year {number}. ")).collect::<String>();
    let answer = client.post("/v1/check", request(&long)).await;
    assert_eq!((answer.status.as_u16(), answer.header(CONTENT_TYPE)), (200, "text/event-stream"));
    let events = events(std::str::from_utf8(&answer.body).unwrap());
    let (last, before) = events.split_last().unwrap();
    assert_eq!((last.0.as_str(), &last.1["status"]), ("result", &json!("scored")));
    assert!(before.len() >= 2 && before.iter().all(|(name, _)| name == "progress"), "{before:?}");
    let done = before.iter().map(|(_, data)| data["done_items"].as_u64().unwrap()).collect::<Vec<_>>();
    assert!(done.is_sorted(), "{done:?}");
    assert!(
        before.iter().any(|(_, data)| data["stage"] == "scoring" && data["planned_items"].as_u64() > Some(0))
    );
}

#[tokio::test]
async fn what_goes_wrong_before_the_first_event_is_a_problem_and_later_an_event() {
    let site = Site::start(config()).await;
    let client = site.client.with(ACCEPT, "text/event-stream");
    client.post("/v1/check", json!({ "sorce": "" })).await.expect_problem(400, "GL1007");
    client.post("/v1/check", json!([request(GOOD)])).await.expect_problem(400, "GL1007");
    let answer = client.post("/v1/check", json!({ "response": "", "source": SOURCE })).await;
    let events = events(std::str::from_utf8(&answer.body).unwrap());
    let (name, data) = events.last().unwrap();
    assert_eq!((name.as_str(), &data["code"], &data["status"]), ("error", &json!("GL1001"), &json!(422)));
}

#[tokio::test]
async fn hanging_up_stops_the_check_and_gives_its_budget_back() {
    let engine = ToyEngine::new(ToyHooks { batch_delay: Duration::from_millis(50), ..ToyHooks::default() });
    let stats = engine.stats();
    let mut config = config();
    config.worker.batch_tokens = 50;
    let gateway = config.gateway.clone();
    let checker = Checker::with_engine(Arc::new(engine), config).unwrap();
    let parts = GatewayParts { checker, async_checks: None, metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let client = Client::new(gateway.addresses()).with(ACCEPT, "text/event-stream");
    let long =
        (0..200).map(|number| format!("Town {number} was built in year {number}. ")).collect::<String>();
    let body = json!({ "response": long, "source": long });
    let mut response = client.post_open("/v1/check", body.to_string()).await;
    response.body_mut().frame().await.unwrap().unwrap();
    assert!(gateway.app.gate().load().0 > 0);
    drop(response);
    drop(client);
    wait_until(|| gateway.app.gate().load().0 == 0).await;
    // What was sent to the engine already may still run; nothing is added.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let batches = stats.batches.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stats.batches.load(Ordering::SeqCst), batches);
}

/// Waits until something holds, for at most 10 seconds.
pub(super) async fn wait_until(holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came true");
}
