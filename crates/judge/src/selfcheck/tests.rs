use super::*;

#[test]
fn answers_are_read_by_how_they_begin_as_the_reference_does() {
    use SelfCheckAnswer::{Neither, No, Yes};
    for (text, answer) in [
        ("Yes", Yes),
        (" yes, because", Yes),
        ("YES.", Yes),
        ("No", No),
        ("no.", No),
        ("Not sure", No),
        ("None", No),
        ("Maybe", Neither),
        ("I know", Neither),
        ("The answer is yes", Neither),
    ] {
        assert_eq!(SelfCheckAnswer::read(text), answer, "{text}");
    }
}

#[test]
fn the_score_is_the_mean_over_samples_and_more_is_worse() {
    use SelfCheckAnswer::{Neither, No, Yes};
    assert_eq!(selfcheck_inconsistency(&[Yes, Yes, No, Neither]), Some(0.375));
    assert_eq!(selfcheck_inconsistency(&[Yes]), Some(0.0));
    assert_eq!(selfcheck_inconsistency(&[]), None);
}

fn judge(stub: &crate::stub::StubJudge, prompt: SelfCheckPrompt) -> Judge {
    let mut options = crate::JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        capabilities: Some(crate::Capabilities::default()),
        ..crate::JudgeOptions::default()
    };
    options.selfcheck.prompt = prompt;
    Judge::with_transport(options, stub.transport(), crate::Randomness::seeded(1)).unwrap()
}

fn stub(script: Vec<Option<crate::stub::Fault>>) -> crate::stub::StubJudge {
    crate::stub::StubJudge::new(crate::stub::StubOptions { script, ..Default::default() })
}

fn question(sentence: &str) -> SelfCheckQuestion {
    SelfCheckQuestion { sentence: sentence.to_owned(), sample: "Marie Curie was\nborn in 1867.".to_owned() }
}

#[tokio::test(start_paused = true)]
async fn both_prompts_bring_yes_and_no_over_the_same_way() {
    for prompt in [SelfCheckPrompt::Fenced, SelfCheckPrompt::Reference] {
        let stub = stub(vec![]);
        let judge = judge(&stub, prompt);
        let yes = judge.selfcheck(&question("Curie was born in 1867."), None).await.unwrap();
        let no = judge.selfcheck(&question("Curie was born in 1868."), None).await.unwrap();
        assert_eq!((yes.value, no.value), (SelfCheckAnswer::Yes, SelfCheckAnswer::No));
        let request = &stub.requests()[0];
        assert_eq!((request["max_tokens"].as_u64(), request["temperature"].as_f64()), (Some(5), Some(0.0)));
        let user =
            request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        assert!(user.contains("Marie Curie was born in 1867."), "newlines are spaces: {user}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_or_an_empty_answer_is_a_failure_and_prose_is_half() {
    use crate::stub::Fault;
    for (faults, code) in [
        (vec![Some(Fault::Refusal)], Code::JUDGE_REFUSED),
        (vec![Some(Fault::Empty); 2], Code::JUDGE_UNREADABLE),
    ] {
        let stub = stub(faults);
        let judge = judge(&stub, SelfCheckPrompt::Fenced);
        let failure = judge.selfcheck(&question("Curie was born."), None).await.unwrap_err();
        assert_eq!(failure.code(), code);
    }
    let stub = stub(vec![Some(Fault::Prose)]);
    let judged =
        judge(&stub, SelfCheckPrompt::Fenced).selfcheck(&question("Curie was born."), None).await.unwrap();
    assert_eq!(judged.value, SelfCheckAnswer::Neither);
    let nothing = judge(&stub, SelfCheckPrompt::Fenced).selfcheck(&question("..."), None).await.unwrap_err();
    assert_eq!(nothing.code(), Code::JUDGE_NOTHING_TO_JUDGE);
}
