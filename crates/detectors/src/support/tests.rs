use super::*;
use crate::testing::{check_of, claim_score, facts, planned_items, run, scorer};
use proptest::prelude::*;

fn detector() -> Support {
    Support::new(&DetectorOptions::default())
}

fn with_head() -> ModelFacts {
    ModelFacts { has_support_head: true, ..facts() }
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-5, "{value} is not {expected}");
}

/// Runs it on a model with the head.
fn checked(check: PreparedCheck, support: impl Fn(&str, &str) -> f32) -> (Report, Vec<Work>) {
    let (check, mut detector) = (Arc::new(check), detector());
    let mut answer = scorer(|premise, claim| (support(premise, claim), 0.0));
    let (mut next, mut asked) = (detector.start(&check, &with_head()), Vec::new());
    loop {
        match next {
            Next::Done(report) => return (report, asked),
            Next::Ask(_) => panic!("it asks no judge"),
            Next::Work(work) => {
                let outcomes: Vec<_> = work.iter().map(&mut answer).collect();
                asked.extend(work);
                next = detector.resume(&outcomes);
            }
        }
    }
}

#[test]
fn support_is_the_largest_over_windows_and_sentences_of_all_sources() {
    let check = check_of(&[&["one", "two"], &["three"]], &["a claim", "another claim"]);
    let support = |premise: &str, claim: &str| match (premise, claim) {
        ("one two", "a claim") => 0.8,
        ("three", "another claim") => 0.3,
        _ => 0.1,
    };
    let (report, asked) = checked(check, support);
    near(claim_score(&report, 0), 0.8);
    near(claim_score(&report, 1), 0.3);
    near(report.score.scored().unwrap().value, 0.3);
    assert_eq!(report.score.scored().unwrap().polarity, Polarity::HigherIsSupported);
    // 2 windows and 3 sentences for each claim, all for this head.
    assert_eq!((asked.len(), report.work_items), (10, 10));
    assert!(asked.iter().all(|work| matches!(work, Work::Pair { head: Head::Support, .. })));
    let finding = report.claims[1].scored().unwrap();
    assert_eq!((finding.evidence[0].source, finding.evidence[0].sentence), (1, 0));
    assert_eq!(finding.contradiction, None, "a binary head knows none");
}

#[test]
fn the_source_is_the_premise_and_the_claim_the_hypothesis() {
    let check = check_of(&[&["a narrow fact"]], &["a wide claim"]);
    let support = |premise: &str, claim: &str| {
        if (premise, claim) == ("a narrow fact", "a wide claim") { 0.9 } else { 0.1 }
    };
    near(claim_score(&checked(check, support).0, 0), 0.9);
}

#[test]
fn the_second_logit_is_supported() {
    let read = |logits: [f32; 2]| read_support(Some(&Outcome::Scored(Score::Logits(logits.into()))));
    assert!((read([0.0, 3.0_f32.ln()]).unwrap() - 0.75).abs() < 1e-6);
    assert!((read([500.0, -500.0]).unwrap()).abs() < 1e-6);
    assert_eq!(read([f32::NAN, 0.0]).unwrap_err().code, Code::NON_FINITE);
    let three = Outcome::Scored(Score::Logits([0.0, 1.0, 2.0].into()));
    assert_eq!(read_support(Some(&three)).unwrap_err().code, Code::INTERNAL);
    assert_eq!(read_support(None).unwrap_err().code, Code::INTERNAL);
}

#[test]
fn a_model_without_the_head_fails_the_claims_and_asks_for_nothing() {
    let check = Arc::new(check_of(&[&["one"]], &["a claim"]));
    let (report, rounds) = run(&mut detector(), &check, scorer(|_, _| (0.5, 0.0)));
    assert!(rounds.is_empty());
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::HEAD_MISSING));
    assert!(matches!(&report.score, Outcome::Failed(reason) if reason.code == Code::HEAD_MISSING));
    assert_eq!(planned_items(detector(), &check), 0);
}

#[test]
fn without_evidence_nothing_is_supported_and_nothing_asked() {
    let (report, asked) = checked(check_of(&[], &["a claim"]), |_, _| 0.9);
    assert!(asked.is_empty());
    assert!(matches!(&report.score, Outcome::Abstained(reason) if reason.code == Code::EMPTY_SOURCE));
}

#[test]
fn a_pair_without_a_score_fails_its_claim_and_no_other() {
    let check = Arc::new(check_of(&[&["one", "two"]], &["a claim", "another claim"]));
    let options = DetectorOptions { pairs_per_round: 2, ..DetectorOptions::default() };
    let mut detector = Support::new(&options);
    let mut next = detector.start(&check, &with_head());
    let mut rounds = 0;
    let report = loop {
        match next {
            Next::Done(report) => break report,
            Next::Ask(_) => panic!("it asks no judge"),
            Next::Work(work) => {
                assert!(work.len() <= 2);
                rounds += 1;
                let good = Outcome::Scored(Score::Logits([0.0, 0.0].into()));
                // The second round has the last pair of the first claim; its answers never come.
                next =
                    if rounds == 2 { detector.resume(&[]) } else { detector.resume(&vec![good; work.len()]) };
            }
        }
    };
    assert!(matches!(&report.claims[0], Outcome::Failed(_)));
    assert!(matches!(&report.claims[1], Outcome::Failed(_)), "its first pair was in that round too");
    assert_eq!(rounds, 3);
    assert!(matches!(&report.score, Outcome::Failed(reason) if reason.code == Code::INTERNAL));
}

/// Any support between 0 and 1, the same each time for the same texts.
fn by_hash(premise: &str, claim: &str) -> f32 {
    let hash = premise
        .bytes()
        .chain(claim.bytes())
        .fold(17_u32, |hash, byte| hash.wrapping_mul(31) + u32::from(byte));
    0.01 + 0.98 * (hash % 1000) as f32 / 1000.0
}

proptest! {
    #[test]
    fn another_source_never_lowers_support(
        sources in proptest::collection::vec(proptest::collection::vec("[a-d]{1,3}", 1..4), 1..4),
        more in proptest::collection::vec("[a-d]{1,3}", 1..4),
    ) {
        let refs = |source: &Vec<String>| -> Vec<&'static str> {
            source.iter().map(|text| &*Box::leak(text.clone().into_boxed_str())).collect()
        };
        let mut texts: Vec<Vec<&str>> = sources.iter().map(refs).collect();
        let support = |texts: &[Vec<&str>]| {
            let slices: Vec<&[&str]> = texts.iter().map(Vec::as_slice).collect();
            claim_score(&checked(check_of(&slices, &["claim"]), by_hash).0, 0)
        };
        let before = support(&texts);
        texts.push(refs(&more));
        prop_assert!(support(&texts) >= before);
    }

    #[test]
    fn support_is_never_below_that_of_any_single_sentence(source in proptest::collection::vec("[a-d]{1,3}", 1..6)) {
        let texts: Vec<&str> = source.iter().map(String::as_str).collect();
        let best = texts.iter().map(|text| by_hash(text, "claim")).fold(0.0, f32::max);
        let found = claim_score(&checked(check_of(&[&texts], &["claim"]), by_hash).0, 0);
        prop_assert!(found >= f64::from(best) - 1e-5);
    }
}
