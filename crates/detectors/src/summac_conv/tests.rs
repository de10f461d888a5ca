use super::*;
use crate::SummacOptions;
use crate::testing::{check_of, facts, run, scorer};

fn detector() -> SummacConv {
    SummacConv::new(&DetectorOptions::default())
}

#[test]
fn a_copy_of_a_one_sentence_source_reaches_the_published_ceiling() {
    let check = Arc::new(check_of(&[&["the same"]], &["the same"]));
    let (report, _) = run(&mut detector(), &check, scorer(|_, _| (0.998, 0.001)));
    assert!((report.score.scored().unwrap().value - 0.9195).abs() < 1e-4);
    assert!(report.claims.is_empty());
}

#[test]
fn the_foreign_layer_is_noted_unless_it_was_fitted() {
    let check = Arc::new(check_of(&[&["the same"]], &["the same"]));
    let (report, _) = run(&mut detector(), &check, scorer(|_, _| (0.5, 0.1)));
    assert_eq!(report.notes[0].0, Code::FOREIGN_BACKBONE);
    let mut detector = detector();
    let mut fitted = facts();
    fitted.summac_conv_fitted = true;
    let Next::Work(work) = detector.start(&check, &fitted) else { panic!("there is a pair to score") };
    let outcomes: Vec<_> = work.iter().map(|_| crate::testing::logits(0.5, 0.1)).collect();
    let Next::Done(report) = detector.resume(&outcomes) else { panic!("one pair is all") };
    assert!(report.notes.is_empty());
}

#[test]
fn more_than_ten_sentences_are_read_unless_parity_is_asked_for() {
    let claims: Vec<String> = (0..12).map(|number| format!("claim number {number}")).collect();
    let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    let check = Arc::new(check_of(&[&["a source sentence"]], &claims));
    // The last two sentences are unsupported.
    let answer = |_: &str, hypothesis: &str| {
        if hypothesis.ends_with("10") || hypothesis.ends_with("11") { (0.001, 0.1) } else { (0.998, 0.001) }
    };
    let value = |options: &DetectorOptions| {
        let (report, _) = run(&mut SummacConv::new(options), &check, scorer(answer));
        (report.score.scored().unwrap().value, report.work_items)
    };
    let parity = DetectorOptions {
        summac: SummacOptions { parity: true, ..SummacOptions::default() },
        ..DetectorOptions::default()
    };
    let (all, all_items) = value(&DetectorOptions::default());
    let (ten, ten_items) = value(&parity);
    assert_eq!((all_items, ten_items), (12, 10));
    assert!(all < ten - 0.05, "{all} counts the unsupported sentences, {ten} does not");
}

#[test]
fn without_a_claim_there_is_no_number_and_no_note() {
    let (report, _) =
        run(&mut detector(), &Arc::new(check_of(&[&["a source"]], &[])), scorer(|_, _| (0.5, 0.1)));
    assert!(matches!(report.score, Outcome::Abstained(_)));
    assert!(report.notes.is_empty());
}
