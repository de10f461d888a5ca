use super::*;
use groundline_types::{
    AtomicFact, CheckRequest, Claim, ClaimFinding, ClaimKind, Code, EvidencePick, EvidenceSentence,
    HighStakesTag, MethodScore, MethodStatus, NliProbabilities, Outcome, Polarity, PreparedSource,
    Probability, Reason, Span, SupportMatrix, VerdictReason,
};
use std::sync::Arc;

mod judge;
mod promises;
mod samples;
mod stages;

fn p(value: f32) -> Probability {
    Probability::new(value).unwrap()
}

fn claim(text: &str, kind: ClaimKind, tags: &[HighStakesTag]) -> Claim {
    let fact = AtomicFact { text: format!("{text} fact").into(), span: Span::new(0, 1) };
    Claim {
        span: Span::new(0, text.len()),
        text: text.into(),
        places: Default::default(),
        kind,
        tags: tags.to_vec(),
        facts: vec![fact],
    }
}

fn check_of(claims: Vec<Claim>, facts: bool, matrix: bool) -> PreparedCheck {
    let texts = ["one", "two", "three"];
    let sentence = |at: usize| EvidenceSentence {
        span: Span::new(at * 10, at * 10 + 3),
        text: texts[at].into(),
        tokens: 1,
    };
    let source = PreparedSource {
        id: "source-1".into(),
        text: "x".into(),
        sentences: (0..3).map(sentence).collect(),
        windows: Vec::new(),
    };
    let mut request = CheckRequest::new("r", "s");
    (request.facts, request.matrix) = (facts, matrix);
    PreparedCheck {
        request: Arc::new(request),
        claims,
        before: None,
        sources: vec![source],
        samples: Vec::new(),
        refused: Default::default(),
        derived: Default::default(),
    }
}

fn statements(count: usize) -> PreparedCheck {
    check_of((0..count).map(|_| claim("a claim", ClaimKind::Statement, &[])).collect(), false, false)
}

fn scored(support: f32, contradiction: f32) -> Outcome<ClaimFinding> {
    let pick = |sentence: usize| EvidencePick {
        source: 0,
        sentence,
        probabilities: NliProbabilities { entailment: p(0.2), contradiction: p(0.3), neutral: p(0.5) },
    };
    Outcome::Scored(ClaimFinding {
        support: Some(p(support)),
        contradiction: Some(p(contradiction)),
        neutral: Some(p(0.1)),
        evidence: vec![pick(0), pick(1), pick(2)],
        ..ClaimFinding::default()
    })
}

fn failed() -> Outcome<ClaimFinding> {
    Outcome::Failed(Reason::new(Code::DEADLINE, "too late"))
}

fn report(method: &'static str, claims: Vec<Outcome<ClaimFinding>>, score: f64) -> Report {
    Report {
        method,
        claims,
        facts: Vec::new(),
        score: Outcome::Scored(MethodScore { value: score, polarity: Polarity::HigherIsSupported }),
        extra: BTreeMap::new(),
        matrix: None,
        notes: Vec::new(),
        work_items: 7,
    }
}

fn entailment(claims: Vec<Outcome<ClaimFinding>>) -> Report {
    report("entailment", claims, 0.5)
}

fn decided(claims: Vec<Outcome<ClaimFinding>>) -> Decision {
    decide(&statements(claims.len()), &[entailment(claims)], &VerdictPolicy::default())
}

#[test]
fn the_rule_has_three_outcomes_with_their_reasons() {
    for (support, contradiction, verdict, reason) in [
        (0.9, 0.0, Verdict::Supported, VerdictReason::Entailed),
        (0.5, 0.5, Verdict::Supported, VerdictReason::Entailed),
        (0.6, 0.7, Verdict::Contradicted, VerdictReason::Contradicted),
        (0.7, 0.6, Verdict::Supported, VerdictReason::Entailed),
        (0.1, 0.5, Verdict::Contradicted, VerdictReason::Contradicted),
        (0.1, 0.49, Verdict::NotMentioned, VerdictReason::NoEvidence),
        (0.49, 0.2, Verdict::NotMentioned, VerdictReason::NoEvidence),
    ] {
        let decision = decided(vec![scored(support, contradiction)]);
        let sentence = &decision.sentences[0];
        assert_eq!((sentence.verdict, sentence.reason), (Some(verdict), reason), "{support} {contradiction}");
        assert_eq!(sentence.support_probability, Some(p(support)));
        assert_eq!(decision.verdict, Some(verdict));
        assert_eq!(sentence.evidence.len(), 3);
        assert_eq!((sentence.evidence[1].start, sentence.evidence[1].text.as_str()), (10, "two"));
    }
}

