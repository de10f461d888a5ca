use super::*;
use crate::stub::{Fault, Persona, StubJudge, StubOptions};
use crate::{AnswerFormat, Capabilities, JudgeOptions, Randomness, TransportError};
use std::time::Duration;

const SOURCE: &str = "Marie Curie was born in Warsaw in 1867. She did not study in Berlin.";

fn options() -> JudgeOptions {
    JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        capabilities: Some(StubOptions::default().capabilities),
        ..JudgeOptions::default()
    }
}

fn judge(stub: &StubJudge, options: JudgeOptions) -> Judge {
    Judge::with_transport(options, stub.transport(), Randomness::seeded(1)).unwrap()
}

fn question(claim: &str) -> VerdictQuestion {
    VerdictQuestion {
        passages: vec![SOURCE.to_owned()],
        claim: claim.to_owned(),
        ..VerdictQuestion::default()
    }
}

async fn verdict_of(claim: &str) -> JudgeVerdict {
    let stub = StubJudge::new(StubOptions::default());
    judge(&stub, options()).verdict(&question(claim), None).await.unwrap().value
}

#[tokio::test(start_paused = true)]
async fn a_claim_gets_label_reason_quote_and_probabilities() {
    let supported = verdict_of("Marie Curie was born in 1867.").await;
    assert_eq!(supported.label, JudgeLabel::Supported);
    assert_eq!(supported.quote.as_deref(), Some("Marie Curie was born in Warsaw in 1867."));
    assert_eq!((supported.quoted_passage, supported.votes, supported.prompt), (Some(0), 1, VERDICT_PROMPT));
    assert_eq!(supported.basis, Some(ProbabilityBasis::Logprobs));
    let probabilities = supported.probabilities.unwrap();
    assert!((probabilities.supported.get() - 0.96).abs() < 1e-3, "{probabilities:?}");
    assert!(!supported.reason.is_empty() && !supported.is_downgraded);

    let contradicted = verdict_of("Marie Curie was born in 1868.").await;
    assert_eq!(contradicted.label, JudgeLabel::Contradicted);
    assert_eq!(verdict_of("She did study in Berlin.").await.label, JudgeLabel::Contradicted);
    let unsupported = verdict_of("Einstein liked sailing.").await;
    assert_eq!((unsupported.label, unsupported.quote), (JudgeLabel::Unsupported, None));
}

#[test]
fn labels_become_the_verdicts_of_results() {
    let verdicts = JudgeLabel::ALL.map(JudgeLabel::verdict);
    assert_eq!(verdicts, [Verdict::Supported, Verdict::Contradicted, Verdict::NotMentioned]);
}

#[tokio::test(start_paused = true)]
async fn the_same_question_is_asked_once() {
    let stub = StubJudge::new(StubOptions::default());
    let judge = judge(&stub, options());
    let question = question("Marie Curie was born in 1867.");
    let first = judge.verdict(&question, None).await.unwrap();
    let second = judge.verdict(&question, None).await.unwrap();
    assert_eq!(first.value, second.value);
    assert_eq!((second.usage.calls, second.usage.cache_hits, stub.seen().requests), (0, 1, 1));
    let asked = (0..10).map(|_| judge.verdict(&question, None));
    futures_util::future::join_all(asked).await;
    assert_eq!(stub.seen().requests, 1);
    assert_eq!(judge.usage().cache_hits, 11);
}

