use super::*;
use crate::testing::{claim_extra, claim_score, judged, run_judged, sampled_check};
use groundline_types::Polarity;

fn detector() -> SelfcheckPrompt {
    SelfcheckPrompt::new(&DetectorOptions::default())
}

fn yes_no(question: &Question, yes: impl Fn(&str, &str) -> f64) -> Answered {
    let Question::SelfCheck { sentence, sample } = question else { panic!("it compares with samples") };
    judged(Outcome::Scored(Answer::Inconsistency(yes(sentence, sample))))
}

#[test]
fn the_number_is_the_mean_over_samples_of_yes_no_and_neither() {
    let samples = ["He lives in Paris.", "He lives in Rome.", "He likes tea.", "He lives in Paris."];
    let check = Arc::new(sampled_check(&samples, &["He lives in Paris."], 50));
    let (report, rounds) = run_judged(&mut detector(), &check, |question| {
        yes_no(question, |_, sample| match sample {
            "He lives in Paris." => 0.0,
            "He lives in Rome." => 1.0,
            _ => 0.5,
        })
    });
    // Two equal samples are asked about once and count twice.
    assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), 3);
    assert!((claim_score(&report, 0) - 1.5 / 4.0).abs() < 1e-12);
    assert!((report.score.scored().unwrap().value - 1.5 / 4.0).abs() < 1e-12);
    assert_eq!(report.score.scored().unwrap().polarity, Polarity::HigherIsHallucinated);
    assert_eq!(report.extra.get("questions"), Some(&3.0));
    assert!(report.claims[0].scored().unwrap().support.is_none(), "agreement is no support by a source");
}

#[test]
fn equal_sentences_are_asked_about_once_and_ten_by_twenty_are_two_hundred_questions() {
    let samples: Vec<String> = (0..20).map(|at| format!("Answer {at} is this.")).collect();
    let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
    let claims: Vec<String> = (0..10).map(|at| format!("Claim {at} is true.")).collect();
    let mut claims: Vec<&str> = claims.iter().map(String::as_str).collect();
    claims.push("Claim 3 is true.");
    let check = Arc::new(sampled_check(&samples, &claims, 50));
    let (report, rounds) = run_judged(&mut detector(), &check, |question| yes_no(question, |_, _| 1.0));
    assert_eq!(rounds.iter().map(Vec::len).sum::<usize>(), 200);
    assert_eq!((report.claims.len(), claim_score(&report, 10)), (11, 1.0));
}

#[test]
fn a_sample_without_an_answer_is_left_out_and_a_sentence_without_any_fails() {
    let check = Arc::new(sampled_check(&["First.", "Second."], &["It is red.", "It is old."], 50));
    let (report, _) = run_judged(&mut detector(), &check, |question| {
        let Question::SelfCheck { sentence, sample } = question else { panic!("it compares") };
        match (&**sentence, &**sample) {
            ("It is red.", "First.") => judged(Outcome::Scored(Answer::Inconsistency(1.0))),
            _ => judged(Outcome::Failed(Reason::new(Code::JUDGE_BUDGET, "spent"))),
        }
    });
    assert_eq!((claim_score(&report, 0), claim_extra(&report, 0, "answered_samples")), (1.0, Some(1.0)));
    assert!(matches!(&report.claims[1], Outcome::Failed(reason) if reason.code == Code::JUDGE_BUDGET));
    assert!(
        report.notes.iter().any(|(code, text)| *code == Code::JUDGE_BUDGET && text.starts_with("3 of 4"))
    );
}

#[test]
fn without_samples_nothing_is_asked() {
    let check = Arc::new(sampled_check(&[], &["It is red."], 50));
    let (report, rounds) = run_judged(&mut detector(), &check, |_| panic!("nothing to ask"));
    assert!(rounds.is_empty());
    assert!(matches!(&report.claims[0], Outcome::Abstained(reason) if reason.code == Code::WEAK_SAMPLES));
}
