use super::*;
use crate::SelfcheckOptions;
use crate::testing::{claim_extra, claim_score, run, sampled_check, scorer};
use groundline_types::Polarity;

fn checked_with(samples: &[&str], claims: &[&str], overlap_words: usize) -> Report {
    let selfcheck = SelfcheckOptions { overlap_words, ..SelfcheckOptions::default() };
    let options = DetectorOptions { selfcheck, ..DetectorOptions::default() };
    let check = Arc::new(sampled_check(samples, claims, 50));
    let (report, rounds) = run(&mut SelfcheckOverlap::new(&options), &check, scorer(|_, _| (0.0, 0.0)));
    assert!(rounds.is_empty(), "no model is asked");
    report
}

fn checked(samples: &[&str], claims: &[&str]) -> Report {
    checked_with(samples, claims, SelfcheckOptions::default().overlap_words)
}

#[test]
fn the_number_is_the_mean_share_of_missing_word_pairs() {
    // Pairs of the claim: was born, born in, in paris. The first sample lacks the last, the second all.
    let report = checked(&["He WAS born, in Rome.", "Nobody knows."], &["Was born in Paris."]);
    assert!((claim_score(&report, 0) - (1.0 / 3.0 + 1.0) / 2.0).abs() < 1e-12);
    assert!((claim_extra(&report, 0, "unigram").unwrap() - (0.25 + 1.0) / 2.0).abs() < 1e-12);
    assert!((claim_extra(&report, 0, "trigram").unwrap() - (0.5 + 1.0) / 2.0).abs() < 1e-12);
    assert_eq!(report.score.scored().unwrap().polarity, Polarity::HigherIsHallucinated);
    let words = checked_with(&["He WAS born, in Rome.", "Nobody knows."], &["Was born in Paris."], 1);
    assert_eq!(words.score.scored().unwrap().value, words.extra["unigram"]);
}

#[test]
fn pairs_do_not_reach_over_the_end_of_a_sentence() {
    assert_eq!(claim_score(&checked(&["They met in Oslo. Rain fell."], &["Oslo rain."]), 0), 1.0);
    assert_eq!(claim_score(&checked(&["They met Oslo rain."], &["Oslo rain."]), 0), 0.0);
}

#[test]
fn a_claim_within_a_sample_has_zero_and_not_the_other_way_round() {
    let (narrow, wide) = ("The cat sat.", "Now the cat sat on a mat.");
    assert_eq!(claim_score(&checked(&[wide], &[narrow]), 0), 0.0);
    assert!(claim_score(&checked(&[narrow], &[wide]), 0) > 0.5);
}

#[test]
fn a_sentence_shorter_than_an_ngram_counts_as_a_whole() {
    let report = checked_with(&["Yes, Paris it is.", "Rome."], &["Paris."], 3);
    assert_eq!((claim_score(&report, 0), claim_extra(&report, 0, "unigram")), (0.5, Some(0.5)));
}

#[test]
fn bad_samples_give_no_number_and_weak_ones_a_note() {
    for samples in [&[][..], &["", "--"][..]] {
        let report = checked(samples, &["He lives in Paris."]);
        assert!(matches!(&report.score, Outcome::Abstained(reason) if reason.code == Code::WEAK_SAMPLES));
    }
    for samples in [&["He lives in Rome."][..], &["He lives in Rome."; 3][..]] {
        let report = checked(samples, &["He lives in Paris."]);
        assert!((claim_score(&report, 0) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(report.notes[0].0, Code::WEAK_SAMPLES);
    }
    let wordless = checked(&["He lives."], &["…", "He lives."]);
    assert!(matches!(wordless.claims[0], Outcome::Abstained(_)));
    assert_eq!(wordless.score.scored().unwrap().value, 0.0);
}

#[test]
fn samples_about_other_things_do_not_count_in_the_second_number() {
    let report = checked(&["She was born in Paris.", "She paints."], &["She was born in Paris."]);
    assert_eq!((claim_score(&report, 0), claim_extra(&report, 0, "subject_only")), (0.5, Some(0.0)));
    assert_eq!(report.extra["subject_only"], 0.0);
}
