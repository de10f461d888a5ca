//! What to do, and methods in stages.

use super::*;

/// A policy with an action of its own for every rule, so that no two rules can be taken for each other.
fn every_action(rule: &str, action: Action) -> VerdictPolicy {
    let mut policy = VerdictPolicy::default();
    let actions = &mut policy.actions;
    for name in ["contradicted", "not_mentioned", "partial", "disagreement", "supported"] {
        let place = match name {
            "contradicted" => &mut actions.contradicted,
            "not_mentioned" => &mut actions.not_mentioned,
            "partial" => &mut actions.partial,
            "disagreement" => &mut actions.disagreement,
            _ => &mut actions.supported,
        };
        *place = if name == rule { action } else { Action::Accept };
        if name != rule && action == Action::Accept {
            *place = Action::Block;
        }
    }
    policy
}

#[test]
fn every_rule_for_what_to_do_has_its_case_and_its_setting() {
    let summac = |score| report("summac", vec![scored(0.9, 0.0); 2], score);
    let (good, silent, wrong) = (scored(0.9, 0.0), scored(0.2, 0.1), scored(0.1, 0.9));
    let cases = [
        ("contradicted", Action::Block, vec![wrong.clone(), failed()], 0.9),
        ("contradicted", Action::Block, vec![wrong, silent.clone()], 0.1),
        ("not_mentioned", Action::RetrieveMore, vec![silent.clone(), good.clone()], 0.0),
        ("not_mentioned", Action::RetrieveMore, vec![silent, failed()], 0.9),
        ("partial", Action::Review, vec![good.clone(), failed()], 0.1),
        ("disagreement", Action::Review, vec![good.clone(), good.clone()], 0.3),
        ("supported", Action::Accept, vec![good.clone(), good], 0.6),
    ];
    for (rule, by_default, claims, score) in cases {
        let check = statements(claims.len());
        let reports = [entailment(claims), summac(score)];
        let decide = |policy: &VerdictPolicy| decide(&check, &reports, policy).action;
        assert_eq!(decide(&VerdictPolicy::default()), Some(by_default), "{rule}");
        for action in [Action::Accept, Action::RetrieveMore, Action::Review, Action::Block] {
            assert_eq!(decide(&every_action(rule, action)), Some(action), "{rule}");
        }
    }
    assert_eq!(decided(vec![failed()]).action, None, "without a verdict there is nothing to do");
    assert_eq!(decided(vec![]).action, None);
}

#[test]
fn a_later_stage_leaves_what_it_could_not_score_to_the_earlier_one() {
    let roles = Roles { fallback: Some("summac"), ..Roles::default() };
    let reports = [
        entailment(vec![failed(), scored(0.9, 0.0), failed()]),
        report("summac", vec![scored(0.8, 0.0), scored(0.1, 0.9), failed()], 0.5),
    ];
    let decision = decide_staged(&statements(3), &reports, &roles, &VerdictPolicy::default());
    let supports = decision.sentences.iter().map(|sentence| sentence.support_probability).collect::<Vec<_>>();
    assert_eq!(supports, [Some(p(0.8)), Some(p(0.9)), None]);
    assert_eq!(decision.status, Status::Partial);
    let alone = decide(&statements(3), &reports, &VerdictPolicy::default());
    assert_eq!(
        alone.sentences[0].status,
        SentenceStatus::Failed,
        "without stages the best method decides alone"
    );
}

#[test]
fn advisory_methods_are_shown_and_decide_nothing() {
    let mut conflict = scored(0.9, 0.0).scored().cloned().unwrap();
    conflict.numeric_conflict = Some("1 here, 2 in the evidence".to_owned());
    let reports = [
        entailment(vec![scored(0.1, 0.9)]),
        report("numeric", vec![Outcome::Scored(conflict)], 0.0),
        report("summac", vec![scored(0.9, 0.0)], 0.9),
    ];
    let roles = Roles { advisory: vec!["entailment", "numeric"], ..Roles::default() };
    let decision = decide_staged(&statements(1), &reports, &roles, &VerdictPolicy::default());
    assert_eq!((decision.verdict, decision.methods.len()), (Some(Verdict::Supported), 3));
    let roles = Roles { advisory: vec!["entailment", "numeric", "summac"], ..Roles::default() };
    let decision = decide_staged(&statements(1), &reports, &roles, &VerdictPolicy::default());
    assert_eq!((decision.verdict, decision.status), (None, Status::Abstained));
}
