use super::*;
use crate::testing::{claim_extra, claim_score, logits, planned_items, run, sampled_check, scorer};
use groundline_types::{ClaimKind, MethodScore, Polarity, Work};

fn detector() -> SelfcheckNli {
    SelfcheckNli::new(&DetectorOptions::default())
}

fn checked(samples: &[&str], claims: &[&str], nli: impl Fn(&str, &str) -> (f32, f32)) -> Report {
    let check = Arc::new(sampled_check(samples, claims, 50));
    run(&mut detector(), &check, scorer(nli)).0
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-5, "{value} is not {expected}");
}

#[test]
fn the_number_is_the_mean_over_samples_of_contradiction_among_two_classes() {
    // Two classes of the first pair: 0.2 of 0.8; of the second 0.6 of 0.8.
    let nli = |_: &str, sample: &str| if sample.contains("Rome") { (0.2, 0.6) } else { (0.6, 0.2) };
    let report = checked(&["He lives in Paris.", "He lives in Rome."], &["He lives in Paris."], nli);
    near(claim_score(&report, 0), 0.5);
    let expected =
        MethodScore { value: report.score.scored().unwrap().value, polarity: Polarity::HigherIsHallucinated };
    assert_eq!(report.score.scored(), Some(&expected));
    near(expected.value, 0.5);
    assert!(report.claims[0].scored().unwrap().support.is_none(), "agreement is no support by a source");
}

#[test]
fn the_sentence_is_the_premise_and_the_whole_sample_the_hypothesis() {
    let sample = "Cats are animals. They sleep.";
    let check = Arc::new(sampled_check(&[sample], &["Cats are small animals."], 50));
    // The sentence entails the sample and not the other way round.
    let nli = |premise: &str, hypothesis: &str| match (premise, hypothesis) {
        ("Cats are small animals.", "Cats are animals. They sleep.") => (0.9, 0.1),
        _ => (0.1, 0.9),
    };
    let (report, rounds) = run(&mut detector(), &check, scorer(nli));
    near(claim_score(&report, 0), 0.1);
    assert_eq!(rounds.concat().len(), 1);
}

#[test]
fn the_sample_can_be_the_premise() {
    let check = Arc::new(sampled_check(&["Cats are animals. They sleep."], &["Cats are small animals."], 50));
    let nli = |premise: &str, hypothesis: &str| match (premise, hypothesis) {
        ("Cats are animals. They sleep.", "Cats are small animals.") => (0.2, 0.8),
        _ => (0.9, 0.1),
    };
    let mut options = DetectorOptions::default();
    options.selfcheck.nli_premise = NliPremise::Sample;
    let (report, rounds) = run(&mut SelfcheckNli::new(&options), &check, scorer(nli));
    near(claim_score(&report, 0), 0.8);
    assert_eq!(rounds.concat().len(), 1);
}

#[test]
fn a_long_sample_is_read_in_windows_and_the_one_that_agrees_most_counts() {
    let sample = "One two three four. Five six seven eight. Nine ten eleven twelve.";
    let check = Arc::new(sampled_check(&[sample], &["Nine ten."], 8));
    let nli = |_: &str, window: &str| if window.contains("Nine") { (0.9, 0.1) } else { (0.1, 0.9) };
    let (report, rounds) = run(&mut detector(), &check, scorer(nli));
    let asked: Vec<Work> = rounds.concat();
    assert_eq!(asked.len(), 2);
    for word in sample.split(' ') {
        let read = |work: &Work| matches!(work, Work::Pair { hypothesis, .. } if hypothesis.contains(word));
        assert!(asked.iter().any(read), "{word} is not read");
    }
    near(claim_score(&report, 0), 0.1);
}

#[test]
fn ten_sentences_and_twenty_samples_plan_two_hundred_pairs_and_equal_ones_once() {
    let sentences: Vec<String> = (0..10).map(|at| format!("Sentence number {at} says something.")).collect();
    let samples: Vec<String> = (0..20).map(|at| format!("Sample number {at} says something else.")).collect();
    let texts = |all: &[String]| all.to_vec();
    let plan = |samples: &[String], sentences: &[String]| {
        let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
        let sentences: Vec<&str> = sentences.iter().map(String::as_str).collect();
        let check = Arc::new(sampled_check(&samples, &sentences, 50));
        let planned = planned_items(detector(), &check);
        let (report, rounds) = run(&mut detector(), &check, scorer(|_, _| (0.5, 0.2)));
        assert_eq!((planned, report.work_items), (rounds.concat().len(), planned));
        assert_eq!(report.claims.len(), sentences.len());
        planned
    };
    assert_eq!(plan(&samples, &sentences), 200);
    let (mut same_samples, mut same_sentences) = (texts(&samples), texts(&sentences));
    same_samples[1] = same_samples[0].clone();
    same_sentences[9] = same_sentences[0].clone();
    assert_eq!(plan(&same_samples, &same_sentences), 9 * 19);
}

#[test]
fn a_sample_given_twice_counts_twice() {
    let nli = |_: &str, sample: &str| if sample.contains("Rome") { (0.0, 1.0) } else { (1.0, 0.0) };
    let samples = ["He lives in Rome.", "He lives in Paris.", "He lives in Rome."];
    near(claim_score(&checked(&samples, &["He lives in Paris."], nli), 0), 2.0 / 3.0);
}

