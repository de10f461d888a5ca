//! What holds of every decision.

use super::*;
use proptest::prelude::*;

fn any_probability() -> impl Strategy<Value = Option<Probability>> {
    prop_oneof![5 => (0.0_f32..=1.0).prop_map(|value| Some(p(value))), 1 => Just(None)]
}

fn any_outcome() -> impl Strategy<Value = Outcome<ClaimFinding>> {
    let finding = (any_probability(), any_probability(), any_probability(), 0_usize..5, any::<bool>());
    let scored = finding.prop_map(|(support, contradiction, neutral, sentence, conflict)| {
        let probabilities = NliProbabilities { entailment: p(0.2), contradiction: p(0.3), neutral: p(0.5) };
        Outcome::Scored(ClaimFinding {
            support,
            contradiction,
            neutral,
            evidence: vec![EvidencePick { source: sentence / 3, sentence, probabilities }],
            numeric_conflict: conflict.then(|| "1 here, 2 in the evidence".to_owned()),
            ..ClaimFinding::default()
        })
    });
    let reason = || Reason::new(Code::JOB_DEAD, "given up");
    prop_oneof![4 => scored, 1 => Just(Outcome::Failed(reason())), 1 => Just(Outcome::Abstained(reason()))]
}

fn any_report() -> impl Strategy<Value = Report> {
    let method =
        prop_oneof![Just("entailment"), Just("summac"), Just("summac_conv"), Just("numeric"), Just("other")];
    let number = prop_oneof![4 => -1.0_f64..2.0, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY)];
    let outcomes = || proptest::collection::vec(any_outcome(), 0..5);
    let facts = proptest::collection::vec(outcomes(), 0..4);
    (method, outcomes(), facts, number.clone(), number, any::<bool>()).prop_map(
        |(method, claims, facts, score, extra, ok)| {
            let mut report = report(method, claims, score);
            report.facts = facts;
            report.extra.insert("summac_zs", extra);
            if !ok {
                report.score = Outcome::Failed(Reason::new(Code::JOB_DEAD, "given up"));
            }
            report
        },
    )
}

proptest! {
    #[test]
    fn any_reports_give_a_decision_that_keeps_the_promises(
        kinds in proptest::collection::vec(prop_oneof![3 => Just(ClaimKind::Statement), 1 => Just(ClaimKind::Question)], 0..6),
        reports in proptest::collection::vec(any_report(), 0..5),
        facts: bool,
    ) {
        let claims: Vec<Claim> = kinds.iter().map(|kind| claim("a claim", *kind, &[])).collect();
        let check = check_of(claims, facts, true);
        let decision = decide(&check, &reports, &VerdictPolicy::default());
        prop_assert_eq!(decision.sentences.len(), kinds.len());
        let is_scored = |sentence: &&SentenceResult| sentence.status == SentenceStatus::Scored;
        let all_checked = kinds.iter().zip(&decision.sentences).all(|(kind, sentence)| {
            !kind.is_checkable() || sentence.status == SentenceStatus::Scored
        });
        prop_assert_eq!(decision.coverage == Some(1.0), all_checked && decision.sentences.iter().any(|s| is_scored(&s)));
        prop_assert_eq!(decision.status == Status::Scored, decision.coverage == Some(1.0));
        for (kind, sentence) in kinds.iter().zip(&decision.sentences) {
            let scored = is_scored(&sentence);
            prop_assert!(!scored || kind.is_checkable());
            prop_assert_eq!(scored, sentence.verdict.is_some());
            prop_assert_eq!(scored, sentence.support_probability.is_some());
            prop_assert_eq!(scored, sentence.contradiction_probability.is_some());
            prop_assert_eq!(scored, sentence.neutral_probability.is_some());
            for fact in &sentence.facts {
                prop_assert_eq!(fact.status == SentenceStatus::Scored, fact.verdict.is_some());
            }
        }
        prop_assert_eq!(decision.verdict.is_some(), decision.sentences.iter().any(|s| is_scored(&s)));
        prop_assert_eq!(decision.action.is_some(), decision.verdict.is_some());
        if decision.action == Some(Action::Accept) {
            prop_assert_eq!((decision.verdict, decision.coverage), (Some(Verdict::Supported), Some(1.0)));
        }
        let supports: Vec<Probability> = decision.sentences.iter().filter_map(|s| s.support_probability).collect();
        let max = supports.iter().copied().reduce(Probability::max);
        let scores = &decision.scores;
        for mean in [scores.mean, scores.weighted] {
            prop_assert!(scores.min <= mean && mean <= max);
        }
        let json = serde_json::to_string(&(&decision.sentences, &decision.scores, &decision.methods)).unwrap();
        prop_assert!(!json.contains("NaN"));
        prop_assert!(decision.methods.values().all(|method| method.score.is_none_or(f64::is_finite)));
        prop_assert!(scores.summac_zs.is_none_or(f64::is_finite));
    }
}
