use super::*;
use crate::SelfcheckOptions;
use crate::testing::{claim_extra, claim_score, planned_items, run, sampled_check, scorer};
use groundline_types::{ClaimKind, Polarity};
use proptest::prelude::*;

fn with_smoothing(ngram_smoothing: f64) -> SelfcheckNgram {
    let selfcheck = SelfcheckOptions { ngram_smoothing, ..SelfcheckOptions::default() };
    SelfcheckNgram::new(&DetectorOptions { selfcheck, ..DetectorOptions::default() })
}

fn checked(samples: &[&str], claims: &[&str], smoothing: f64) -> Report {
    let check = Arc::new(sampled_check(samples, claims, 50));
    let (report, rounds) = run(&mut with_smoothing(smoothing), &check, scorer(|_, _| (0.0, 0.0)));
    assert!(rounds.is_empty(), "no model is asked");
    report
}

const SAMPLES: [&str; 3] = [
    "Michael Alan Weiner (born March 31, 1942) is an American radio host. He is the host of The Savage Country.",
    "Michael Alan Weiner (born January 13, 1960) is a Canadian radio host. He works at The New York Times.",
    "Michael Alan Weiner (born March 31, 1942) is an American radio host. He obtained his PhD from MIT.",
];
const CLAIMS: [&str; 2] = [
    "Michael Alan Weiner (born March 31, 1942) is an American radio host.",
    "He is the host of The Savage Nation.",
];

#[test]
fn without_smoothing_the_published_example_comes_out() {
    let report = checked(&SAMPLES, &CLAIMS, 0.0);
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}");
    near(claim_score(&report, 0), 3.476_099);
    near(claim_score(&report, 1), 4.574_711);
    near(claim_extra(&report, 0, "unigram_avg").unwrap(), 3.184_312);
    near(claim_extra(&report, 1, "unigram_avg").unwrap(), 3.279_775);
    near(report.extra["unigram_avg"], 3.218_679);
    near(report.score.scored().unwrap().value, 4.025_405);
    assert_eq!(report.score.scored().unwrap().polarity, Polarity::HigherIsHallucinated);
}

#[test]
fn what_samples_do_not_say_is_more_surprising() {
    let samples = ["She was born in Paris.", "She was born in Paris in May.", "She came from Paris."];
    let report = checked(&samples, &["She was born in Paris.", "She was born in Oslo."], 1.0);
    assert!(claim_score(&report, 1) > claim_score(&report, 0));
    for name in ["unigram_avg", "unigram_max", "bigram_max", "trigram_max"] {
        let of = |claim: usize| claim_extra(&report, claim, name).unwrap();
        assert!(of(1) > of(0), "{name}");
    }
}

#[test]
fn a_sample_given_twice_counts_twice() {
    let once = checked(&["a b c", "d e"], &["a b"], 0.0);
    let twice = checked(&["a b c", "d e", "a b c"], &["a b"], 0.0);
    // a and b: 2 of 7 tokens, then 3 of 10.
    assert!((claim_score(&once, 0) - (7.0_f64 / 2.0).ln()).abs() < 1e-12);
    assert!((claim_score(&twice, 0) - (10.0_f64 / 3.0).ln()).abs() < 1e-12);
}

#[test]
fn the_second_number_counts_samples_about_the_subject_alone() {
    let samples =
        ["She was born in Paris.", "She writes long novels about love and war and peace and the sea."];
    let report = checked(&samples, &["She was born in Paris."], 0.0);
    assert_eq!(claim_extra(&report, 0, "subject_samples"), Some(1.0));
    // Every word twice in 12 tokens.
    assert!((claim_extra(&report, 0, "subject_only").unwrap() - 6.0_f64.ln()).abs() < 1e-12);
    let nobody = checked(&["Rain fell."], &["She was born in Paris."], 0.0);
    assert_eq!(claim_extra(&nobody, 0, "subject_samples"), Some(0.0));
    assert_eq!(claim_extra(&nobody, 0, "subject_only"), None);
    assert!(!nobody.extra.contains_key("subject_only"));
}

#[test]
fn without_a_usable_sample_nothing_is_said_and_no_claim_is_no_score() {
    for samples in [&[][..], &["", "?!"][..]] {
        let report = checked(samples, &["She was born in Paris."], 1.0);
        assert!(matches!(&report.score, Outcome::Abstained(reason) if reason.code == Code::WEAK_SAMPLES));
    }
    let mut check = sampled_check(&["a b"], &["Is it?"], 50);
    check.claims[0].kind = ClaimKind::Question;
    let check = Arc::new(check);
    let (report, _) = run(&mut with_smoothing(1.0), &check, scorer(|_, _| (0.0, 0.0)));
    assert!(matches!(&report.score, Outcome::Abstained(reason) if reason.code == Code::NO_CHECKABLE_CLAIM));
    assert_eq!(planned_items(with_smoothing(1.0), &check), 0);
}

#[test]
fn one_and_identical_samples_are_scored_with_a_note() {
    for samples in [&["He lives in Rome."][..], &["He lives in Rome."; 3][..]] {
        let report = checked(samples, &["He lives in Paris."], 1.0);
        assert!(report.score.scored().is_some());
        assert_eq!(report.notes[0].0, Code::WEAK_SAMPLES);
    }
}

proptest! {
    #[test]
    fn every_number_is_finite_whatever_the_texts(
        samples in proptest::collection::vec(any::<String>(), 0..4),
        claims in proptest::collection::vec("\\PC{0,30}", 1..4),
        smoothing in prop_oneof![Just(0.0), 0.0_f64..10.0],
    ) {
        let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        let report = checked(&samples, &claims, smoothing);
        prop_assert!(report.extra.values().all(|value| value.is_finite() && *value >= 0.0));
        for finding in report.claims.iter().filter_map(Outcome::scored) {
            prop_assert!(finding.score.is_none_or(f64::is_finite));
            prop_assert!(finding.extra.values().all(|value| value.is_finite() && *value >= 0.0));
        }
    }
}
