use super::*;
use crate::testing::{claim_extra, claim_score, facts, planned_items, run, sampled_check};
use groundline_types::{ClaimKind, Polarity, Similarity};

const SHARP: &str = "He lives in Paris today.";
const LOOSE: &str = "He moved to Rome once.";

fn detector() -> SelfcheckBertscore {
    SelfcheckBertscore::new(&DetectorOptions::default())
}

fn similar(precision: f32, recall: f32) -> Outcome<Score> {
    Outcome::Scored(Score::Similarity(Similarity { precision, recall }))
}

/// Answers with `both` for (sample's sentence, sentence).
fn answers(both: impl Fn(&str, &str) -> (f32, f32)) -> impl FnMut(&Work) -> Outcome<Score> {
    move |work| match work {
        Work::Similarity { candidate, reference } => {
            let (precision, recall) = both(candidate, reference);
            similar(precision, recall)
        }
        other => panic!("it asks for {other:?}"),
    }
}

fn checked(samples: &[&str], claims: &[&str], both: impl Fn(&str, &str) -> (f32, f32)) -> Report {
    run(&mut detector(), &Arc::new(sampled_check(samples, claims, 50)), answers(both)).0
}

/// The same with a model that has a baseline.
fn rescaled_report(
    samples: &[&str],
    claims: &[&str],
    baseline: f64,
    both: impl Fn(&str, &str) -> (f32, f32),
) -> Report {
    let check = Arc::new(sampled_check(samples, claims, 50));
    let facts = ModelFacts { similarity_baseline: Some(baseline), ..facts() };
    let (mut detector, mut answer) = (detector(), answers(both));
    let mut next = detector.start(&check, &facts);
    loop {
        match next {
            Next::Work(work) => next = detector.resume(&work.iter().map(&mut answer).collect::<Vec<_>>()),
            Next::Done(report) => return report,
            Next::Ask(_) => panic!("it asks a judge"),
        }
    }
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
}

#[test]
fn the_number_is_one_minus_the_mean_over_samples_of_the_best_rescaled_f1() {
    // By hand: the first sample's best is 2 * 0.9 * 0.6 / 1.5 = 0.72, the second's 0.5. With the baseline 0.2: 0.65 and 0.375.
    let both = |candidate: &str, _: &str| match candidate {
        "He lives in Paris." => (0.9, 0.6),
        "She was born there." => (0.3, 0.3),
        _ => (0.5, 0.5),
    };
    let samples = ["She was born there. He lives in Paris.", LOOSE];
    let report = rescaled_report(&samples, &[SHARP], 0.2, both);
    near(claim_score(&report, 0), 1.0 - (0.65 + 0.375) / 2.0);
    near(report.score.scored().unwrap().value, 1.0 - (0.65 + 0.375) / 2.0);
    assert_eq!(report.score.scored().unwrap().polarity, Polarity::HigherIsHallucinated);
    assert!(report.claims[0].scored().unwrap().support.is_none(), "agreement is no support by a source");
    assert_eq!(report.notes, []);
    let plain = checked(&samples, &[SHARP], both);
    near(claim_score(&plain, 0), 1.0 - (0.72 + 0.5) / 2.0);
    assert_eq!(plain.notes.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [Code::NO_BASELINE]);
}

#[test]
fn what_samples_repeat_is_at_0_what_is_unrelated_at_1_and_what_is_farther_above() {
    let report = |f1: f32| rescaled_report(&[LOOSE, SHARP], &[SHARP], 0.25, move |_, _| (f1, f1));
    near(claim_score(&report(1.0), 0), 0.0);
    near(claim_score(&report(0.25), 0), 1.0);
    near(claim_score(&report(0.1), 0), 1.2);
    assert!(claim_score(&report(-0.5), 0).is_finite());
}

