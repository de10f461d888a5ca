use super::*;
use crate::testing::{check_of, embedding, facts, logits, planned_items, run, scorer};
use groundline_types::{Answer, AtomicFact, EvidencePick, Span};
use proptest::prelude::*;

fn detector() -> Entailment {
    Entailment::new(&DetectorOptions::default())
}

fn finding(report: &Report, claim: usize) -> &ClaimFinding {
    report.claims[claim].scored().unwrap()
}

fn places(finding: &ClaimFinding) -> Vec<(usize, usize)> {
    finding.evidence.iter().map(|pick: &EvidencePick| (pick.source, pick.sentence)).collect()
}

fn near(probability: Option<groundline_types::Probability>, expected: f32) -> bool {
    probability.is_some_and(|probability| (probability.get() - expected).abs() < 1e-4)
}

#[test]
fn the_source_is_the_premise_and_the_claim_the_hypothesis() {
    let check = Arc::new(check_of(&[&["a terrier barked"]], &["a dog barked"]));
    let narrow_to_wide = |premise: &str, hypothesis: &str| {
        if (premise, hypothesis) == ("a terrier barked", "a dog barked") { (0.95, 0.01) } else { (0.0, 0.9) }
    };
    let (report, _) = run(&mut detector(), &check, scorer(narrow_to_wide));
    assert!(near(finding(&report, 0).support, 0.95));
    let turned = Arc::new(check_of(&[&["a dog barked"]], &["a terrier barked"]));
    let (report, _) = run(&mut detector(), &turned, scorer(narrow_to_wide));
    assert!(near(finding(&report, 0).support, 0.0));
}

#[test]
fn support_is_the_best_of_sentences_and_windows_of_all_sources() {
    let check = Arc::new(check_of(&[&["one", "two"], &["three", "four"]], &["first claim", "second claim"]));
    let answer = |premise: &str, hypothesis: &str| match (premise, hypothesis) {
        ("three four", "first claim") => (0.8, 0.1),
        ("two", "second claim") => (0.7, 0.1),
        _ => (0.1, 0.1),
    };
    let (report, _) = run(&mut detector(), &check, scorer(answer));
    assert!(near(finding(&report, 0).support, 0.8) && near(finding(&report, 1).support, 0.7));
    assert!(near(finding(&report, 0).neutral, 0.1) && near(finding(&report, 1).neutral, 0.2));
    // The window's sentences explain the first, the sentence itself the second.
    assert_eq!(places(finding(&report, 0))[..2], [(1, 0), (1, 1)]);
    assert_eq!(places(finding(&report, 1))[0], (0, 1));
    assert!((report.score.scored().unwrap().value - 0.7).abs() < 1e-4);
}

#[test]
fn only_near_evidence_may_contradict() {
    let source = [
        "cats sleep all day",
        "cats sleep at night",
        "cats sleep well",
        "bread is brown",
        "rain is wet",
        "fire is hot",
    ];
    let check = Arc::new(check_of(&[&source], &["cats sleep little"]));
    let far = |premise: &str, _: &str| if premise.contains("fire") { (0.0, 0.99) } else { (0.1, 0.2) };
    let (report, _) = run(&mut detector(), &check, scorer(far));
    assert!(near(finding(&report, 0).contradiction, 0.2), "{:?}", finding(&report, 0));
    let close =
        |premise: &str, _: &str| if premise == "cats sleep all day" { (0.0, 0.99) } else { (0.1, 0.2) };
    let (report, _) = run(&mut detector(), &check, scorer(close));
    assert!(near(finding(&report, 0).contradiction, 0.99));
    assert_eq!(places(finding(&report, 0))[0], (0, 0));
    assert_eq!(places(finding(&report, 0)).len(), 3);
}

#[test]
fn a_pair_without_a_score_fails_its_claim_and_no_other() {
    let check = Arc::new(check_of(&[&["one", "two"]], &["first claim", "second claim"]));
    let mut good = scorer(|_, _| (0.8, 0.1));
    let (report, _) = run(&mut detector(), &check, |work| match work {
        Work::Pair { premise, hypothesis, .. }
            if &**premise == "one two" && &**hypothesis == "first claim" =>
        {
            Outcome::Failed(Reason::new(Code::DEADLINE, "too late"))
        }
        work => good(work),
    });
    assert_eq!(report.claims[0].reason().unwrap().code, Code::DEADLINE);
    assert!(near(finding(&report, 1).support, 0.8));
}