#[test]
fn samples_that_tell_of_other_things_are_left_out_of_the_second_number() {
    let nli = |_: &str, sample: &str| if sample.contains("Paris") { (0.9, 0.1) } else { (0.1, 0.9) };
    let samples = ["She was born in Paris.", "She writes long novels.", "She paints."];
    let report = checked(&samples, &["She was born in Paris."], nli);
    near(claim_score(&report, 0), (0.1 + 0.9 + 0.9) / 3.0);
    near(claim_extra(&report, 0, "subject_only").unwrap(), 0.1);
    near(claim_extra(&report, 0, "subject_samples").unwrap(), 1.0);
    near(report.extra["subject_only"], 0.1);
}

#[test]
fn without_a_usable_sample_nothing_is_said() {
    for samples in [&[][..], &[""][..], &["...", " \n"][..]] {
        let check = Arc::new(sampled_check(samples, &["He lives in Paris."], 50));
        let (report, rounds) = run(&mut detector(), &check, scorer(|_, _| (0.5, 0.2)));
        assert!(rounds.is_empty());
        assert!(matches!(&report.score, Outcome::Abstained(reason) if reason.code == Code::WEAK_SAMPLES));
        assert!(matches!(report.claims[0], Outcome::Abstained(_)));
        assert_eq!(report.notes, []);
    }
}

#[test]
fn one_sample_identical_samples_and_wordless_ones_are_told_of() {
    let notes = |samples: &[&str]| {
        let report = checked(samples, &["He lives in Paris."], |_, _| (0.5, 0.2));
        assert!(report.score.scored().is_some());
        report.notes.iter().map(|(code, message)| format!("{code}: {message}")).collect::<Vec<_>>().join("; ")
    };
    assert!(notes(&["He lives there."]).contains("GL1017: there is one sample"));
    assert!(notes(&["He lives there."; 4]).contains("all 4 samples are the same text"));
    let mixed = notes(&["He lives there.", "!!", "He lives in Rome."]);
    assert_eq!(mixed, "GL1017: 1 of 3 samples have no word in them and were left out");
    assert_eq!(notes(&["He lives there.", "He lives in Rome."]), "");
}

#[test]
fn a_pair_without_a_score_fails_its_sentence_and_no_other() {
    let check = Arc::new(sampled_check(&["A cat.", "A dog."], &["It is a cat.", "It is a dog."], 50));
    let (report, _) = run(&mut detector(), &check, |work| match work {
        Work::Pair { premise, hypothesis, .. }
            if &**premise == "It is a cat." && &**hypothesis == "A dog." =>
        {
            Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up"))
        }
        _ => logits(0.25, 0.75),
    });
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::JOB_DEAD));
    near(claim_score(&report, 1), 0.75);
    near(report.score.scored().unwrap().value, 0.75);
    let (report, _) = run(&mut detector(), &check, |_| Outcome::Failed(Reason::new(Code::DEADLINE, "late")));
    assert!(matches!(&report.score, Outcome::Failed(reason) if reason.code == Code::DEADLINE));
}

#[test]
fn answers_of_the_wrong_kind_and_missing_ones_fail() {
    let check = Arc::new(sampled_check(&["A cat.", "A dog."], &["It is a cat."], 50));
    let mut detector = detector();
    let Next::Work(_) = detector.start(&check, &crate::testing::facts()) else { panic!("there is work") };
    let Next::Done(report) = detector.resume(&[Outcome::Scored(Score::Embedding([1.0].into()))]) else {
        panic!("there was one round")
    };
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::INTERNAL));
}

#[test]
fn rounds_are_bounded_and_what_makes_no_claim_is_left_out() {
    let mut check = sampled_check(&["A cat.", "A dog.", "A cow."], &["One.", "Two.", "Three."], 50);
    check.claims[1].kind = ClaimKind::Question;
    let options = DetectorOptions { pairs_per_round: 4, ..DetectorOptions::default() };
    let (report, rounds) = run(&mut SelfcheckNli::new(&options), &Arc::new(check), scorer(|_, _| (0.3, 0.3)));
    assert_eq!(rounds.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
    assert!(
        matches!(&report.claims[1], Outcome::Abstained(reason) if reason.code == Code::NO_CHECKABLE_CLAIM)
    );
    near(claim_score(&report, 2), 0.5);
}

#[test]
fn a_sentence_too_long_for_the_model_fails_alone() {
    let long = "word ".repeat(60);
    let check = Arc::new(sampled_check(&["A cat sat there."], &[&long, "A cat."], 50));
    let (report, rounds) = run(&mut detector(), &check, scorer(|_, _| (0.3, 0.1)));
    assert!(matches!(&report.claims[0], Outcome::Failed(reason) if reason.code == Code::CLAIM_TOO_LONG));
    near(claim_score(&report, 1), 0.25);
    assert_eq!(rounds.concat().len(), 1);
}

#[test]
fn a_model_of_two_classes_is_read_by_its_other_class() {
    let labels = NliLabels::from_names(&["entailment", "not_entailment"]).unwrap();
    let outcome = Outcome::Scored(Score::Logits([0.0, 3.0_f32.ln()].into()));
    near(read(Some(&outcome), &labels).unwrap(), 0.75);
}
