//! What methods without a source have to do with a verdict.

use super::*;

/// A method's own number for a claim.
fn own(score: f64) -> Outcome<ClaimFinding> {
    let extra = BTreeMap::from([("subject_only", score / 2.0), ("broken", f64::NAN)]);
    Outcome::Scored(ClaimFinding { score: Some(score), extra, ..ClaimFinding::default() })
}

fn selfcheck(claims: Vec<Outcome<ClaimFinding>>) -> Report {
    let mut report = report("selfcheck_nli", claims, 0.4);
    report.score = Outcome::Scored(MethodScore { value: 0.4, polarity: Polarity::HigherIsHallucinated });
    report.extra.insert("subject_only", 0.2);
    report
}

fn without_source(count: usize) -> PreparedCheck {
    PreparedCheck { sources: Vec::new(), ..statements(count) }
}

#[test]
fn a_method_shows_its_own_number_for_each_sentence_and_nothing_that_is_not_finite() {
    let reports = [selfcheck(vec![own(0.4), failed(), Outcome::Scored(ClaimFinding::default())])];
    let decision = decide(&statements(3), &reports, &VerdictPolicy::default());
    let method = &decision.methods["selfcheck_nli"];
    let shown = |at: usize| (method.sentences[at].status, method.sentences[at].score);
    assert_eq!(shown(0), (SentenceStatus::Scored, Some(0.4)));
    assert_eq!(shown(1), (SentenceStatus::Failed, None));
    assert_eq!(shown(2), (SentenceStatus::Abstained, None));
    assert_eq!(method.sentences[0].extra, BTreeMap::from([("subject_only".to_owned(), 0.2)]));
    assert_eq!(method.extra["subject_only"], 0.2);
    assert_eq!((method.score, method.polarity), (Some(0.4), Polarity::HigherIsHallucinated));
    let plain = decide(&statements(1), &[entailment(vec![scored(0.9, 0.0)])], &VerdictPolicy::default());
    assert_eq!(plain.methods["entailment"].sentences, [], "its numbers are the verdict's own");
}

#[test]
fn agreement_of_samples_is_no_verdict_with_a_source_or_without() {
    for check in [statements(1), without_source(1)] {
        let decision = decide(&check, &[selfcheck(vec![own(0.0)])], &VerdictPolicy::default());
        assert_eq!((decision.status, decision.verdict), (Status::Abstained, None));
        assert_eq!((decision.alert, decision.scores.min), (false, None));
    }
}

#[test]
fn without_a_source_every_sentence_is_abstained_from_and_told_why() {
    let reason = || Reason::new(Code::EMPTY_SOURCE, "there is no sentence of evidence to check against");
    let mut nothing = entailment(vec![Outcome::Abstained(reason()); 2]);
    nothing.score = Outcome::Abstained(reason());
    let reports = [nothing, selfcheck(vec![own(0.1), own(0.9)])];
    let decision = decide(&without_source(2), &reports, &VerdictPolicy::default());
    assert_eq!((decision.status, decision.verdict, decision.coverage), (Status::Abstained, None, Some(0.0)));
    assert_eq!((decision.notes.len(), decision.notes[0].code), (1, Code::EMPTY_SOURCE));
    assert_eq!(decision.notes[0].location.as_deref(), Some("sentences 1-2"));
}

#[test]
fn the_support_head_decides_after_entailment_and_summac() {
    let support = report("support", vec![scored(0.9, 0.0)], 0.9);
    let alone = decide(&statements(1), std::slice::from_ref(&support), &VerdictPolicy::default());
    assert_eq!(alone.verdict, Some(Verdict::Supported));
    let summac = report("summac", vec![scored(0.1, 0.0)], 0.1);
    let both = decide(&statements(1), &[summac, support], &VerdictPolicy::default());
    assert_eq!(both.verdict, Some(Verdict::NotMentioned));
}