#[test]
fn the_worst_sentence_decides_for_the_response() {
    let decision = decided(vec![scored(0.9, 0.0), scored(0.2, 0.1), scored(0.8, 0.0)]);
    assert_eq!(decision.verdict, Some(Verdict::NotMentioned));
    assert_eq!(decision.action, Some(Action::RetrieveMore));
    assert!(decision.alert);
    let decision = decided(vec![scored(0.2, 0.1), scored(0.1, 0.9)]);
    assert_eq!((decision.verdict, decision.action), (Some(Verdict::Contradicted), Some(Action::Block)));
    let decision = decided(vec![scored(0.9, 0.1), scored(0.8, 0.0)]);
    assert_eq!((decision.verdict, decision.action), (Some(Verdict::Supported), Some(Action::Accept)));
    assert!(!decision.alert);
    assert_eq!((decision.status, decision.coverage), (Status::Scored, Some(1.0)));
}

#[test]
fn high_stakes_sentences_weigh_more() {
    let claims =
        vec![claim("a", ClaimKind::Statement, &[HighStakesTag::Date]), claim("b", ClaimKind::Statement, &[])];
    let check = check_of(claims, false, false);
    let decision =
        decide(&check, &[entailment(vec![scored(0.2, 0.0), scored(0.8, 0.0)])], &VerdictPolicy::default());
    assert_eq!(decision.sentences.iter().map(|s| s.weight).collect::<Vec<_>>(), [2.0, 1.0]);
    assert_eq!(decision.scores.min, Some(p(0.2)));
    assert_eq!(decision.scores.mean, Some(p(0.5)));
    assert!((decision.scores.weighted.unwrap().get() - 0.4).abs() < 1e-6);
}

#[test]
fn a_numeric_conflict_contradicts_and_leaves_the_probabilities() {
    let mut conflict = scored(0.0, 0.0).scored().cloned().unwrap();
    (conflict.support, conflict.contradiction) = (None, None);
    conflict.evidence.truncate(2);
    conflict.evidence.remove(0);
    conflict.numeric_conflict = Some("1905 here, 1903 in the evidence".to_owned());
    let numeric = report("numeric", vec![Outcome::Scored(conflict)], 0.0);
    let check = statements(1);
    let decision =
        decide(&check, &[entailment(vec![scored(0.9, 0.0)]), numeric.clone()], &VerdictPolicy::default());
    let sentence = &decision.sentences[0];
    assert_eq!((sentence.verdict, sentence.reason), (Some(Verdict::Contradicted), VerdictReason::Numeric));
    assert_eq!(sentence.support_probability, Some(p(0.9)));
    assert_eq!(sentence.detail.as_deref(), Some("1905 here, 1903 in the evidence"));
    let order: Vec<&str> = sentence.evidence.iter().map(|item| item.text.as_str()).collect();
    assert_eq!(order, ["two", "one", "three"], "the sentence that it conflicts with leads");
    assert_eq!(decision.action, Some(Action::Block));
    // What was not scored is not contradicted either.
    let decision = decide(&check, &[entailment(vec![failed()]), numeric.clone()], &VerdictPolicy::default());
    assert_eq!((decision.sentences[0].verdict, decision.status), (None, Status::Failed));
    let decision = decide(&check, &[numeric], &VerdictPolicy::default());
    assert_eq!((decision.sentences[0].verdict, decision.action), (None, None));
    assert!(decision.sentences[0].detail.as_deref().unwrap().contains("1905 here"));
}

fn conflicting() -> Outcome<ClaimFinding> {
    let numeric_conflict = Some("1905 here, 1903 in the evidence".to_owned());
    Outcome::Scored(ClaimFinding { numeric_conflict, ..ClaimFinding::default() })
}

#[test]
fn a_numeric_conflict_blocks_and_raises_no_alert_where_the_support_is_high() {
    let reports = [entailment(vec![scored(0.85, 0.0)]), report("numeric", vec![conflicting()], 0.0)];
    let decision = decide(&statements(1), &reports, &VerdictPolicy::default());
    assert_eq!(
        (decision.verdict, decision.action, decision.alert),
        (Some(Verdict::Contradicted), Some(Action::Block), false)
    );
    assert_eq!(decision.scores.min, Some(p(0.85)));
}

