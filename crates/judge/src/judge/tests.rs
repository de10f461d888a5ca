use super::*;
use crate::stub::{Fault, StubJudge, StubOptions};
use crate::{JudgeLabel, VerdictQuestion};

mod canary;
mod http;
mod tls;

/// Options for a stub that is not reached over HTTP.
fn inside() -> JudgeOptions {
    JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        capabilities: Some(StubOptions::default().capabilities),
        ..JudgeOptions::default()
    }
}

fn judge_of(stub: &StubJudge, options: JudgeOptions) -> Judge {
    Judge::with_transport(options, stub.transport(), Randomness::seeded(1)).unwrap()
}

fn question(claim: &str) -> VerdictQuestion {
    VerdictQuestion {
        passages: vec!["Marie Curie was born in Warsaw in 1867.".to_owned()],
        claim: claim.to_owned(),
        ..VerdictQuestion::default()
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_question_probes_the_backend() {
    let stub = StubJudge::new(StubOptions::default());
    let judge = judge_of(&stub, JudgeOptions { capabilities: None, ..inside() });
    let judged = judge.verdict(&question("Curie was born in 1867."), None).await.unwrap();
    assert_eq!((judged.value.label, judged.usage.calls), (JudgeLabel::Supported, 6));
    assert_eq!(judge.capabilities(), Some(StubOptions::default().capabilities));
    assert_eq!(judge.usage().calls, 6);
}

#[tokio::test(start_paused = true)]
async fn what_one_scope_asked_is_not_known_in_another() {
    let stub = StubJudge::new(StubOptions::default());
    let judge = judge_of(&stub, inside());
    let question = question("Curie was born in 1867.");
    for (scope, calls) in [("a", 1), ("b", 1), ("a", 0), ("b", 0), ("", 1)] {
        let judged = judge.scoped(scope).verdict(&question, None).await.unwrap();
        assert_eq!(judged.usage.calls, calls, "scope {scope:?}");
    }
    assert_eq!(judge.usage().calls, 3, "limits and counts are those of one judge");
}

#[tokio::test(start_paused = true)]
async fn usage_is_told_for_failures_too() {
    let stub = StubJudge::new(StubOptions { script: vec![Some(Fault::Refusal)], ..StubOptions::default() });
    let judge = judge_of(&stub, inside());
    let failure = judge.verdict(&question("Curie was born in 1867."), None).await.unwrap_err();
    assert_eq!(failure.usage.tokens.total_tokens(), stub.seen().billed_tokens);
    assert_eq!(judge.usage(), failure.usage);
}

#[test]
fn invalid_options_make_no_judge() {
    let problem = Judge::new(JudgeOptions::default()).unwrap_err();
    assert_eq!(problem.code, Code::JUDGE_OPTIONS);
}
