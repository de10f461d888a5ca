use super::*;
use crate::SummacOptions;
use crate::testing::{check_of, run, scorer};
use groundline_types::{ClaimKind, Code, Reason, Work};

fn detector() -> Summac {
    Summac::new(&DetectorOptions::default())
}

/// The source sentence "n" entails the claim "n" by n hundredths and contradicts it by a quarter of that.
fn by_number(premise: &str, hypothesis: &str) -> (f32, f32) {
    let number =
        |text: &str| text.split_whitespace().last().and_then(|word| word.parse::<f32>().ok()).unwrap_or(0.0);
    let entailment = number(premise) * number(hypothesis) / 100.0;
    (entailment, entailment / 4.0)
}

#[test]
fn both_numbers_follow_their_definitions() {
    let check = Arc::new(check_of(&[&["source 2", "source 8"], &["source 5"]], &["claim 10", "claim 5"]));
    let (report, _) = run(&mut detector(), &check, scorer(by_number));
    // Best entailments are 0.8 and 0.4, best contradictions a quarter of that.
    assert!((report.score.scored().unwrap().value - 0.6).abs() < 1e-5);
    assert!((report.extra["summac_zs"] - 0.45).abs() < 1e-5);
    let finding = report.claims[0].scored().unwrap();
    assert!((finding.support.unwrap().get() - 0.8).abs() < 1e-5);
    assert_eq!((finding.evidence[0].source, finding.evidence[0].sentence), (0, 1));
    assert_eq!(report.work_items, 6);
    assert_eq!(crate::testing::planned_items(detector(), &check), 6);
}

#[test]
fn the_source_is_the_premise_and_the_response_the_hypothesis() {
    let check = Arc::new(check_of(&[&["a narrow fact"]], &["a wide claim"]));
    let (report, rounds) = run(
        &mut detector(),
        &check,
        scorer(|premise, hypothesis| {
            if (premise, hypothesis) == ("a narrow fact", "a wide claim") { (0.9, 0.05) } else { (0.0, 0.9) }
        }),
    );
    assert!((report.score.scored().unwrap().value - 0.9).abs() < 1e-5);
    assert_eq!(rounds.len(), 1);
}

#[test]
fn rounds_are_half_of_the_limit_and_claim_major() {
    let options = DetectorOptions { pairs_per_round: 4, ..DetectorOptions::default() };
    let check = Arc::new(check_of(&[&["s 1", "s 2", "s 3"]], &["c 1", "c 2"]));
    let (_, rounds) = run(&mut Summac::new(&options), &check, scorer(by_number));
    assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
    let asked: Vec<(String, String)> = rounds
        .into_iter()
        .flatten()
        .map(|work| match work {
            Work::Pair { premise, hypothesis, .. } => (premise.to_string(), hypothesis.to_string()),
            other => panic!("SummaC asks for pairs alone, and not for {other:?}"),
        })
        .collect();
    let expected =
        [("s 1", "c 1"), ("s 2", "c 1"), ("s 3", "c 1"), ("s 1", "c 2"), ("s 2", "c 2"), ("s 3", "c 2")];
    assert_eq!(asked, expected.map(|(s, c)| (s.to_owned(), c.to_owned())));
}

#[test]
fn a_pair_without_a_score_fails_its_claim_and_no_other() {
    let check = Arc::new(check_of(&[&["source 2", "source 8"]], &["claim 10", "claim 5"]));
    let mut good = scorer(by_number);
    let (report, _) = run(&mut detector(), &check, |work| match work {
        Work::Pair { premise, hypothesis, .. } if &**premise == "source 2" && &**hypothesis == "claim 10" => {
            Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up"))
        }
        work => good(work),
    });
    assert_eq!(report.claims[0].reason().unwrap().code, Code::JOB_DEAD);
    assert!((report.claims[1].scored().unwrap().support.unwrap().get() - 0.4).abs() < 1e-5);
    assert!((report.score.scored().unwrap().value - 0.4).abs() < 1e-5);
}

#[test]
fn the_matrix_is_kept_where_it_is_asked_for() {
    let mut check = check_of(&[&["source 2", "source 8"]], &["claim 10", "claim 5"]);
    let (report, _) = run(&mut detector(), &Arc::new(check.clone()), scorer(by_number));
    assert_eq!(report.matrix, None);
    Arc::make_mut(&mut check.request).matrix = true;
    let (report, _) = run(&mut detector(), &Arc::new(check), scorer(by_number));
    let matrix = report.matrix.unwrap();
    assert_eq!((matrix.rows.as_slice(), matrix.columns.as_slice()), (&[(0, 0), (0, 1)][..], &[0, 1][..]));
    assert!((matrix.get(1, 1).unwrap().entailment.get() - 0.4).abs() < 1e-5);
    assert!((matrix.get(0, 1).unwrap().entailment.get() - 0.1).abs() < 1e-5);
}

#[test]
fn operators_can_be_chosen() {
    let check = Arc::new(check_of(&[&["source 2", "source 8"]], &["claim 10", "claim 5"]));
    let zs = |summac: SummacOptions| {
        let options = DetectorOptions { summac, ..DetectorOptions::default() };
        run(&mut Summac::new(&options), &check, scorer(by_number)).0.extra["summac_zs"]
    };
    let default = SummacOptions::default;
    assert!((zs(SummacOptions { use_contradiction: false, ..default() }) - 0.6).abs() < 1e-5);
    assert!((zs(SummacOptions { use_entailment: false, ..default() }) - 0.85).abs() < 1e-5);
    assert!((zs(SummacOptions { second_operator: SummacOperator::Min, ..default() }) - 0.3).abs() < 1e-5);
    assert!(
        (zs(SummacOptions { first_operator: SummacOperator::Mean, ..default() }) - 0.281_25).abs() < 1e-5
    );
}

#[test]
fn parity_drops_what_the_published_code_drops() {
    let long: Vec<String> = (0..120).map(|number| format!("a long sentence number {number}")).collect();
    let mut source: Vec<&str> = vec!["ten chars."];
    source.extend(long.iter().map(String::as_str));
    let mut check =
        check_of(&[&source], &["short one", "a response of some length", "a heading of some length"]);
    check.claims[2].kind = ClaimKind::Heading;
    let check = Arc::new(check);
    let options = DetectorOptions {
        summac: SummacOptions { parity: true, ..SummacOptions::default() },
        ..DetectorOptions::default()
    };
    let (report, rounds) = run(&mut Summac::new(&options), &check, scorer(by_number));
    assert_eq!(report.work_items, 200, "100 source sentences, and two response sentences long enough");
    let first = rounds[0].first().cloned().unwrap();
    assert!(matches!(first, Work::Pair { premise, .. } if &*premise == "a long sentence number 0"));
    let (report, _) = run(&mut detector(), &check, scorer(by_number));
    assert_eq!(report.work_items, 242, "121 source sentences, and the two that are checkable");
}

#[test]
fn a_source_without_sentences_is_abstained_from() {
    let (report, rounds) = run(&mut detector(), &Arc::new(check_of(&[&[]], &["a claim"])), scorer(by_number));
    assert!(rounds.is_empty());
    assert!(matches!(&report.score, Outcome::Abstained(reason) if reason.code == Code::EMPTY_SOURCE));
    assert!(matches!(report.claims[0], Outcome::Abstained(_)));
}