#[test]
fn methods_that_give_no_verdict_abstain_and_keep_their_scores() {
    let mut check = statements(2);
    check.claims.push(claim("Hello!", ClaimKind::Pleasantry, &[]));
    let reports = [report("numeric", vec![conflicting(); 3], 0.5), report("summac_conv", Vec::new(), 0.7)];
    let decision = decide(&check, &reports, &VerdictPolicy::default());
    assert_eq!((decision.status, decision.verdict, decision.action), (Status::Abstained, None, None));
    assert_eq!((decision.coverage, decision.alert), (Some(0.0), false));
    for sentence in &decision.sentences[..2] {
        assert_eq!((sentence.status, sentence.reason), (SentenceStatus::Abstained, VerdictReason::Unchecked));
        assert!(sentence.detail.as_deref().unwrap().contains("add entailment or summac"));
    }
    assert_eq!(decision.sentences[2].reason, VerdictReason::NotAClaim);
    assert_eq!(decision.notes.len(), 1);
    assert_eq!(decision.notes[0].code, Code::UNKNOWN_METHOD);
    assert_eq!(decision.notes[0].location.as_deref(), Some("sentences 1-2"));
    assert_eq!(decision.methods["numeric"].score, Some(0.5));
    assert_eq!(
        (decision.methods["summac_conv"].score, decision.scores.summac_conv),
        (Some(0.7), Some(p(0.7)))
    );
}

#[test]
fn unchecked_sentences_make_the_result_partial_and_are_named() {
    let decision = decided(vec![scored(0.9, 0.0), failed(), failed(), scored(0.8, 0.0), failed()]);
    assert_eq!((decision.status, decision.coverage), (Status::Partial, Some(0.4)));
    assert_eq!((decision.verdict, decision.action), (Some(Verdict::Supported), Some(Action::Review)));
    let sentence = &decision.sentences[1];
    assert_eq!((sentence.status, sentence.reason), (SentenceStatus::Failed, VerdictReason::Unchecked));
    assert_eq!((sentence.support_probability, sentence.verdict), (None, None));
    assert_eq!(decision.notes.len(), 1);
    assert_eq!(decision.notes[0].code, Code::DEADLINE);
    assert_eq!(decision.notes[0].location.as_deref(), Some("sentences 2-3, 5"));
}

#[test]
fn a_response_without_a_claim_is_abstained_from_with_a_note() {
    let check = check_of(vec![claim("Hello!", ClaimKind::Pleasantry, &[])], false, false);
    let decision = decide(&check, &[], &VerdictPolicy::default());
    assert_eq!((decision.status, decision.verdict, decision.action), (Status::Abstained, None, None));
    assert_eq!((decision.coverage, decision.alert), (None, false));
    assert_eq!(decision.notes[0].code, Code::NO_CHECKABLE_CLAIM);
    assert_eq!(decision.sentences[0].reason, VerdictReason::NotAClaim);
    assert_eq!(decision.sentences[0].status, SentenceStatus::Abstained);
}

#[test]
fn nothing_scored_is_a_failed_result_without_a_verdict() {
    for reports in [vec![], vec![entailment(Vec::new())], vec![entailment(vec![failed()])]] {
        let decision = decide(&statements(1), &reports, &VerdictPolicy::default());
        assert_eq!((decision.status, decision.verdict, decision.action), (Status::Failed, None, None));
        assert_eq!((decision.coverage, decision.scores.min), (Some(0.0), None));
        assert_eq!(decision.notes.len(), 1);
    }
}

#[test]
fn summac_decides_where_entailment_did_not_report() {
    let summac = report("summac", vec![scored(0.8, 0.1)], 0.8);
    let decision = decide(&statements(1), std::slice::from_ref(&summac), &VerdictPolicy::default());
    assert_eq!(decision.verdict, Some(Verdict::Supported));
    let decision = decide(&statements(1), &[summac, entailment(vec![failed()])], &VerdictPolicy::default());
    assert_eq!(decision.verdict, None, "a sentence that entailment did not score stays unchecked");
}

#[test]
fn numbers_of_methods_are_copied_where_they_are_numbers() {
    let mut summac = report("summac", vec![scored(0.8, 0.1)], 0.8);
    summac.extra.insert("summac_zs", -0.25);
    let mut conv = report("summac_conv", Vec::new(), f64::NAN);
    conv.notes.push((Code::FOREIGN_BACKBONE, "foreign".to_owned()));
    let reports = [entailment(vec![scored(0.8, 0.1)]), summac, conv];
    let decision = decide(&statements(1), &reports, &VerdictPolicy::default());
    assert_eq!((decision.scores.summac, decision.scores.summac_zs), (Some(p(0.8)), Some(-0.25)));
    assert_eq!(decision.scores.summac_conv, None);
    assert_eq!(decision.methods["summac_conv"].status, MethodStatus::Failed);
    assert_eq!(decision.methods["entailment"].work_items, 7);
    assert_eq!(decision.notes[0].location.as_deref(), Some("method summac_conv"));
}

#[test]
fn strong_disagreement_asks_for_review() {
    let with = |conv: f64, foreign: bool| {
        let mut report = report("summac_conv", Vec::new(), conv);
        if foreign {
            report.notes.push((Code::FOREIGN_BACKBONE, "foreign".to_owned()));
        }
        decide(&statements(1), &[entailment(vec![scored(0.9, 0.0)]), report], &VerdictPolicy::default())
            .action
    };
    assert_eq!(with(0.3, false), Some(Action::Review));
    assert_eq!(with(0.6, false), Some(Action::Accept));
    assert_eq!(with(0.3, true), Some(Action::Accept), "a layer fitted to another model has no say");
}

