use super::*;
use crate::stub::{Fault, StubJudge, StubOptions};
use crate::{Judge, JudgeOptions, Randomness};
use std::time::Duration;
use tokio::time::Instant;

fn judge(stub: &StubJudge) -> Judge {
    let options = JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        ..JudgeOptions::default()
    };
    Judge::with_transport(options, stub.transport(), Randomness::seeded(1)).unwrap()
}

async fn probed(capabilities: Capabilities) -> Capabilities {
    let stub = StubJudge::new(StubOptions { capabilities, ..StubOptions::default() });
    judge(&stub).probe(None).await.unwrap().value
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_backend_is_found_out() {
    let full = StubOptions::default().capabilities;
    for capabilities in [
        full,
        Capabilities { answer_format: AnswerFormat::SchemaFlat, n: false, ..full },
        Capabilities { answer_format: AnswerFormat::JsonObject, logprobs: false, ..full },
        Capabilities { temperature: false, token_limit: TokenLimitField::MaxCompletionTokens, ..full },
        Capabilities { seed: false, ..full },
        Capabilities::default(),
    ] {
        assert_eq!(probed(capabilities).await, capabilities);
    }
}

#[tokio::test(start_paused = true)]
async fn a_backend_is_probed_once_and_its_cost_is_told() {
    let stub = StubJudge::new(StubOptions::default());
    let judge = judge(&stub);
    assert_eq!(judge.capabilities(), None);
    let first = judge.probe(None).await.unwrap();
    assert_eq!((first.usage.calls, stub.seen().requests), (5, 5));
    let second = judge.clone().probe(None).await.unwrap();
    assert_eq!((second.usage.calls, stub.seen().requests), (0, 5));
    assert_eq!(judge.capabilities(), Some(first.value));
}

#[tokio::test(start_paused = true)]
async fn a_probe_survives_faults_and_one_that_fails_is_made_again() {
    let script = vec![Some(Fault::ServerError), None, Some(Fault::HalfAnswer), Some(Fault::Reset)];
    let stub = StubJudge::new(StubOptions { script, ..StubOptions::default() });
    let capabilities = judge(&stub).probe(None).await.unwrap().value;
    assert_eq!(capabilities, StubOptions::default().capabilities);

    let script = vec![Some(Fault::ServerError); 4];
    let stub = StubJudge::new(StubOptions { script, ..StubOptions::default() });
    let judge = judge(&stub);
    let failure = judge.probe(None).await.unwrap_err();
    assert_eq!((failure.code(), failure.usage.calls), (Code::JUDGE_UNAVAILABLE, 4));
    assert!(judge.probe(None).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_fails_over_a_schema_is_asked_without_one_and_one_that_is_down_is_not_blamed_for_it() {
    let fails = [Some(Fault::ServerError); 4];
    let script = [None].into_iter().chain(fails).collect();
    let stub = StubJudge::new(StubOptions { script, ..StubOptions::default() });
    let found = judge(&stub).probe(None).await.unwrap().value;
    assert_eq!(found.answer_format, AnswerFormat::Text);
    assert!(found.logprobs && found.seed && found.n);

    let script = [None].into_iter().chain(fails).chain(fails).collect();
    let stub = StubJudge::new(StubOptions { script, ..StubOptions::default() });
    let judge = judge(&stub);
    assert_eq!(judge.probe(None).await.unwrap_err().code(), Code::JUDGE_UNAVAILABLE);
    assert_eq!(judge.capabilities(), None);
}

#[tokio::test(start_paused = true)]
async fn a_slow_backend_is_found_out_by_questions_that_have_too_little_time_each() {
    let stub = StubJudge::new(StubOptions { latency: Duration::from_secs(4), ..StubOptions::default() });
    let judge = judge(&stub);
    let hasty = || judge.probe(Some(Instant::now() + Duration::from_secs(10)));
    assert_eq!(hasty().await.unwrap_err().code(), Code::JUDGE_DEADLINE);
    assert_eq!(hasty().await.unwrap_err().code(), Code::JUDGE_DEADLINE);
    assert_eq!(hasty().await.unwrap().value, StubOptions::default().capabilities);
    assert_eq!(stub.seen().requests, 5 + 2, "what was found was not asked again");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_another_ones_probe_waits_to_its_own_deadline() {
    let stub = StubJudge::new(StubOptions { latency: Duration::from_secs(4), ..StubOptions::default() });
    let judge = judge(&stub);
    let hasty = judge.probe(Some(Instant::now() + Duration::from_secs(1)));
    let (patient, hasty) = tokio::join!(judge.probe(None), hasty);
    assert_eq!((patient.unwrap().usage.calls, hasty.unwrap_err().code()), (5, Code::JUDGE_DEADLINE));
}