#[test]
fn a_missing_embedding_of_evidence_is_noted_and_one_of_a_claim_fails_the_claim() {
    let check = Arc::new(check_of(&[&["one", "two"]], &["first claim", "second claim"]));
    let mut good = scorer(|_, _| (0.8, 0.1));
    let mut failing = |lost: &'static str| {
        let (report, _) = run(&mut detector(), &check, |work| match work {
            Work::Embed { text } if &**text == lost => {
                Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up"))
            }
            work => good(work),
        });
        report
    };
    let report = failing("two");
    assert!(near(finding(&report, 0).support, 0.8));
    assert_eq!(report.notes[0].0, Code::JOB_DEAD);
    let report = failing("first claim");
    assert_eq!(report.claims[0].reason().unwrap().code, Code::JOB_DEAD);
    assert!(near(finding(&report, 1).support, 0.8));
}

#[test]
fn rounds_are_bounded_and_reach_the_grid_with_summac() {
    let options = DetectorOptions { pairs_per_round: 6, ..DetectorOptions::default() };
    let source = ["one", "two", "three", "four", "five"];
    let check = Arc::new(check_of(&[&source], &["first claim", "second claim", "third claim"]));
    let mut entailment = Entailment::new(&options);
    let planned = planned_items(Entailment::new(&options), &check);
    let (report, rounds) = run(&mut entailment, &check, scorer(|_, _| (0.8, 0.1)));
    assert!(rounds.iter().all(|round| round.len() <= 6));
    assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), planned);
    assert_eq!(report.work_items, planned);
    let (_, grid) = run(&mut crate::summac::Summac::new(&options), &check, scorer(|_, _| (0.8, 0.1)));
    for (ours, theirs) in rounds.iter().zip(&grid) {
        assert!(theirs.iter().all(|work| ours.contains(work)), "the same pairs come in the same round");
    }
    assert!((0..3).all(|claim| near(finding(&report, claim).support, 0.8)));
}

#[test]
fn claims_longer_than_the_model_fail_before_any_work() {
    let long = vec!["word"; 70].join(" ");
    let check = Arc::new(check_of(&[&["one", "two"]], &[&long, "second claim"]));
    let (report, rounds) = run(&mut detector(), &check, scorer(|_, _| (0.8, 0.1)));
    assert_eq!(report.claims[0].reason().unwrap().code, Code::CLAIM_TOO_LONG);
    assert!(near(finding(&report, 1).support, 0.8));
    let about_long = |work: &Work| matches!(work, Work::Pair { hypothesis, .. } if **hypothesis == *long);
    assert!(!rounds.iter().flatten().any(about_long));
}

#[test]
fn facts_meet_the_evidence_of_their_sentence_and_the_windows() {
    let mut check = check_of(
        &[&["cats sleep", "dogs run", "fish swim", "birds fly"]],
        &["cats sleep and dogs run", "fish swim"],
    );
    let fact = |text: &str| AtomicFact { text: text.into(), span: Span::new(0, 1) };
    check.claims[0].facts = vec![fact("cats sleep now"), fact("dogs run now")];
    check.claims[1].facts = vec![fact("fish swim")];
    let mut request = (*check.request).clone();
    request.facts = true;
    check.request = Arc::new(request);
    let check = Arc::new(check);
    let answer = |premise: &str, hypothesis: &str| match hypothesis {
        "cats sleep now" if premise.contains("cats") => (0.9, 0.0),
        "dogs run now" => (0.2, 0.1),
        "fish swim" if premise.contains("fish") => (0.95, 0.0),
        _ => (0.3, 0.1),
    };
    let planned = planned_items(detector(), &check);
    let (report, _) = run(&mut detector(), &check, scorer(answer));
    assert_eq!(report.work_items, planned);
    let of = |claim: usize, fact: usize| report.facts[claim][fact].scored().unwrap();
    assert!(near(of(0, 0).support, 0.9) && near(of(0, 1).support, 0.2));
    assert_eq!(of(1, 0), finding(&report, 1), "a fact that is its whole sentence has its finding");
    let mut without = (*check).clone();
    without.request = Arc::new(groundline_types::CheckRequest::new("x", "y"));
    assert!(run(&mut detector(), &Arc::new(without), scorer(answer)).0.facts.is_empty());
}