#[test]
fn facts_are_decided_like_sentences() {
    let claims = vec![claim("a", ClaimKind::Statement, &[]), claim("b", ClaimKind::Statement, &[])];
    let check = check_of(claims, true, false);
    let mut report = entailment(vec![scored(0.9, 0.0), scored(0.9, 0.0)]);
    report.facts = vec![vec![scored(0.1, 0.9)]];
    let decision = decide(&check, &[report], &VerdictPolicy::default());
    let fact = &decision.sentences[0].facts[0];
    assert_eq!((fact.verdict, fact.text.as_str()), (Some(Verdict::Contradicted), "a fact"));
    assert_eq!(decision.sentences[0].verdict, Some(Verdict::Supported));
    assert_eq!((fact.weight, fact.tags.as_slice(), fact.detail.as_deref()), (1.0, &[][..], None));
    let missing = &decision.sentences[1].facts[0];
    assert_eq!((missing.status, missing.verdict), (SentenceStatus::Failed, None));
    assert_eq!(missing.detail.as_deref(), Some("the method gave no finding for this fact"));
}

#[test]
fn conflicts_of_numbers_contradict_facts_too() {
    let mut sentence = claim("a", ClaimKind::Statement, &[HighStakesTag::Date]);
    sentence.facts.push(AtomicFact { text: "other fact".into(), span: Span::new(0, 1) });
    sentence.facts.push(AtomicFact { text: sentence.text.clone(), span: Span::new(0, 1) });
    let check = check_of(vec![sentence], true, false);
    let mut deciding = entailment(vec![scored(0.85, 0.0)]);
    deciding.facts = vec![vec![scored(0.9, 0.0), scored(0.8, 0.0), scored(0.7, 0.0)]];
    let mut numeric = report("numeric", vec![conflicting()], 0.0);
    numeric.facts = vec![vec![conflicting(), Outcome::Scored(ClaimFinding::default())]];
    let decision = decide(&check, &[deciding, numeric], &VerdictPolicy::default());
    let sentence = &decision.sentences[0];
    let [with, without, whole] = &sentence.facts[..] else { panic!("three facts") };
    assert_eq!((with.verdict, with.reason), (Some(Verdict::Contradicted), VerdictReason::Numeric));
    assert_eq!(with.detail.as_deref(), Some("1905 here, 1903 in the evidence"));
    assert_eq!((with.support_probability, with.weight), (Some(p(0.9)), 2.0));
    assert_eq!(with.tags, [HighStakesTag::Date]);
    assert_eq!((without.verdict, without.detail.as_deref()), (Some(Verdict::Supported), None));
    // Word for word the sentence: the sentence's decision.
    assert_eq!((whole.verdict, whole.reason), (sentence.verdict, VerdictReason::Numeric));
    assert_eq!((whole.support_probability, &whole.evidence), (Some(p(0.85)), &sentence.evidence));
    assert_eq!(whole.detail, sentence.detail);
}

#[test]
fn facts_that_no_method_was_asked_about_are_abstained_from() {
    let check = check_of(vec![claim("a", ClaimKind::Statement, &[])], true, false);
    for (method, needed) in [("summac", "add entailment"), ("numeric", "add entailment or summac")] {
        let decision =
            decide(&check, &[report(method, vec![scored(0.8, 0.1)], 0.8)], &VerdictPolicy::default());
        let fact = &decision.sentences[0].facts[0];
        assert_eq!((fact.status, fact.verdict), (SentenceStatus::Abstained, None));
        assert!(fact.detail.as_deref().unwrap().ends_with(needed), "{method}: {:?}", fact.detail);
    }
}

#[test]
fn the_matrix_keeps_its_places_and_holes() {
    let pair = NliProbabilities { entailment: p(0.2), contradiction: p(0.3), neutral: p(0.5) };
    let mut report = entailment(vec![scored(0.9, 0.0)]);
    report.matrix = Some(SupportMatrix {
        rows: vec![(0, 2), (9, 9)],
        columns: vec![0, 5],
        entries: vec![Some(pair), None, None],
    });
    let check = check_of(vec![claim("a", ClaimKind::Statement, &[])], false, true);
    let matrix = decide(&check, std::slice::from_ref(&report), &VerdictPolicy::default()).matrix.unwrap();
    assert_eq!((matrix.rows.len(), matrix.rows[0].text.as_str()), (1, "three"));
    assert_eq!((matrix.columns.as_slice(), matrix.entailment), (&[0][..], vec![vec![Some(p(0.2))]]));
    assert_eq!(decide(&statements(1), &[report], &VerdictPolicy::default()).matrix, None);
}
