use super::*;
use groundline_coordinator::CancelToken;
use groundline_testkit::{ToyEngine, ToyHooks};
use groundline_types::{Code, Source, Status, Verdict};
use std::time::Duration;

fn toy(config: Config) -> Checker {
    Checker::with_engine(Arc::new(ToyEngine::new(ToyHooks::default())), config).unwrap()
}

fn request() -> CheckRequest {
    CheckRequest::new("Marie Curie was born in Warsaw.", "Marie Curie was born in Warsaw.")
}

#[tokio::test]
async fn a_request_becomes_a_result_with_its_configuration_named() {
    let checker = toy(Config::default());
    let result = checker.check(request()).await.unwrap();
    assert_eq!((result.status, result.verdict), (Status::Scored, Some(Verdict::Supported)));
    assert_eq!(result.config_hash, checker.config_hash());
    assert_eq!(result.model.engine, checker.engine_name());
    checker.shutdown().await;
}

#[tokio::test]
async fn bad_requests_are_refused_with_their_codes() {
    let checker = toy(Config::default());
    let code = async |request| checker.check(request).await.unwrap_err().code;
    assert_eq!(code(CheckRequest::new("  ", "S.")).await, Code::EMPTY_RESPONSE);
    assert_eq!(code(CheckRequest::with_sources("R.", Vec::new())).await, Code::EMPTY_SOURCE);
    assert_eq!(code(CheckRequest::new("R\0.", "S.")).await, Code::NUL_BYTE);
    let mut unknown = request();
    unknown.methods = vec!["entailmant".to_owned()];
    assert_eq!(code(unknown).await, Code::UNKNOWN_METHOD);
}

#[tokio::test]
async fn the_limits_of_the_configuration_hold() {
    let mut config = Config::default();
    config.limits.response_bytes = 10;
    assert_eq!(toy(config).check(request()).await.unwrap_err().code, Code::TOO_LARGE);
}

#[tokio::test]
async fn clones_share_one_checker_and_its_end() {
    let checker = toy(Config::default());
    let clone = checker.clone();
    checker.check(request()).await.unwrap();
    let again = clone.check(request()).await.unwrap();
    assert!(again.usage.cache_hits > 0, "{:?}", again.usage);
    checker.shutdown().await;
    assert_eq!(clone.check(request()).await.unwrap_err().code, Code::INTERNAL);
}

#[tokio::test]
async fn a_slow_engine_in_this_process_is_waited_for() {
    let mut config = Config::default();
    (config.coordinator.resend_after_ms, config.coordinator.max_attempts) = (1, 1);
    let hooks = ToyHooks { batch_delay: Duration::from_millis(2500), ..ToyHooks::default() };
    let checker = Checker::with_engine(Arc::new(ToyEngine::new(hooks)), config).unwrap();
    let result = checker.check(request()).await.unwrap();
    assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes);
}

#[tokio::test]
async fn a_cancelled_check_answers_with_what_it_has() {
    let cancel = CancelToken::default();
    cancel.cancel();
    let observer = CheckObserver { progress: None, cancel: Some(cancel) };
    let result = toy(Config::default()).check_with(request(), observer).await.unwrap();
    assert_eq!((result.status, result.coverage), (Status::Failed, Some(0.0)));
    assert!(result.notes.iter().any(|note| note.code == Code::CANCELLED), "{:?}", result.notes);
}

#[test]
fn a_configuration_out_of_range_is_refused_before_anything_starts() {
    let mut config = Config::default();
    config.verdict.support_threshold = 2.0;
    let engine = Arc::new(ToyEngine::new(ToyHooks::default()));
    assert_eq!(Checker::with_engine(engine, config).unwrap_err().code, Code::INVALID_CONFIG);
    let mut config = Config::default();
    config.model.name = "no-such-model".to_owned();
    assert_eq!(Checker::embedded(config).unwrap_err().code, Code::MODEL_NOT_FOUND);
}

#[tokio::test]
async fn several_sources_are_kept_apart() {
    let source = |id: &str, text: &str| Source { id: Some(id.to_owned()), title: None, text: text.into() };
    let sources = vec![source("a", "Tea is a drink."), source("b", "Marie Curie was born in Warsaw.")];
    let request = CheckRequest::with_sources("Marie Curie was born in Warsaw.", sources);
    let result = toy(Config::default()).check(request).await.unwrap();
    assert_eq!(result.sentences[0].evidence[0].source, "b");
}

#[tokio::test]
async fn a_worker_that_gave_up_fails_running_checks_and_new_ones_at_once() {
    let gate = Arc::new(groundline_testkit::Gate::closed());
    let engine = ToyEngine::new(ToyHooks { gate: Some(gate), ..ToyHooks::default() });
    let stats = engine.stats();
    let checker = Checker::with_engine(Arc::new(engine), Config::default()).unwrap();
    let failing = async {
        while stats.items.load(std::sync::atomic::Ordering::SeqCst) == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let parts = checker.inner.parts.get().unwrap();
        let health = parts.worker.lock().unwrap().as_ref().unwrap().health().clone();
        health.component("worker").report(groundline_actors::Condition::Failed("test"));
    };
    let mut request = request();
    request.deadline_ms = Some(600_000);
    let (running, ()) = tokio::join!(checker.check(request.clone()), failing);
    for answer in [running, checker.check(request).await] {
        let problem = answer.unwrap_err();
        assert_eq!(problem.code, Code::INTERNAL);
        assert!(problem.message.contains("worker"), "{problem}");
    }
}
