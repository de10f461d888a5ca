use super::*;
use crate::testing::{check_of, facts, judged, run_judged};
use groundline_types::JudgeCost;

fn detector() -> JudgeVerdicts {
    JudgeVerdicts::new(&DetectorOptions::default())
}

fn said(verdict: Verdict, quote: Option<&str>) -> Judgement {
    Judgement {
        verdict,
        probabilities: None,
        reason: "Because.".to_owned(),
        quote: quote.map(str::to_owned),
        quoted_passage: quote.map(|_| 0),
        is_downgraded: false,
        votes: 1,
    }
}

fn verdict(verdict: Verdict) -> Answered {
    judged(Outcome::Scored(Answer::Verdict(said(verdict, None))))
}

fn claim_of(question: &Question) -> &str {
    let Question::Verdict { claim, .. } = question else { panic!("it asks for verdicts") };
    claim
}

fn finding(report: &Report, claim: usize) -> &ClaimFinding {
    report.claims[claim].scored().unwrap()
}

#[test]
fn each_claim_is_one_question_with_the_whole_sources_and_the_question_as_context() {
    let mut check =
        check_of(&[&["It is red.", "It is old."], &["It is large."]], &["It is red.", "It is new."]);
    let mut request = (*check.request).clone();
    request.question = Some("How is it?".to_owned());
    check.request = Arc::new(request);
    let (report, rounds) = run_judged(&mut detector(), &Arc::new(check), |question| {
        verdict(if claim_of(question).contains("red") { Verdict::Supported } else { Verdict::Contradicted })
    });
    let expected = Question::Verdict {
        passages: vec!["It is red. It is old.".into(), "It is large.".into()],
        claim: "It is red.".into(),
        question: Some("How is it?".into()),
        earlier_support_probability: None,
    };
    assert_eq!((rounds.len(), &rounds[0][0]), (1, &expected));
    let context = |at: usize| match &rounds[0][at] {
        Question::Verdict { question, .. } => question.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert!(Arc::ptr_eq(&context(0), &context(1)), "a large question is held once");
    let p = |value: f32| Probability::new(value).unwrap().get();
    let of = |claim: usize| finding(&report, claim);
    assert_eq!(of(0).support.unwrap().get(), p(0.9), "a verdict without probabilities counts as configured");
    assert_eq!(of(1).contradiction.unwrap().get(), p(0.9));
    assert!((of(1).support.unwrap().get() - 0.05).abs() < 1e-6, "a contradiction is no support");
    assert_eq!(of(0).remark.as_deref(), Some("Because."));
    assert!((report.score.scored().unwrap().value - 0.05).abs() < 1e-6);
}

#[test]
fn the_evidence_is_the_sentence_that_is_quoted_and_its_probabilities_are_the_judges() {
    let check = Arc::new(check_of(&[&["The bridge is red.", "It opened in 1903."]], &["It opened in 1903."]));
    let shares = [0.6_f32, 0.1, 0.3].map(|value| Probability::new(value).unwrap());
    let judgement = Judgement {
        probabilities: Some(shares),
        votes: 3,
        ..said(Verdict::Supported, Some("opened in 1903"))
    };
    let answer = judged(Outcome::Scored(Answer::Verdict(judgement)));
    let (report, _) = run_judged(&mut detector(), &check, |_| answer.clone());
    let found = finding(&report, 0);
    assert_eq!(found.evidence.iter().map(|pick| (pick.source, pick.sentence)).collect::<Vec<_>>(), [(0, 1)]);
    assert_eq!(
        (found.support, found.contradiction, found.neutral),
        (Some(shares[0]), Some(shares[1]), Some(shares[2]))
    );
    assert_eq!(found.extra.get("votes"), Some(&3.0));
    assert!(!found.extra.contains_key("without_probabilities"));
}

#[test]
fn a_refusal_is_no_verdict_and_is_noted_and_counted() {
    let check = Arc::new(check_of(&[&["It is red."]], &["It is red.", "It is new.", "It is old."]));
    let refusal = judged(Outcome::Failed(Reason::new(Code::JUDGE_REFUSED, "refused")));
    let (report, _) = run_judged(&mut detector(), &check, |question| match claim_of(question) {
        "It is new." => refusal.clone(),
        _ => verdict(Verdict::Supported),
    });
    assert!(matches!(&report.claims[1], Outcome::Failed(reason) if reason.code == Code::JUDGE_REFUSED));
    assert!((report.score.scored().unwrap().value - 0.9).abs() < 1e-6, "what failed is in no number");
    let [(code, message)] = &report.notes[..] else { panic!("{:?}", report.notes) };
    assert_eq!(*code, Code::JUDGE_REFUSED);
    assert!(message.starts_with("1 of 3 questions"), "{message}");
    for (name, value) in
        [("questions", 3.0), ("calls", 3.0), ("input_tokens", 300.0), ("output_tokens", 30.0), ("cost", 1.5)]
    {
        assert_eq!(report.extra.get(name), Some(&value), "{name}");
    }
}

#[test]
fn answers_that_never_come_or_are_of_another_kind_fail_their_claims() {
    let check = Arc::new(check_of(&[&["It is red."]], &["It is red.", "It is new."]));
    let mut detector = detector();
    let Next::Ask(questions) = detector.start(&check, &facts()) else { panic!("there is something to ask") };
    assert_eq!((questions.len(), detector.planned_questions()), (2, 2));
    let Next::Done(report) = detector.hear(&[judged(Outcome::Scored(Answer::Inconsistency(0.0)))]) else {
        panic!("one round is all")
    };
    let failed = |outcome: &Outcome<ClaimFinding>| matches!(outcome, Outcome::Failed(reason) if reason.code == Code::INTERNAL);
    assert!(report.claims.iter().all(failed), "{:?}", report.claims);
    assert!(report.score.scored().is_none());
}

#[test]
fn after_a_first_stage_only_the_open_claims_are_asked_with_what_it_found() {
    let check = Arc::new(check_of(&[&["It is red."]], &["It is red.", "It is new."]));
    let half = Probability::new(0.5);
    let mut detector = detector();
    detector.begin_after(&Arc::new(EarlierFindings {
        support_probabilities: vec![Probability::new(0.95), half],
        is_grey: vec![false, true],
    }));
    let (report, rounds) = run_judged(&mut detector, &check, |_| verdict(Verdict::Supported));
    let [questions] = &rounds[..] else { panic!("one round") };
    assert_eq!(questions.iter().map(claim_of).collect::<Vec<_>>(), ["It is new."]);
    let Question::Verdict { earlier_support_probability, .. } = &questions[0] else { panic!("a verdict") };
    assert_eq!(*earlier_support_probability, half);
    assert!(matches!(&report.claims[0], Outcome::Abstained(reason) if reason.code == Code::POLICY_STAGE));
}

#[test]
fn long_sources_are_shown_in_the_windows_nearest_to_the_claim_and_a_note_says_so() {
    let filler = "Nothing of interest happened in that long and quiet year of the town.";
    let mut sentences = vec![filler; 40];
    sentences[30] = "The Warnow bridge opened in 1903 with a parade.";
    let check = Arc::new(check_of(&[&sentences], &["The Warnow bridge opened in 1903."]));
    let options = DetectorOptions {
        judge: JudgeMethodOptions { passage_bytes: 300, ..JudgeMethodOptions::default() },
        ..DetectorOptions::default()
    };
    let (report, rounds) =
        run_judged(&mut JudgeVerdicts::new(&options), &check, |_| verdict(Verdict::Supported));
    let Question::Verdict { passages, .. } = &rounds[0][0] else { panic!("a verdict") };
    assert!(passages[0].contains("Warnow"), "{passages:?}");
    assert!(passages.iter().map(|passage| passage.len()).sum::<usize>() <= 300);
    assert!(report.notes.iter().any(|(code, _)| *code == Code::JUDGE_TEXT_TOO_LONG), "{:?}", report.notes);
}

#[test]
fn without_a_source_or_a_claim_nothing_is_asked() {
    for check in [check_of(&[], &["It is red."]), check_of(&[&["It is red."]], &[])] {
        let (report, rounds) = run_judged(&mut detector(), &Arc::new(check), |_| panic!("nothing to ask"));
        assert!(rounds.is_empty() && report.score.scored().is_none());
        assert_eq!(report.extra.get("questions"), Some(&0.0));
    }
    let free = JudgeCost::default();
    assert_eq!((free.tokens(), free.calls), (0, 0));
}