#[test]
fn the_samples_sentence_is_the_candidate_and_each_text_follows_itself() {
    let check = Arc::new(sampled_check(
        &["One two three four. Five six seven eight.", "Nine ten eleven twelve."],
        &["First claim stands here.", "Second claim stands here."],
        50,
    ));
    let (_, rounds) = run(&mut detector(), &check, |_| similar(0.5, 0.5));
    let asked: Vec<(String, String)> = rounds
        .concat()
        .into_iter()
        .map(|work| match work {
            Work::Similarity { candidate, reference } => (candidate.to_string(), reference.to_string()),
            other => panic!("it asks for {other:?}"),
        })
        .collect();
    let candidates = ["One two three four.", "Five six seven eight.", "Nine ten eleven twelve."];
    let claims = ["First claim stands here.", "Second claim stands here."];
    let expected: Vec<(String, String)> = candidates
        .iter()
        .flat_map(|candidate| claims.map(|claim| ((*candidate).to_owned(), claim.to_owned())))
        .collect();
    assert_eq!(asked, expected);
}

#[test]
fn ten_sentences_and_twenty_samples_are_bounded_and_equal_sentences_are_asked_once() {
    let claims: Vec<String> = (0..10).map(|at| format!("Sentence number {at} says something.")).collect();
    let sample = |at: usize| format!("Sample {at} says this. And sample {at} says that. They all say so.");
    let samples: Vec<String> = (0..20).map(sample).collect();
    let plan = |samples: &[String], claims: &[String]| {
        let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
        let claims: Vec<&str> = claims.iter().map(String::as_str).collect();
        let check = Arc::new(sampled_check(&samples, &claims, 50));
        let planned = planned_items(detector(), &check);
        let (report, rounds) = run(&mut detector(), &check, |_| similar(0.5, 0.5));
        assert_eq!((planned, report.work_items), (rounds.concat().len(), planned));
        planned
    };
    // Two of three sentences differ from sample to sample, the third is the same in all.
    assert_eq!(plan(&samples, &claims), 10 * (20 * 2 + 1));
    let (mut samples, mut claims) = (samples, claims);
    samples[1] = samples[0].clone();
    claims[9] = claims[0].clone();
    assert_eq!(plan(&samples, &claims), 9 * (19 * 2 + 1));
}

#[test]
fn a_sentence_that_several_samples_have_counts_for_each_and_a_sample_given_twice_twice() {
    let both = |candidate: &str, _: &str| match candidate.contains("Paris") {
        true => (1.0, 1.0),
        false => (0.4, 0.4),
    };
    let shared = "He lives in Paris.";
    let samples =
        [&*format!("{shared} He is old now."), &*format!("Yes, he does so. {shared}"), LOOSE, LOOSE];
    near(claim_score(&checked(&samples, &[SHARP], both), 0), (0.0 + 0.0 + 0.6 + 0.6) / 4.0);
}

#[test]
fn short_sentences_are_left_out_unless_a_sample_has_no_other() {
    // Tokens, not characters or words: "Sure." has 2, "He does so." 4.
    let check = Arc::new(sampled_check(&["Sure. He does so. Yes he.", "Sure. Yes."], &[SHARP], 50));
    let (_, rounds) = run(&mut detector(), &check, |_| similar(0.5, 0.5));
    let candidates: Vec<String> = rounds
        .concat()
        .iter()
        .map(|work| match work {
            Work::Similarity { candidate, .. } => candidate.to_string(),
            other => panic!("it asks for {other:?}"),
        })
        .collect();
    assert_eq!(candidates, ["He does so.", "Sure.", "Yes."]);
}

#[test]
fn samples_that_tell_of_other_things_are_left_out_of_the_second_number() {
    let both = |candidate: &str, _: &str| if candidate.contains("Paris") { (0.9, 0.9) } else { (0.3, 0.3) };
    let samples = ["She was born in Paris.", "She writes long novels.", "She paints at night."];
    let report = checked(&samples, &["She was born in Paris."], both);
    near(claim_score(&report, 0), (0.1 + 0.7 + 0.7) / 3.0);
    near(claim_extra(&report, 0, "subject_only").unwrap(), 0.1);
    near(claim_extra(&report, 0, "subject_samples").unwrap(), 1.0);
    near(report.extra["subject_only"], 0.1);
}

