//! Methods in stages.

use super::*;
use groundline_types::{Action, Audit, CascadePolicy, GreyZone, MethodStatus, PolicyChoice};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn staged(always: &[&str], grey: &[&str], (from, to): (f32, f32)) -> CascadePolicy {
    let grey_zone = GreyZone { methods: names(grey), support_from: from, support_to: to };
    CascadePolicy { always: names(always), grey_zone: Some(grey_zone), audit: None }
}

fn with(policy: CascadePolicy) -> CheckRequest {
    CheckRequest { policy: Some(PolicyChoice::Own(policy)), ..request() }
}

#[tokio::test]
async fn outside_of_the_grey_zone_its_methods_cost_nothing() {
    let cluster = Cluster::start().await;
    let result = cluster.check(with(staged(&["entailment"], &["summac"], (0.5, 0.5)))).await.unwrap();
    let mut alone = request();
    alone.methods = names(&["entailment"]);
    let plain = Cluster::start().await.check(alone).await.unwrap();
    assert_eq!(result.usage.pairs, plain.usage.pairs);
    assert_eq!(result.sentences, plain.sentences);
    let summac = &result.methods["summac"];
    assert_eq!((summac.status, summac.score), (MethodStatus::Skipped, None));
    assert_eq!(summac.reason.as_ref().unwrap().code, Code::POLICY_STAGE);
    assert_eq!(result.methods["entailment"].status, MethodStatus::Scored);
    assert!(result.notes.iter().any(|note| note.code == Code::POLICY_STAGE));
    assert_eq!(result.scores.summac, None);
}

#[tokio::test]
async fn inside_of_it_the_result_is_that_of_all_its_methods() {
    let cluster = Cluster::start().await;
    let result =
        cluster.check(with(staged(&["entailment"], &["summac", "numeric"], (0.0, 1.0)))).await.unwrap();
    let mut together = request();
    together.methods = names(&["entailment", "summac", "numeric"]);
    let plain = Cluster::start().await.check(together).await.unwrap();
    assert_eq!((&result.sentences, &result.scores), (&plain.sentences, &plain.scores));
    assert_eq!(result.methods, plain.methods);
    let note = result.notes.iter().find(|note| note.code == Code::POLICY_STAGE).unwrap();
    assert!(note.message.contains("2 of 2 scored sentences"), "{note:?}");
    assert_eq!(note.location.as_deref(), Some("policy"));
}

#[tokio::test]
async fn a_deadline_in_the_later_stage_leaves_what_the_first_one_found() {
    // SummaC decides first; the method of the grey zone would decide instead, and its own pairs never come.
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let mut first = request();
    first.methods = names(&["summac"]);
    gate.open();
    let known = cluster.check(first.clone()).await.unwrap();
    gate.close();
    let mut late = with(staged(&["summac"], &["entailment"], (0.0, 1.0)));
    late.deadline_ms = Some(400);
    // Windows of more than one sentence are pairs that SummaC did not ask for.
    let result = cluster.check(late).await.unwrap();
    gate.open();
    assert_eq!((result.status, result.coverage), (Status::Scored, Some(1.0)));
    let verdicts = |result: &CheckResult| result.sentences.iter().map(|s| s.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts(&result), verdicts(&known));
    assert_eq!(result.methods["entailment"].status, MethodStatus::Failed);
    assert_eq!(result.methods["entailment"].reason.as_ref().unwrap().code, Code::DEADLINE);
}

#[tokio::test]
async fn a_deadline_in_the_first_stage_asks_for_no_later_one() {
    let (gate, hooks) = closed_gate();
    let cluster = Cluster::with(hooks, CoordinatorOptions::default()).await;
    let mut late = with(staged(&["entailment"], &["summac"], (0.0, 1.0)));
    late.deadline_ms = Some(200);
    let result = cluster.check(late).await.unwrap();
    gate.open();
    assert_eq!((result.status, result.coverage), (Status::Failed, Some(0.0)));
    assert_eq!(result.methods["summac"].status, MethodStatus::Skipped);
}

#[tokio::test]
async fn an_audit_is_shown_and_decides_nothing() {
    let audit = |rate| CascadePolicy {
        always: names(&["summac"]),
        grey_zone: None,
        audit: Some(Audit { methods: names(&["entailment", "numeric"]), rate }),
    };
    let cluster = Cluster::start().await;
    let drawn = cluster.check(with(audit(1.0))).await.unwrap();
    let left_out = cluster.check(with(audit(0.0))).await.unwrap();
    assert_eq!(drawn.sentences, left_out.sentences);
    assert_eq!(drawn.methods["entailment"].status, MethodStatus::Scored);
    assert_eq!(left_out.methods["entailment"].status, MethodStatus::Skipped);
    assert_eq!(drawn.verdict, left_out.verdict);
}

#[tokio::test]
async fn a_policy_of_the_configuration_is_asked_for_by_its_name() {
    let policies = [("fast".to_owned(), staged(&["entailment"], &["summac"], (0.5, 0.5)))].into();
    let options = CoordinatorOptions { policies, ..CoordinatorOptions::default() };
    let cluster = Cluster::with(ToyHooks::default(), options).await;
    let named = |name: &str| CheckRequest { policy: Some(PolicyChoice::Named(name.to_owned())), ..request() };
    let result = cluster.check(named("fast")).await.unwrap();
    assert_eq!(result.methods.len(), 2);
    assert!(result.notes.iter().any(|note| note.message.starts_with("policy `fast`: ")));
    let problem = cluster.check(named("fsat")).await.unwrap_err();
    assert_eq!(problem.code, Code::INVALID_FIELD);
    assert!(problem.message.contains("did you mean `fast`?"), "{problem}");
}

#[tokio::test]
async fn methods_that_disagree_strongly_ask_for_a_review_only_where_they_ran() {
    let mut options = CoordinatorOptions::default();
    // Any difference at all is strong.
    options.verdict.strong_disagreement = 0.0;
    let cluster = Cluster::with(ToyHooks::default(), options).await;
    let supported = |policy| CheckRequest {
        policy: Some(PolicyChoice::Own(policy)),
        ..CheckRequest::new("Marie Curie was born in Warsaw.", SOURCE)
    };
    let skipped = supported(staged(&["entailment"], &["summac"], (0.0, 0.0)));
    assert_eq!(cluster.check(skipped).await.unwrap().action, Some(Action::Accept));
    let asked = supported(staged(&["entailment"], &["summac"], (0.0, 1.0)));
    assert_eq!(cluster.check(asked).await.unwrap().action, Some(Action::Review));
}