/// A small model that stumbles over notation: only a word for word equal claim is entailed, any other is contradicted.
fn literal(premise: &str, hypothesis: &str) -> (f32, f32) {
    if premise.contains(hypothesis) { (0.97, 0.01) } else { (0.02, 0.95) }
}

#[test]
fn another_notation_of_the_same_value_is_no_contradiction() {
    for (evidence, claim) in [
        ("It opened on 12 May 1903.", "It opened on 1903-05-12."),
        ("The city has 3.4 million residents.", "The city has 3,400,000 residents."),
        ("The city has 3,400,000 residents.", "The city has 3.4 million residents."),
    ] {
        let check = Arc::new(check_of(&[&["Bread is brown.", evidence]], &[claim]));
        let planned = planned_items(detector(), &check);
        let (report, rounds) = run(&mut detector(), &check, scorer(literal));
        let found = finding(&report, 0);
        assert!(near(found.support, 0.97), "{claim}: {found:?}");
        // Bread is farther than the sentence that supports.
        assert!(near(found.contradiction, 0.01), "{claim}: {found:?}");
        assert_eq!(places(found)[0], (0, 1));
        assert!((found.evidence[0].probabilities.entailment.get() - 0.97).abs() < 1e-4);
        // The sentence and the window that holds it, in a round of their own.
        assert_eq!((report.work_items, rounds.last().unwrap().len()), (planned + 2, 2));
        let as_asked = Work::Pair {
            premise: evidence.into(),
            hypothesis: evidence.into(),
            head: groundline_types::Head::Nli,
        };
        assert!(rounds.last().unwrap().contains(&as_asked), "{claim}");
    }
}

#[test]
fn another_value_or_a_finer_one_stays_as_the_model_has_it() {
    for (evidence, claim) in [
        ("It opened on 13 May 1903.", "It opened on 1903-05-12."),
        ("It opened in 1903.", "It opened in May 1903."),
        ("The city has 3.4 million residents.", "The city has 3,412,345 residents."),
    ] {
        let check = Arc::new(check_of(&[&[evidence, "Bread is brown."]], &[claim]));
        let planned = planned_items(detector(), &check);
        let (report, _) = run(&mut detector(), &check, scorer(literal));
        assert!(near(finding(&report, 0).contradiction, 0.95), "{claim}");
        assert_eq!(report.work_items, planned, "nothing more is asked");
    }
}

#[test]
fn notations_are_asked_in_bounded_rounds_and_leave_the_matrix_and_other_claims_alone() {
    let options = DetectorOptions { pairs_per_round: 4, ..DetectorOptions::default() };
    let source = ["It opened on 12 May 1903.", "It has 3.4 million residents.", "It is old."];
    let claims = ["It opened on 1903-05-12.", "It is old.", "It has 3,400,000 residents."];
    let mut check = check_of(&[&source], &claims);
    let mut request = (*check.request).clone();
    request.matrix = true;
    request.methods = vec!["entailment".to_owned()];
    check.request = Arc::new(request);
    let (report, rounds) = run(&mut Entailment::new(&options), &Arc::new(check), scorer(literal));
    assert!(rounds.iter().all(|round| round.len() <= 4));
    assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), report.work_items);
    assert!((0..3).all(|claim| near(finding(&report, claim).support, 0.97)), "{:?}", report.claims);
    let matrix = report.matrix.unwrap();
    assert!(
        near(matrix.get(0, 0).map(|entry| entry.entailment), 0.02),
        "the published grid has the claim's own words"
    );
    let mut good = scorer(literal);
    let check = Arc::new(check_of(&[&source], &claims));
    let (report, _) = run(&mut Entailment::new(&options), &check, |work| match work {
        Work::Pair { hypothesis, .. } if &**hypothesis == "It has 3.4 million residents." => {
            Outcome::Failed(Reason::new(Code::DEADLINE, "too late"))
        }
        work => good(work),
    });
    assert_eq!(report.claims[2].reason().unwrap().code, Code::DEADLINE, "what is missing could hide support");
    assert!((0..2).all(|claim| near(finding(&report, claim).support, 0.97)));
}