#[test]
fn without_a_usable_sample_nothing_is_said() {
    for samples in [&[][..], &[""][..], &["...", " \n"][..]] {
        let check = Arc::new(sampled_check(samples, &[SHARP], 50));
        let (report, rounds) = run(&mut detector(), &check, |_| similar(0.5, 0.5));
        assert!(rounds.is_empty());
        assert!(matches!(&report.score, Outcome::Abstained(reason) if reason.code == Code::WEAK_SAMPLES));
        assert!(matches!(report.claims[0], Outcome::Abstained(_)));
        assert_eq!(report.notes, []);
    }
}

#[test]
fn an_empty_sample_beside_others_is_left_out_with_a_note() {
    let report = rescaled_report(&[SHARP, "!!", LOOSE], &[SHARP], 0.0, |_, _| (0.5, 0.5));
    near(claim_score(&report, 0), 0.5);
    assert!(matches!(&report.notes[..], [(Code::WEAK_SAMPLES, message)] if message.contains("1 of 3")));
}

#[test]
fn a_pair_without_a_score_fails_its_sentence_and_no_other() {
    let check = Arc::new(sampled_check(&["A cat sat there.", "A dog sat there."], &["A cat.", "A dog."], 50));
    let (report, _) = run(&mut detector(), &check, |work| match work {
        Work::Similarity { candidate, reference }
            if &**candidate == "A dog sat there." && &**reference == "A cat." =>
        {
            Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up"))
        }
        _ => similar(0.25, 0.25),
    });
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::JOB_DEAD));
    near(claim_score(&report, 1), 0.75);
    near(report.score.scored().unwrap().value, 0.75);
    let (report, _) = run(&mut detector(), &check, |_| Outcome::Failed(Reason::new(Code::DEADLINE, "late")));
    assert!(matches!(&report.score, Outcome::Failed(reason) if reason.code == Code::DEADLINE));
    assert_eq!(report.notes, [], "nothing was scaled");
}

#[test]
fn answers_of_the_wrong_kind_not_finite_ones_and_missing_ones_fail() {
    let check = Arc::new(sampled_check(&["A cat sat there."], &["It is a cat."], 50));
    let wrong = [
        (vec![Outcome::Scored(Score::Embedding([1.0].into()))], Code::INTERNAL),
        (vec![similar(f32::NAN, 0.5)], Code::NON_FINITE),
        (vec![], Code::INTERNAL),
    ];
    for (outcomes, code) in wrong {
        let mut detector = detector();
        let Next::Work(_) = detector.start(&check, &facts()) else { panic!("there is work") };
        let Next::Done(report) = detector.resume(&outcomes) else { panic!("there was one round") };
        assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == code), "{outcomes:?}");
    }
}

#[test]
fn rounds_are_bounded_and_what_makes_no_claim_is_left_out() {
    let samples = ["A cat sat there.", "A dog sat there.", "A cow sat there."];
    let mut check = sampled_check(&samples, &["One.", "Two.", "Three."], 50);
    check.claims[1].kind = ClaimKind::Question;
    let options = DetectorOptions { pairs_per_round: 4, ..DetectorOptions::default() };
    let mut detector = SelfcheckBertscore::new(&options);
    let (report, rounds) = run(&mut detector, &Arc::new(check), |_| similar(0.5, 0.5));
    assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
    assert!(
        matches!(&report.claims[1], Outcome::Abstained(reason) if reason.code == Code::NO_CHECKABLE_CLAIM)
    );
    near(claim_score(&report, 2), 0.5);
}

#[test]
fn a_sentence_too_long_for_the_model_fails_alone() {
    let long = "word ".repeat(62);
    let check = Arc::new(sampled_check(&["A cat sat there."], &[&long, "A cat."], 50));
    let (report, rounds) = run(&mut detector(), &check, |_| similar(0.5, 0.5));
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::CLAIM_TOO_LONG));
    near(claim_score(&report, 1), 0.5);
    assert_eq!(rounds.concat().len(), 1);
}
