use super::super::events::wait_until;
use super::*;
use crate::grpc::wire::{CheckManyRequest, RewardRequest};
use groundline_testkit::Gate as EngineGate;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let mut config = config();
    config.gateway.http.body_bytes = 1000;
    config.gateway.http.max_items = 2;
    let site = Site::start(config).await;
    let mut grpc = caller(&site.gateway).await;
    let large = grpc.check(check(&"x".repeat(1000))).await.unwrap_err();
    expect_status(&large, Code::ResourceExhausted, "GL1005");
    let many = CheckManyRequest { requests: vec![check(GOOD); 3] };
    expect_status(&grpc.check_many(many).await.unwrap_err(), Code::ResourceExhausted, "GL1005");
    grpc.check(check(GOOD)).await.unwrap();
}

#[tokio::test]
async fn a_tenant_over_its_limit_is_told_when_to_try_again() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    for (tenant_tokens, status, code) in
        [(30, Code::ResourceExhausted, "GL6003"), (10_000, Code::Unavailable, "GL6004")]
    {
        let mut config = config();
        config.gateway.admission.tenant_in_flight_tokens = tenant_tokens;
        config.gateway.admission.in_flight_tokens = 30;
        gate.close();
        let site = Site::with_hooks(config, hooks.clone()).await;
        let mut grpc = caller(&site.gateway).await;
        let mut other = grpc.clone();
        let first = grpc.check(check(GOOD));
        let second = async {
            wait_until(|| site.gateway.app.gate().load().0 > 16).await;
            let refused = other.check(check(GOOD)).await.unwrap_err();
            gate.open();
            refused
        };
        let (first, second) = tokio::join!(first, second);
        first.unwrap();
        expect_status(&second, status, code);
        assert_eq!(retry_after(&second), Some("1"));
        wait_until(|| site.gateway.app.gate().load().0 == 0).await;
    }
}

#[tokio::test]
async fn a_check_answers_with_what_there_is_before_its_caller_stops_waiting() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let site = Site::with_hooks(config(), hooks).await;
    let mut grpc = caller(&site.gateway).await;
    let mut request = Request::new(check(GOOD));
    request.set_timeout(Duration::from_secs(4));
    let result = grpc.check(request).await.unwrap().into_inner();
    assert_eq!((result.status.as_str(), result.verdict), ("failed", None));
    assert!(result.timings.unwrap().total_ms < 4000.0);
    gate.open();
}

#[tokio::test]
async fn a_caller_that_stops_waiting_leaves_the_line_of_rewards() {
    let gate = Arc::new(EngineGate::closed());
    let hooks = ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() };
    let mut config = config();
    config.gateway.reward.concurrency = 1;
    let site = Site::with_hooks(config, hooks).await;
    let mut grpc = caller(&site.gateway).await;
    let mut other = grpc.clone();
    let reward = || RewardRequest { check: Some(check(GOOD)), reward_profile: None };
    let first = grpc.reward(reward());
    let second = async {
        wait_until(|| site.gateway.app.gate().load().0 > 0).await;
        let mut request = Request::new(reward());
        request.set_timeout(Duration::from_millis(300));
        let late = other.reward(request).await.unwrap_err();
        wait_until(|| site.gateway.app.gate().load().1 == 0).await;
        gate.open();
        late
    };
    let (first, late) = tokio::join!(first, second);
    first.unwrap();
    // The caller's own clock may end the call first.
    assert!(matches!(late.code(), Code::DeadlineExceeded | Code::Cancelled), "{late:?}");
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_nothing_running() {
    let engine = ToyEngine::new(ToyHooks { batch_delay: Duration::from_millis(50), ..ToyHooks::default() });
    let stats = engine.stats();
    let mut config = config();
    config.worker.batch_tokens = 50;
    let gateway = config.gateway.clone();
    let checker = Checker::with_engine(Arc::new(engine), config).unwrap();
    let parts = GatewayParts { checker, async_checks: None, metrics: None };
    let gateway = Gateway::start(parts, gateway).await.unwrap();
    let mut grpc = caller(&gateway).await;
    let long =
        (0..200).map(|number| format!("Town {number} was built in year {number}. ")).collect::<String>();
    let mut message = check(&long);
    message.sources[0].text = long;
    tokio::select! {
        answer = grpc.check(message) => panic!("it is not to be answered: {answer:?}"),
        () = wait_until(|| stats.batches.load(Ordering::SeqCst) > 0) => {}
    }
    wait_until(|| gateway.app.gate().load().0 == 0).await;
    // What was sent to the engine already may still run; nothing is added.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let batches = stats.batches.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stats.batches.load(Ordering::SeqCst), batches);
}