#[test]
fn a_claim_that_is_too_long_in_another_notation_is_asked_in_its_own_words_alone() {
    // 64 tokens less 3 less the longest window leave 35 words for the claim; the variant would have 36.
    let evidence = format!("It opened on 12 May 1903 {}.", vec!["so"; 20].join(" "));
    let claim = format!("It opened on 1903-05-12 {}.", vec!["so"; 30].join(" "));
    let check = Arc::new(check_of(&[&[&evidence]], &[&claim]));
    let planned = planned_items(detector(), &check);
    let (report, _) = run(&mut detector(), &check, scorer(literal));
    assert!(near(finding(&report, 0).contradiction, 0.95));
    assert_eq!(report.work_items, planned);
}

fn with_fact(mut check: PreparedCheck, text: &str) -> Arc<PreparedCheck> {
    check.claims[0].facts = vec![AtomicFact { text: text.into(), span: Span::new(0, 1) }];
    let mut request = (*check.request).clone();
    request.facts = true;
    check.request = Arc::new(request);
    Arc::new(check)
}

#[test]
fn evidence_nearer_to_a_fact_than_its_support_may_contradict_it() {
    let source =
        ["cats sleep in the house and dogs run", "dogs never run fast today", "fish swim", "birds fly"];
    let check =
        with_fact(check_of(&[&source], &["cats sleep and dogs run fast today"]), "dogs run fast today");
    let answer = |premise: &str, hypothesis: &str| match (premise, hypothesis) {
        ("cats sleep in the house and dogs run", _) => (0.8, 0.0),
        ("dogs never run fast today", "dogs run fast today") => (0.0, 0.95),
        _ => (0.1, 0.1),
    };
    let (report, _) = run(&mut detector(), &check, scorer(answer));
    assert_eq!(places(finding(&report, 0))[0], (0, 0), "the sentence's evidence is led by its support");
    let fact = report.facts[0][0].scored().unwrap();
    assert!(near(fact.support, 0.8) && near(fact.contradiction, 0.95), "{fact:?}");
    assert_eq!(places(fact)[0], (0, 1));
}

#[test]
fn facts_are_asked_in_the_notation_of_their_evidence() {
    let source = ["It opened on 12 May 1903.", "Bread is brown."];
    let check =
        with_fact(check_of(&[&source], &["It opened on 1903-05-12 and is big."]), "It opened on 1903-05-12.");
    let planned = planned_items(detector(), &check);
    let (report, _) = run(&mut detector(), &check, scorer(literal));
    let fact = report.facts[0][0].scored().unwrap();
    assert!(near(fact.support, 0.97) && near(fact.contradiction, 0.01), "{fact:?}");
    // Two more for the sentence, none for the fact.
    assert_eq!(report.work_items, planned + 2);
}

#[test]
fn resuming_before_the_start_or_with_too_few_outcomes_is_a_failure_and_no_panic() {
    let Next::Done(report) = detector().resume(&[]) else { panic!("there is nothing to ask") };
    assert!(matches!(report.score, Outcome::Failed(_)));
    let mut detector = detector();
    let check = Arc::new(check_of(&[&["one"]], &["a claim"]));
    let Next::Work(_) = detector.start(&check, &facts()) else { panic!("there is work") };
    let Next::Done(report) = detector.resume(&[]) else { panic!("one round is all") };
    assert_eq!(report.claims[0].reason().unwrap().code, Code::INTERNAL);
}

