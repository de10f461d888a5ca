use super::*;
use crate::stub::{Fault, StubJudge, StubOptions};
use crate::{Capabilities, JudgeOptions, Randomness};

fn options() -> JudgeOptions {
    JudgeOptions {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        model: "m".to_owned(),
        ..JudgeOptions::default()
    }
}

fn judge(stub: &StubJudge) -> Judge {
    Judge::with_transport(options(), stub.transport(), Randomness::seeded(1)).unwrap()
}

fn wanted(n: usize, seed: Option<u64>) -> SampleRequest {
    SampleRequest { system: None, prompt: "Who was Marie Curie?".to_owned(), n, temperature: 1.0, seed }
}

fn stub(n: bool, script: Vec<Option<Fault>>) -> StubJudge {
    // The probe takes five requests of its own.
    let script = std::iter::repeat_n(None, 5).chain(script).collect();
    let capabilities = Capabilities { n, ..StubOptions::default().capabilities };
    StubJudge::new(StubOptions { capabilities, script, ..StubOptions::default() })
}

#[tokio::test(start_paused = true)]
async fn a_backend_with_n_gives_all_samples_in_one_call_and_another_in_as_many_calls() {
    let with_n = stub(true, vec![]);
    let judged = judge(&with_n).sample(&wanted(4, None), None).await.unwrap();
    assert_eq!((judged.value.texts.len(), judged.usage.calls), (4, 5 + 1));
    let last = with_n.requests().pop().unwrap();
    assert_eq!((last["n"].as_u64(), last["temperature"].as_f64()), (Some(4), Some(1.0)));

    let without = stub(false, vec![]);
    let judged = judge(&without).sample(&wanted(4, Some(100)), None).await.unwrap();
    assert_eq!((judged.value.texts.len(), judged.usage.calls), (4, 5 + 4));
    let seeds = without
        .requests()
        .split_off(5)
        .iter()
        .map(|request| request["seed"].as_u64().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(seeds, [100, 101, 102, 103]);
}

#[tokio::test(start_paused = true)]
async fn samples_with_a_seed_are_kept_and_others_are_drawn_anew() {
    let backend = stub(true, vec![]);
    let judge = judge(&backend);
    judge.sample(&wanted(2, Some(1)), None).await.unwrap();
    let again = judge.sample(&wanted(2, Some(1)), None).await.unwrap();
    assert_eq!((again.usage.cache_hits, backend.seen().requests), (1, 6));
    for _ in 0..2 {
        judge.sample(&wanted(2, None), None).await.unwrap();
    }
    assert_eq!(backend.seen().requests, 8);
}

#[tokio::test(start_paused = true)]
async fn a_refused_sample_is_missing_and_none_at_all_is_a_failure() {
    let backend = stub(false, vec![None, Some(Fault::Refusal), Some(Fault::Filtered), Some(Fault::Empty)]);
    let samples = judge(&backend).sample(&wanted(4, None), None).await.unwrap().value;
    assert_eq!(samples.texts.len(), 1);
    assert_eq!(samples.missing, [Code::JUDGE_REFUSED, Code::JUDGE_REFUSED, Code::JUDGE_UNREADABLE]);

    let backend = stub(true, vec![Some(Fault::Refusal); 2]);
    let failure = judge(&backend).sample(&wanted(2, None), None).await.unwrap_err();
    assert_eq!(failure.code(), Code::JUDGE_REFUSED);
}

/// In real time: the clock of the call that hangs is not quite that of the drawing.
#[tokio::test]
async fn samples_that_came_are_kept_where_another_hangs_until_the_deadline() {
    let hangs = StubOptions {
        capabilities: Capabilities { n: false, ..StubOptions::default().capabilities },
        script: vec![None, Some(Fault::Hang), None],
        ..StubOptions::default()
    };
    let options = JudgeOptions { capabilities: Some(hangs.capabilities), ..options() };
    let backend = StubJudge::new(hangs);
    let judge = Judge::with_transport(options, backend.transport(), Randomness::seeded(1)).unwrap();
    let deadline = Instant::now() + std::time::Duration::from_millis(300);
    let judged = judge.sample(&wanted(3, Some(1)), Some(deadline)).await.unwrap();
    assert_eq!((judged.value.texts.len(), judged.value.missing), (2, vec![Code::JUDGE_DEADLINE]));
    assert_eq!(judged.usage.calls, 3, "the one that was cut off is counted");
    let again = judge.sample(&wanted(3, Some(1)), None).await.unwrap();
    assert_eq!(again.value.texts.len(), 3, "what is not whole is not kept");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_drawn_is_refused_before_anything_is_sent() {
    let backend = stub(true, vec![]);
    let judge = judge(&backend);
    let bad = [
        (wanted(0, None), Code::JUDGE_OPTIONS),
        (wanted(33, None), Code::JUDGE_OPTIONS),
        (SampleRequest { temperature: f64::NAN, ..wanted(1, None) }, Code::JUDGE_OPTIONS),
        (SampleRequest { prompt: " ".to_owned(), ..wanted(1, None) }, Code::JUDGE_NOTHING_TO_JUDGE),
        (SampleRequest { prompt: "x".repeat(70_000), ..wanted(1, None) }, Code::JUDGE_TEXT_TOO_LONG),
    ];
    for (request, code) in bad {
        assert_eq!(judge.sample(&request, None).await.unwrap_err().code(), code);
    }
    assert_eq!(backend.seen().requests, 0);
}

#[test]
fn thoughts_are_no_part_of_a_sample_and_a_cut_one_is_counted() {
    let choice =
        |text: &str, finish| Choice { text: text.to_owned(), is_refusal: false, finish, tokens: vec![] };
    let drawn = vec![
        Ok(choice("<think>hm</think> She was a physicist.", Finish::Stopped)),
        Ok(choice("She was", Finish::CutOff)),
        Ok(choice("<think>she", Finish::CutOff)),
    ];
    let samples = sorted(drawn).unwrap();
    assert_eq!(samples.texts, ["She was a physicist.", "She was"]);
    assert_eq!((samples.cut_off, samples.missing), (1, vec![Code::JUDGE_UNREADABLE]));
}
