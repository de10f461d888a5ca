use super::*;
use crate::{Checker, Config};
use groundline_testkit::{ToyEngine, ToyHooks};
use serde_json::json;
use std::sync::Arc;

fn parts() -> (Checker, AsyncChecks) {
    let checker = Checker::with_engine(Arc::new(ToyEngine::new(ToyHooks::default())), Config::default());
    (checker.unwrap(), AsyncChecks::in_memory(Limits::default()))
}

fn request() -> serde_json::Value {
    json!({"source": "Marie Curie was born in Warsaw.", "response": "Marie Curie was born in Warsaw."})
}

async fn answered(checks: &AsyncChecks, tenant: &str, id: &str) -> AsyncStatus {
    loop {
        match checks.status(tenant, id).await.unwrap().unwrap() {
            AsyncStatus::Waiting | AsyncStatus::Running => tokio::time::sleep(Duration::from_millis(5)).await,
            done => return done,
        }
    }
}

#[tokio::test]
async fn what_is_submitted_waits_is_run_and_can_be_asked_for_by_its_tenant_alone() {
    let (checker, checks) = parts();
    let id = checks.submit("acme", request()).await.unwrap();
    assert_eq!(checks.status("acme", &id).await.unwrap(), Some(AsyncStatus::Waiting));
    let runner = AsyncRunner::start(checker.clone(), checks.clone(), 2);
    let AsyncStatus::Done(result) = answered(&checks, "acme", &id).await else { panic!("not done") };
    assert_eq!((result.id.as_str(), result.coverage), (id.as_str(), Some(1.0)));
    assert_eq!(checks.status("other", &id).await.unwrap(), None);
    assert_eq!(checks.status("acme", "unknown").await.unwrap(), None);
    runner.drain(Duration::from_secs(5)).await;
    checker.shutdown().await;
}

#[tokio::test]
async fn more_checks_than_run_at_once_are_all_answered() {
    let (checker, checks) = parts();
    let _runner = AsyncRunner::start(checker, checks.clone(), 2);
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(checks.submit("acme", request()).await.unwrap());
    }
    for id in ids {
        assert!(matches!(answered(&checks, "acme", &id).await, AsyncStatus::Done(_)));
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_checked_is_refused_before_it_is_stored() {
    let (_, checks) = parts();
    let code = async |request| checks.submit("acme", request).await.unwrap_err().code;
    assert_eq!(code(json!({"source": "S.", "response": " "})).await, Code::EMPTY_RESPONSE);
    assert_eq!(code(json!({"source": "S.", "respons": "R."})).await, Code::INVALID_FIELD);
}

#[tokio::test]
async fn what_only_a_check_can_refuse_becomes_a_failed_answer() {
    let (checker, checks) = parts();
    let _runner = AsyncRunner::start(checker, checks.clone(), 1);
    let mut request = request();
    request["methods"] = json!(["entailmant"]);
    let id = checks.submit("acme", request).await.unwrap();
    let AsyncStatus::Failed(problem) = answered(&checks, "acme", &id).await else { panic!("not failed") };
    assert_eq!(problem.code, Code::UNKNOWN_METHOD);
}

#[tokio::test]
async fn a_runner_that_is_drained_finishes_what_it_began_and_takes_no_more() {
    let (checker, checks) = parts();
    let runner = AsyncRunner::start(checker, checks.clone(), 4);
    let id = checks.submit("acme", request()).await.unwrap();
    answered(&checks, "acme", &id).await;
    runner.drain(Duration::from_secs(5)).await;
    let late = checks.submit("acme", request()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(checks.status("acme", &late).await.unwrap(), Some(AsyncStatus::Waiting));
}