fn any_outcome() -> impl Strategy<Value = Outcome<Score>> {
    let number = prop_oneof![4 => -20.0_f32..20.0, 1 => Just(f32::NAN), 1 => Just(f32::INFINITY)];
    prop_oneof![
        6 => (0.0_f32..0.5, 0.0_f32..0.5).prop_map(|(e, c)| logits(e, c)),
        4 => "[a-c ]{1,8}".prop_map(|text| embedding(&text)),
        2 => proptest::collection::vec(number.clone(), 0..5).prop_map(|v| Outcome::Scored(Score::Logits(v.into()))),
        2 => proptest::collection::vec(number, 0..5).prop_map(|v| Outcome::Scored(Score::Embedding(v.into()))),
        1 => Just(Outcome::Abstained(Reason::new(Code::EMPTY_SOURCE, "nothing"))),
        1 => Just(Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up"))),
    ]
}

fn assert_sane(report: &Report) {
    if let Outcome::Scored(score) = &report.score {
        assert!(score.value.is_finite());
    }
    assert!(report.extra.values().all(|value| value.is_finite()));
    let findings = report.claims.iter().chain(report.facts.iter().flatten()).filter_map(Outcome::scored);
    for finding in findings {
        assert!(finding.evidence.len() <= PICKS);
        let all = [finding.support, finding.contradiction, finding.neutral];
        assert!(all.iter().all(Option::is_some) || all.iter().all(Option::is_none));
    }
}

proptest! {
    #[test]
    fn any_outcomes_end_in_a_report_without_nan(
        outcomes in proptest::collection::vec(any_outcome(), 1..40),
        rounds in proptest::collection::vec(0_usize..12, 1..60),
        facts_asked: bool,
    ) {
        let mut check = check_of(&[&["one", "two 2", "three"], &["four"]], &["a claim", "claim 3", "more"]);
        check.claims[0].facts = vec![AtomicFact { text: "a fact".into(), span: Span::new(0, 1) }];
        let mut request = (*check.request).clone();
        (request.facts, request.matrix) = (facts_asked, true);
        check.request = Arc::new(request);
        let check = Arc::new(check);
        let options = DetectorOptions { pairs_per_round: 7, ..DetectorOptions::default() };
        for info in crate::methods() {
            let mut detector = crate::create(info.name, &options).unwrap();
            let mut next = detector.start(&check, &facts());
            let mut answers = outcomes.iter().cycle();
            let mut lengths = rounds.iter().cycle();
            for _ in 0..200 {
                match next {
                    Next::Done(_) => break,
                    Next::Work(work) => {
                        prop_assert!(!work.is_empty() && work.len() <= 7);
                        // Sometimes too few or too many.
                        let count = if lengths.next().unwrap() % 4 == 0 { *lengths.next().unwrap() } else { work.len() };
                        let answered: Vec<_> = answers.by_ref().take(count).cloned().collect();
                        next = detector.resume(&answered);
                    }
                    Next::Ask(questions) => {
                        // Sometimes too few, of either kind or none.
                        let count = *lengths.next().unwrap();
                        let answer = |at: usize| crate::testing::judged(match at % 3 {
                            0 => Outcome::Scored(Answer::Inconsistency(0.5)),
                            1 => Outcome::Failed(Reason::new(Code::JUDGE_REFUSED, "test")),
                            _ => Outcome::Scored(Answer::Inconsistency(f64::NAN)),
                        });
                        let answered: Vec<_> = (0..count.min(questions.len())).map(answer).collect();
                        next = detector.hear(&answered);
                    }
                }
            }
            let Next::Done(report) = next else { panic!("{} does not end", info.name) };
            prop_assert!(report.claims.is_empty() || report.claims.len() == check.claims.len());
            assert_sane(&report);
        }
    }

    #[test]
    fn more_evidence_never_lowers_support(
        source in proptest::collection::vec("[a-d]( [a-d]){0,3}", 1..6),
        added in "[a-d]( [a-d]){0,3}",
        scale in 1_u32..50,
    ) {
        let answer = |premise: &str, hypothesis: &str| {
            let hash = premise.bytes().chain(hypothesis.bytes()).fold(scale, |hash, byte| hash.wrapping_mul(31) + u32::from(byte));
            ((hash % 97) as f32 / 100.0, 0.01)
        };
        let support = |sentences: &[&str]| {
            let check = Arc::new(check_of(&[sentences], &["the claim"]));
            let (report, _) = run(&mut detector(), &check, scorer(answer));
            finding(&report, 0).support.unwrap().get()
        };
        let mut sentences: Vec<&str> = source.iter().map(String::as_str).collect();
        let before = support(&sentences);
        sentences.push(&added);
        // A sentence at the end adds windows and leaves those there are.
        if sentences.len() > 2 {
            prop_assert!(support(&sentences) >= before - 1e-6);
        }
    }
}
