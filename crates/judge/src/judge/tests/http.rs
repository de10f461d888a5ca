//! The client over real HTTP.

use super::*;
use crate::stub::StubServer;
use crate::{RetryOptions, Secret};

fn over(server: &StubServer) -> JudgeOptions {
    JudgeOptions {
        base_url: server.base_url(),
        retry: RetryOptions { base_ms: 5, max_attempts: 3, ..RetryOptions::default() },
        call_timeout_ms: 500,
        ..inside()
    }
}

async fn ask(options: JudgeOptions) -> JudgeResult<crate::JudgeVerdict> {
    Judge::new(options).unwrap().verdict(&question("Curie was born in 1867."), None).await
}

#[tokio::test]
async fn a_verdict_comes_over_http_with_the_key_in_its_header() {
    let stub = StubJudge::new(StubOptions { api_key: Some("sk-1".to_owned()), ..StubOptions::default() });
    let server = stub.serve().unwrap();
    let options = JudgeOptions { api_key: Secret::new("sk-1"), capabilities: None, ..over(&server) };
    let judged = ask(options).await.unwrap();
    assert_eq!(judged.value.label, JudgeLabel::Supported);
    assert_eq!(stub.seen().requests, 6);
    let denied = ask(JudgeOptions { api_key: Secret::new("sk-2"), ..over(&server) }).await.unwrap_err();
    assert_eq!(denied.code(), Code::JUDGE_REJECTED);
    assert!(!denied.to_string().contains("sk-"), "{denied}");
}

#[tokio::test]
async fn every_fault_over_http_is_told_as_what_it_is() {
    for (fault, code) in [
        (Fault::Hang, Code::JUDGE_UNAVAILABLE),
        (Fault::Reset, Code::JUDGE_UNAVAILABLE),
        (Fault::ServerError, Code::JUDGE_UNAVAILABLE),
        (Fault::RateLimited(None), Code::JUDGE_LIMITED),
        (Fault::Endless, Code::JUDGE_UNREADABLE),
        (Fault::HalfAnswer, Code::JUDGE_UNREADABLE),
        (Fault::WrongSchema, Code::JUDGE_UNREADABLE),
        (Fault::Refusal, Code::JUDGE_REFUSED),
    ] {
        let stub = StubJudge::new(StubOptions { faults: vec![(fault, 1.0)], ..StubOptions::default() });
        let server = stub.serve().unwrap();
        let failure = ask(over(&server)).await.unwrap_err();
        assert_eq!(failure.code(), code, "{fault:?}: {failure}");
    }
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let server = StubJudge::new(StubOptions::default()).serve().unwrap();
    let options = over(&server);
    drop(server);
    let failure = ask(options).await.unwrap_err();
    assert_eq!(failure.code(), Code::JUDGE_UNAVAILABLE);
    assert_eq!(failure.usage.tokens.total_tokens(), 0);
}
