use super::super::Entailment;
use crate::testing::{check_of, logits, run, scorer};
use crate::{Detector, DetectorOptions, Next};
use groundline_types::{
    AtomicFact, ClaimFinding, Code, Outcome, PreparedCheck, Reason, Report, Score, Span, Work,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

const SOURCE: [&str; 8] = [
    "cats sleep all day",
    "bread is brown",
    "rain is wet",
    "fire is hot",
    "cats sleep at night",
    "iron is hard",
    "snow is cold",
    "cats sleep well",
];

fn options(candidate_sentences: usize) -> DetectorOptions {
    DetectorOptions { candidate_sentences, ..DetectorOptions::default() }
}

fn detector(candidate_sentences: usize) -> Entailment {
    Entailment::new(&options(candidate_sentences))
}

fn finding(report: &Report, claim: usize) -> &ClaimFinding {
    report.claims[claim].scored().unwrap()
}

fn support(report: &Report, claim: usize) -> f32 {
    finding(report, claim).support.unwrap().get()
}

/// Premises that a claim was asked about.
fn premises<'a>(rounds: &'a [Vec<Work>], claim: &str) -> BTreeSet<&'a str> {
    let premise = |work: &'a Work| match work {
        Work::Pair { premise, hypothesis, .. } if &**hypothesis == claim => Some(&**premise),
        _ => None,
    };
    rounds.iter().flatten().filter_map(premise).collect()
}

/// The same with the request's methods, and its fields `facts` and `matrix`.
fn asking(mut check: PreparedCheck, methods: &[&str], facts: bool, matrix: bool) -> Arc<PreparedCheck> {
    let mut request = (*check.request).clone();
    request.methods = methods.iter().map(|name| (*name).to_owned()).collect();
    (request.facts, request.matrix) = (facts, matrix);
    check.request = Arc::new(request);
    Arc::new(check)
}

fn entailment_alone(source: &[&str], claims: &[&str]) -> Arc<PreparedCheck> {
    asking(check_of(&[source], claims), &["entailment"], false, false)
}