#[tokio::test(start_paused = true)]
async fn faults_end_in_their_own_code_and_never_in_a_verdict() {
    for (fault, code) in [
        (Fault::Refusal, Code::JUDGE_REFUSED),
        (Fault::Filtered, Code::JUDGE_REFUSED),
        (Fault::WrongSchema, Code::JUDGE_UNREADABLE),
        (Fault::Prose, Code::JUDGE_UNREADABLE),
        (Fault::Empty, Code::JUDGE_UNREADABLE),
        (Fault::HalfAnswer, Code::JUDGE_UNREADABLE),
        (Fault::Endless, Code::JUDGE_UNREADABLE),
        (Fault::Hang, Code::JUDGE_DEADLINE),
        (Fault::Reset, Code::JUDGE_UNAVAILABLE),
        (Fault::ServerError, Code::JUDGE_UNAVAILABLE),
        (Fault::RateLimited(Some(1)), Code::JUDGE_LIMITED),
    ] {
        let stub = StubJudge::new(StubOptions { faults: vec![(fault, 1.0)], ..StubOptions::default() });
        let failure = judge(&stub, options()).verdict(&question("Curie was born."), None).await.unwrap_err();
        assert_eq!(failure.code(), code, "{fault:?}: {failure}");
        assert!(failure.usage.calls > 0 && !failure.to_string().contains("Curie"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_read_is_asked_for_again() {
    for fault in [Fault::WrongSchema, Fault::Prose, Fault::Empty, Fault::HalfAnswer, Fault::Endless] {
        let stub = StubJudge::new(StubOptions { script: vec![Some(fault)], ..StubOptions::default() });
        let judged =
            judge(&stub, options()).verdict(&question("Curie was born in 1867."), None).await.unwrap();
        assert_eq!((judged.value.label, judged.usage.calls), (JudgeLabel::Supported, 2), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_is_empty_or_refuses_under_a_schema_is_asked_in_words() {
    let script = vec![Some(Fault::Empty); 3];
    let stub = StubJudge::new(StubOptions { script, ..StubOptions::default() });
    let mut own = options();
    own.retry.unreadable_reasks = 3;
    let judge_one = judge(&stub, own);
    judge_one.verdict(&question("Curie was born in 1867."), None).await.unwrap();
    let last = stub.requests().pop().unwrap();
    assert!(last["response_format"].is_null(), "{last}");

    let capabilities =
        Capabilities { answer_format: AnswerFormat::Text, ..StubOptions::default().capabilities };
    let stub = StubJudge::new(StubOptions { capabilities, ..StubOptions::default() });
    let judged = judge(&stub, options()).verdict(&question("Curie was born in 1867."), None).await.unwrap();
    assert_eq!((judged.value.label, judged.usage.calls), (JudgeLabel::Supported, 2));
}

#[tokio::test(start_paused = true)]
async fn votes_are_taken_in_the_grey_zone_alone_and_stop_at_a_majority() {
    let stub = StubJudge::new(StubOptions::default());
    let judge_one = judge(&stub, options());
    // Three of four words are in the source: the stub is half sure, and says so with log probabilities.
    let grey = judge_one.verdict(&question("Curie was born in Warsaw joyfully"), None).await.unwrap();
    assert_eq!((grey.value.votes, grey.usage.calls), (2, 2));
    assert_eq!(grey.value.basis, Some(ProbabilityBasis::Logprobs));
    let sure = judge_one.verdict(&question("Curie was born in Warsaw"), None).await.unwrap();
    assert_eq!(sure.value.votes, 1);

    let no_logprobs = Capabilities { logprobs: false, ..StubOptions::default().capabilities };
    let stub = StubJudge::new(StubOptions { capabilities: no_logprobs, ..StubOptions::default() });
    let judge_two = judge(&stub, JudgeOptions { capabilities: Some(no_logprobs), ..options() });
    for (prior, votes) in [(None, 1), (Some(0.1), 1), (Some(0.5), 2), (Some(0.95), 1)] {
        let question =
            VerdictQuestion { prior_support_probability: prior, ..question("Curie was born in 1867.") };
        let judged = judge_two.verdict(&question, None).await.unwrap();
        assert_eq!(judged.value.votes, votes, "{prior:?}");
        if votes > 1 {
            assert_eq!(judged.value.basis, Some(ProbabilityBasis::Votes));
            assert_eq!(judged.value.probabilities.unwrap().supported, Probability::ONE);
        }
    }
    let temperatures =
        stub.requests().iter().map(|request| request["temperature"].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(temperatures, [0.0, 0.0, 0.7], "those outside of the grey zone are one question, kept");
}

#[tokio::test(start_paused = true)]
async fn later_votes_see_the_passages_in_another_order() {
    let stub = StubJudge::new(StubOptions::default());
    let question = VerdictQuestion {
        passages: vec!["Alpha one.".to_owned(), "Curie was born in Warsaw.".to_owned()],
        claim: "Curie was born in Warsaw joyfully".to_owned(),
        ..VerdictQuestion::default()
    };
    let judged = judge(&stub, options()).verdict(&question, None).await.unwrap();
    assert_eq!(judged.value.quoted_passage, Some(1), "of the question's order");
    let firsts = stub.requests().into_iter().map(|request| {
        let user = request["messages"][1]["content"].as_str().unwrap().to_owned();
        user.find("Alpha").unwrap() < user.find("Warsaw").unwrap()
    });
    assert_eq!(firsts.collect::<Vec<_>>(), [true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_verdict_with_a_made_up_quote_is_no_verdict() {
    let stub = StubJudge::new(StubOptions { persona: Persona::Obedient, ..StubOptions::default() });
    let claim = "Einstein liked sailing.";
    let judged = judge(&stub, options()).verdict(&question(claim), None).await.unwrap().value;
    assert_eq!((judged.label, judged.is_downgraded), (JudgeLabel::Unsupported, true));
    assert_eq!((judged.probabilities, judged.quoted_passage), (None, None));
    let mut trusting = options();
    trusting.verdict.require_quote = false;
    let judged = judge(&stub, trusting).verdict(&question(claim), None).await.unwrap().value;
    assert_eq!((judged.label, judged.is_downgraded), (JudgeLabel::Supported, false));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_about_nothing_or_about_too_much() {
    let stub = StubJudge::new(StubOptions::default());
    let judge = judge(&stub, JudgeOptions { max_input_bytes: 200, ..options() });
    for claim in ["", ":", "Thought process:", "..."] {
        let failure = judge.verdict(&question(claim), None).await.unwrap_err();
        assert_eq!(failure.code(), Code::JUDGE_NOTHING_TO_JUDGE);
    }
    let failure = judge.verdict(&question(&"long ".repeat(50)), None).await.unwrap_err();
    assert_eq!(failure.code(), Code::JUDGE_TEXT_TOO_LONG);
    let no_source = VerdictQuestion { passages: vec![" ".to_owned()], ..question("Curie was born.") };
    assert_eq!(judge.verdict(&no_source, None).await.unwrap_err().code(), Code::JUDGE_NOTHING_TO_JUDGE);
    assert_eq!(stub.seen().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_with_more_time_does_not_inherit_anothers_deadline() {
    let stub = StubJudge::new(StubOptions { latency: Duration::from_secs(2), ..StubOptions::default() });
    let judge = judge(&stub, options());
    let question = question("Curie was born in 1867.");
    let soon = Instant::now() + Duration::from_secs(1);
    let (hasty, patient) = tokio::join!(judge.verdict(&question, Some(soon)), judge.verdict(&question, None));
    assert_eq!(hasty.unwrap_err().code(), Code::JUDGE_DEADLINE);
    assert_eq!(patient.unwrap().value.label, JudgeLabel::Supported);
}

/// A backend that says each of its verdicts once.
#[derive(Debug)]
struct Fickle(std::sync::atomic::AtomicUsize);

impl crate::Transport for Fickle {
    fn send(
        &self,
        _: crate::Outgoing,
    ) -> futures_util::future::BoxFuture<'_, Result<crate::Incoming, TransportError>> {
        let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let label = JudgeLabel::ALL[number % 3].as_str();
        let content =
            serde_json::json!({"reason": "x", "quote": "Marie Curie", "verdict": label}).to_string();
        let body = serde_json::json!({"choices": [{"message": {"content": content}}]}).to_string();
        Box::pin(std::future::ready(Ok(crate::Incoming {
            status: 200,
            body: body.into(),
            ..Default::default()
        })))
    }
}

#[tokio::test(start_paused = true)]
async fn votes_without_a_majority_are_no_verdict() {
    let fickle = std::sync::Arc::new(Fickle(Default::default()));
    let judge = Judge::with_transport(options(), fickle, Randomness::seeded(1)).unwrap();
    let question = VerdictQuestion { prior_support_probability: Some(0.5), ..question("Curie was born.") };
    let failure = judge.verdict(&question, None).await.unwrap_err();
    assert_eq!((failure.code(), failure.usage.calls), (Code::JUDGE_DISAGREES, 3));
}
