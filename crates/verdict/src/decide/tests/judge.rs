//! What a judge's verdict counts, and reasons that name a source's hedges.

use super::*;
use groundline_types::SourceHedge;

fn judge(claims: Vec<Outcome<ClaimFinding>>) -> Report {
    report("judge", claims, 0.5)
}

fn judged(support: f32, contradiction: f32) -> Outcome<ClaimFinding> {
    scored(support, contradiction)
        .map(|finding| ClaimFinding { remark: Some("Because.".to_owned()), ..finding })
}

fn escalated() -> Roles {
    Roles { fallback: Some("entailment"), escalation: Some("judge"), ..Roles::default() }
}

#[test]
fn alone_a_judge_decides_and_its_words_are_the_detail() {
    let decision =
        decide(&statements(2), &[judge(vec![judged(0.9, 0.0), judged(0.0, 0.9)])], &VerdictPolicy::default());
    let [first, second] = &decision.sentences[..] else { panic!("two sentences") };
    assert_eq!((first.verdict, first.reason), (Some(Verdict::Supported), VerdictReason::Judge));
    assert_eq!((second.verdict, second.reason), (Some(Verdict::Contradicted), VerdictReason::Judge));
    assert_eq!(first.detail.as_deref(), Some("Because."));
}

#[test]
fn beside_a_model_for_inference_it_decides_nothing_and_a_strong_disagreement_is_noted() {
    let reports = [
        entailment(vec![scored(0.9, 0.0), scored(0.8, 0.0)]),
        judge(vec![judged(0.8, 0.0), judged(0.1, 0.9)]),
    ];
    let decision = decide(&statements(2), &reports, &VerdictPolicy::default());
    assert_eq!((decision.verdict, decision.action), (Some(Verdict::Supported), Some(Action::Review)));
    assert!(decision.sentences.iter().all(|sentence| sentence.reason == VerdictReason::Entailed));
    let note = decision.notes.iter().find(|note| note.code == Code::JUDGE_CONFLICT).unwrap();
    assert_eq!(note.location.as_deref(), Some("sentence 2"));
    let agreeing = [entailment(vec![scored(0.9, 0.0)]), judge(vec![judged(0.7, 0.0)])];
    let decision = decide(&statements(1), &agreeing, &VerdictPolicy::default());
    assert_eq!((decision.action, decision.notes.len()), (Some(Action::Accept), 0));
}

#[test]
fn brought_in_by_a_grey_zone_it_decides_what_it_scored_and_nothing_else() {
    let outside = Outcome::Abstained(Reason::new(Code::POLICY_STAGE, "outside"));
    let refused = Outcome::Failed(Reason::new(Code::JUDGE_REFUSED, "refused"));
    let first = entailment(vec![scored(0.45, 0.1), scored(0.95, 0.0), scored(0.4, 0.0)]);
    let reports = [first, judge(vec![judged(0.9, 0.0), outside, refused])];
    let decision = decide_staged(&statements(3), &reports, &escalated(), &VerdictPolicy::default());
    let reasons = decision.sentences.iter().map(|sentence| sentence.reason).collect::<Vec<_>>();
    assert_eq!(reasons, [VerdictReason::Judge, VerdictReason::Entailed, VerdictReason::NoEvidence]);
    assert_eq!(decision.sentences[0].verdict, Some(Verdict::Supported));
    assert_eq!(decision.status, Status::Scored, "what the judge refused keeps its first verdict");
    assert!(decision.notes.iter().all(|note| note.code != Code::JUDGE_CONFLICT), "{:?}", decision.notes);
}

#[test]
fn a_conflict_of_numbers_stands_against_a_judge() {
    let mut numeric = report("numeric", vec![scored(0.0, 0.0)], 1.0);
    let conflict =
        ClaimFinding { numeric_conflict: Some("1905 is not 1903".to_owned()), ..ClaimFinding::default() };
    numeric.claims = vec![Outcome::Scored(conflict)];
    let decision =
        decide(&statements(1), &[judge(vec![judged(0.9, 0.0)]), numeric], &VerdictPolicy::default());
    let sentence = &decision.sentences[0];
    assert_eq!((sentence.verdict, sentence.reason), (Some(Verdict::Contradicted), VerdictReason::Numeric));
    assert_eq!(sentence.detail.as_deref(), Some("1905 is not 1903"));
}

#[test]
fn a_judge_that_fails_leaves_no_verdict() {
    let refused = Outcome::Failed(Reason::new(Code::JUDGE_REFUSED, "refused"));
    let decision = decide(&statements(1), &[judge(vec![refused])], &VerdictPolicy::default());
    assert_eq!((decision.status, decision.verdict, decision.action), (Status::Failed, None, None));
    assert_eq!(decision.sentences[0].support_probability, None);
    assert!(decision.notes.iter().any(|note| note.code == Code::JUDGE_REFUSED));
}

fn hedged(
    support: f32,
    contradiction: f32,
    is_disputed: bool,
    says_all: bool,
) -> (Option<Verdict>, VerdictReason, Option<String>) {
    let hedge = SourceHedge { is_disputed, words: "is thought to".to_owned(), says_all };
    let claim = scored(support, contradiction).map(|finding| ClaimFinding { hedge: Some(hedge), ..finding });
    let sentence = decided(vec![claim]).sentences.remove(0);
    assert_eq!(sentence.support_probability, Some(p(support)), "probabilities stay");
    (sentence.verdict, sentence.reason, sentence.detail)
}

#[test]
fn a_hedge_of_the_source_is_the_reason_and_changes_no_verdict() {
    for (support, contradiction, disputed, all, verdict, reason) in [
        (0.3, 0.1, false, false, Verdict::NotMentioned, VerdictReason::HedgedSource),
        (0.3, 0.1, true, false, Verdict::NotMentioned, VerdictReason::DisputedSource),
        (0.8, 0.1, false, false, Verdict::Supported, VerdictReason::HedgedSource),
        (0.1, 0.8, false, true, Verdict::Contradicted, VerdictReason::HedgedSource),
        (0.1, 0.8, true, true, Verdict::Contradicted, VerdictReason::DisputedSource),
        // Something else may be the difference.
        (0.1, 0.8, true, false, Verdict::Contradicted, VerdictReason::Contradicted),
    ] {
        let (found, why, detail) = hedged(support, contradiction, disputed, all);
        assert_eq!((found, why), (Some(verdict), reason), "{support} {contradiction} {disputed} {all}");
        let names = why != VerdictReason::Contradicted;
        assert_eq!(detail.is_some_and(|detail| detail.contains("“is thought to”")), names);
    }
}