fn by_hash(scale: u32) -> impl Fn(&str, &str) -> (f32, f32) {
    move |premise, hypothesis| {
        let bytes = premise.bytes().chain(hypothesis.bytes());
        let hash = bytes.fold(scale, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
        ((hash % 50) as f32 / 100.0, (hash / 50 % 50) as f32 / 100.0)
    }
}

#[test]
fn a_claim_meets_its_nearest_sentences_and_the_windows_that_hold_one_of_them() {
    let check = entailment_alone(&SOURCE, &["cats sleep little", "fire is hot iron is hard snow is cold"]);
    let (report, rounds) = run(&mut detector(3), &check, scorer(|_, _| (0.2, 0.1)));
    let cats = [
        "cats sleep all day",
        "cats sleep at night",
        "cats sleep well",
        "cats sleep all day bread is brown",
        "fire is hot cats sleep at night",
        "cats sleep at night iron is hard",
        "snow is cold cats sleep well",
    ];
    assert_eq!(premises(&rounds, "cats sleep little"), BTreeSet::from(cats));
    let cold = [
        "fire is hot",
        "iron is hard",
        "snow is cold",
        "rain is wet fire is hot",
        "fire is hot cats sleep at night",
        "cats sleep at night iron is hard",
        "iron is hard snow is cold",
        "snow is cold cats sleep well",
    ];
    assert_eq!(premises(&rounds, "fire is hot iron is hard snow is cold"), BTreeSet::from(cold));
    let message = "compared each claim with the 3 nearest of 8 sentences: 15 of 30 pairs were scored";
    assert_eq!(report.notes, [(Code::NEAREST_ONLY, message.to_owned())]);
}

#[test]
fn without_fewer_candidates_than_sentences_everything_is_as_without_the_option() {
    let claims = ["cats sleep little", "fire is hot iron is hard snow is cold", "it cost 3 million"];
    let check = entailment_alone(&SOURCE, &claims);
    let small = |candidates| DetectorOptions { pairs_per_round: 6, ..options(candidates) };
    let (report, rounds) = run(&mut Entailment::new(&small(0)), &check, scorer(by_hash(7)));
    assert!(report.notes.is_empty());
    let pairs = |claim| premises(&rounds, claim).len();
    assert_eq!(claims.map(pairs), [15; 3], "8 sentences and 7 windows");
    for candidates in [8, 9, 1000] {
        let (same, in_order) = run(&mut Entailment::new(&small(candidates)), &check, scorer(by_hash(7)));
        assert_eq!((same, in_order), (report.clone(), rounds.clone()), "{candidates}");
    }
}

#[test]
fn support_outside_the_candidates_is_missed_and_the_note_says_that_not_all_was_asked() {
    let check = entailment_alone(&SOURCE, &["cats sleep little"]);
    let far = |premise: &str, _: &str| if premise == "rain is wet" { (0.9, 0.0) } else { (0.1, 0.1) };
    let (all, _) = run(&mut detector(0), &check, scorer(far));
    let (few, _) = run(&mut detector(3), &check, scorer(far));
    assert!(support(&all, 0) > 0.89 && support(&few, 0) < 0.11);
    assert_eq!(few.notes[0].0, Code::NEAREST_ONLY);
}

#[test]
fn the_nearest_sentences_that_may_contradict_are_always_asked_about() {
    let check = entailment_alone(&SOURCE, &["cats sleep little", "fire is hot iron is hard snow is cold"]);
    let (all, _) = run(&mut detector(0), &check, scorer(by_hash(3)));
    // Below the neighbours no configuration may go; who did not validate keeps them all the same.
    for candidates in [1, 3, 4, 7] {
        let (few, _) = run(&mut detector(candidates), &check, scorer(by_hash(3)));
        for claim in [0, 1] {
            let contradiction = |report| finding(report, claim).contradiction;
            assert_eq!(contradiction(&few), contradiction(&all), "{candidates}");
        }
    }
}

#[test]
fn embeddings_come_first_and_the_plan_is_exact_once_they_are_known() {
    let check = entailment_alone(&SOURCE, &["cats sleep little", "fire is hot iron is hard snow is cold"]);
    let small = DetectorOptions { pairs_per_round: 4, ..options(3) };
    let mut entailment = Entailment::new(&small);
    let mut next = entailment.start(&check, &crate::testing::facts());
    let mut answer = scorer(by_hash(5));
    let (mut rounds, mut planned) = (Vec::new(), Vec::new());
    let report = loop {
        match next {
            Next::Work(work) => {
                planned.push(entailment.planned_items());
                let outcomes: Vec<Outcome<Score>> = work.iter().map(&mut answer).collect();
                rounds.push(work);
                next = entailment.resume(&outcomes);
            }
            Next::Done(report) => break report,
            Next::Ask(_) => panic!("it asks no judge"),
        }
    };
    assert!(rounds.iter().all(|round| round.len() <= 4));
    let is_embed = |work: &Work| matches!(work, Work::Embed { .. });
    assert!(rounds[..3].iter().flatten().all(is_embed) && !rounds[3..].iter().flatten().any(is_embed));
    let asked: usize = rounds.iter().map(Vec::len).sum();
    assert_eq!((report.work_items, asked), (25, 25));
    assert!(planned[..3].iter().all(|plan| *plan >= asked), "{planned:?}");
    assert!(planned[3..].iter().all(|plan| *plan == asked), "{planned:?}");
}

#[test]
fn a_claim_without_an_embedding_fails_and_nothing_is_asked_about_it() {
    let check = entailment_alone(&SOURCE, &["cats sleep little", "fire is hot iron is hard snow is cold"]);
    let mut good = scorer(|_, _| (0.8, 0.1));
    let (report, rounds) = run(&mut detector(3), &check, |work| match work {
        Work::Embed { text } if &**text == "cats sleep little" => {
            Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up"))
        }
        work => good(work),
    });
    assert_eq!(report.claims[0].reason().unwrap().code, Code::JOB_DEAD);
    assert!(premises(&rounds, "cats sleep little").is_empty());
    assert!(support(&report, 1) > 0.79);
    assert!(report.notes[0].1.ends_with("8 of 30 pairs were scored"), "{:?}", report.notes);
}

#[test]
fn pairs_that_are_never_scored_fail_their_claim_and_do_not_count() {
    let check = entailment_alone(&SOURCE, &["cats sleep little"]);
    let mut good = scorer(|_, _| (0.8, 0.1));
    let (report, _) = run(&mut detector(3), &check, |work| match work {
        Work::Pair { premise, .. } if &**premise == "cats sleep well" => {
            Outcome::Failed(Reason::new(Code::DEADLINE, "too late"))
        }
        work => good(work),
    });
    assert_eq!(report.claims[0].reason().unwrap().code, Code::DEADLINE);
    assert!(report.notes[0].1.ends_with("6 of 15 pairs were scored"), "{:?}", report.notes);
}

#[test]
fn facts_meet_the_windows_of_their_sentence() {
    let mut check = check_of(&[&SOURCE], &["cats sleep little"]);
    check.claims[0].facts = vec![AtomicFact { text: "cats sleep".into(), span: Span::new(0, 1) }];
    let check = asking(check, &["entailment"], true, false);
    let (report, rounds) = run(&mut detector(3), &check, scorer(|_, _| (0.2, 0.1)));
    assert_eq!(premises(&rounds, "cats sleep"), premises(&rounds, "cats sleep little"));
    assert!(report.facts[0][0].scored().is_some());
    let (_, rounds) = run(&mut detector(0), &check, scorer(|_, _| (0.2, 0.1)));
    assert_eq!(premises(&rounds, "cats sleep").len(), 3 + 7);
}

#[test]
fn another_notation_is_asked_about_as_without_candidates() {
    let source = ["It opened on 12 May 1903.", "Bread is brown.", "Rain is wet.", "Fire is hot.", "It is."];
    let check = entailment_alone(&source, &["It opened on 1903-05-12."]);
    let literal = |premise: &str, hypothesis: &str| {
        if premise.contains(hypothesis) { (0.97, 0.01) } else { (0.02, 0.95) }
    };
    let (report, rounds) = run(&mut detector(3), &check, scorer(literal));
    assert!(support(&report, 0) > 0.96);
    assert_eq!(premises(&rounds, "It opened on 12 May 1903.").len(), 2);
}

#[test]
fn unscored_pairs_are_missing_from_the_matrix_and_summac_is_named_where_it_reads_all() {
    let check = asking(check_of(&[&SOURCE], &["cats sleep little"]), &["entailment"], false, true);
    let (report, _) = run(&mut detector(3), &check, scorer(|_, _| (0.2, 0.1)));
    let matrix = report.matrix.unwrap();
    let is_there: Vec<bool> = (0..8).map(|row| matrix.get(row, 0).is_some()).collect();
    assert_eq!(is_there, [true, false, false, false, true, false, false, true]);
    assert!(!report.notes[0].1.contains("summac"));
    let check = asking(check_of(&[&SOURCE], &["cats sleep little"]), &["default"], false, false);
    let (report, _) = run(&mut detector(3), &check, scorer(|_, _| (0.2, 0.1)));
    assert!(report.notes[0].1.contains("summac and summac_conv read every pair"), "{:?}", report.notes);
}

proptest! {
    #[test]
    fn fewer_sentences_never_raise_support(
        source in proptest::collection::vec("[a-f]{1,3}( [a-f]{1,3}){0,3}", 1..12),
        claims in proptest::collection::vec("[a-f]{1,3}( [a-f]{1,3}){0,3}", 1..4),
        candidates in 3_usize..14,
        pairs_per_round in 2_usize..20,
        scale in 1_u32..1000,
    ) {
        let source: Vec<&str> = source.iter().map(String::as_str).collect();
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        let check = entailment_alone(&source, &claims);
        let few = DetectorOptions { pairs_per_round, ..options(candidates) };
        let (all, _) = run(&mut detector(0), &check, scorer(by_hash(scale)));
        let (few, rounds) = run(&mut Entailment::new(&few), &check, scorer(by_hash(scale)));
        for (claim, text) in claims.iter().enumerate() {
            prop_assert!(support(&few, claim) <= support(&all, claim));
            let sentences = premises(&rounds, text);
            let asked = source.iter().filter(|sentence| sentences.contains(**sentence)).count();
            prop_assert!(asked >= candidates.min(source.len()));
        }
        if candidates >= source.len() {
            prop_assert_eq!(few.claims, all.claims);
        }
    }

    #[test]
    fn any_outcomes_end_in_a_report(
        outcomes in proptest::collection::vec(0_u8..4, 1..60),
        lengths in proptest::collection::vec(0_usize..12, 1..20),
    ) {
        let mut check = check_of(&[&SOURCE], &["cats sleep", "iron 3", "bread"]);
        check.claims[0].facts = vec![AtomicFact { text: "a fact".into(), span: Span::new(0, 1) }];
        let check = asking(check, &["entailment"], true, true);
        let outcome = |kind: u8| match kind {
            0 => logits(0.4, 0.3),
            1 => crate::testing::embedding("cats sleep"),
            2 => Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up")),
            _ => Outcome::Scored(Score::Logits([f32::NAN; 3].into())),
        };
        let mut answers = outcomes.iter().cycle();
        let mut lengths = lengths.iter().cycle();
        let mut detector = Entailment::new(&DetectorOptions { pairs_per_round: 7, ..options(3) });
        let mut next = detector.start(&check, &crate::testing::facts());
        for _ in 0..200 {
            let Next::Work(work) = next else { break };
            prop_assert!(!work.is_empty() && work.len() <= 7);
            let count = if lengths.next().unwrap() % 4 == 0 { *lengths.next().unwrap() } else { work.len() };
            let answered: Vec<_> = answers.by_ref().take(count).map(|kind| outcome(*kind)).collect();
            next = detector.resume(&answered);
        }
        let Next::Done(report) = next else { panic!("it does not end") };
        prop_assert_eq!(report.claims.len(), 3);
    }
}
