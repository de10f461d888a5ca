use super::*;
use groundline_types::{Audit, ClaimFinding, MethodScore, Outcome, Probability, Reason};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn policy(always: &[&str], grey: &[&str], audit: &[&str], rate: f64) -> CascadePolicy {
    let grey_zone = (!grey.is_empty()).then(|| GreyZone {
        methods: names(grey),
        support_from: GreyZone::default_support_from(),
        support_to: GreyZone::default_support_to(),
    });
    let audit = (!audit.is_empty()).then(|| Audit { methods: names(audit), rate });
    CascadePolicy { always: names(always), grey_zone, audit }
}

fn plan_of(policy: CascadePolicy) -> Result<Plan, Problem> {
    let mut request = CheckRequest::new("r", "s");
    request.policy = Some(PolicyChoice::Own(policy));
    Plan::of(&request, &BTreeMap::new())
}

fn report(method: &'static str, supports: &[Option<f32>]) -> Report {
    let claim = |support: &Option<f32>| match support {
        Some(support) => {
            Outcome::Scored(ClaimFinding { support: Probability::new(*support), ..ClaimFinding::default() })
        }
        None => Outcome::Failed(Reason::new(Code::JOB_DEAD, "test")),
    };
    Report {
        method,
        claims: supports.iter().map(claim).collect(),
        facts: Vec::new(),
        score: Outcome::Scored(MethodScore { value: 0.5, polarity: Polarity::HigherIsSupported }),
        extra: BTreeMap::new(),
        matrix: None,
        notes: Vec::new(),
        work_items: 1,
    }
}

fn decided(policy: CascadePolicy, reports: &[Report]) -> (bool, StageOutcome) {
    let mut stages = Stages::new(plan_of(policy).unwrap());
    let is_due = stages.decide_grey(&reports.iter().collect::<Vec<_>>());
    assert!(!stages.decide_grey(&reports.iter().collect::<Vec<_>>()), "it is decided once");
    (is_due, stages.into_outcome())
}

#[test]
fn a_request_without_a_policy_has_one_stage_and_nothing_to_tell() {
    let plan = Plan::of(&CheckRequest::new("r", "s"), &BTreeMap::new()).unwrap();
    assert_eq!(plan.first(), ["entailment", "summac", "summac_conv", "numeric"]);
    assert!(plan.later().is_empty());
    let mut stages = Stages::new(plan);
    assert!(!stages.decide_grey(&[&report("entailment", &[Some(0.5)])]));
    assert_eq!(stages.into_outcome(), StageOutcome::default());
}

#[test]
fn the_grey_zone_is_entered_where_a_sentence_is_in_it() {
    let grey = || policy(&["entailment"], &["summac", "summac_conv"], &[], 0.0);
    assert_eq!(plan_of(grey()).unwrap().later(), ["summac", "summac_conv"]);
    let (is_due, outcome) = decided(grey(), &[report("entailment", &[Some(0.9), Some(0.5), None])]);
    assert!(is_due && outcome.skipped.is_empty());
    assert_eq!(outcome.roles.fallback, Some("entailment"));
    assert!(outcome.notes[0].message.contains("1 of 2 scored sentences"), "{:?}", outcome.notes);
    for supports in [&[Some(0.9), Some(0.1)][..], &[None], &[]] {
        let (is_due, outcome) = decided(grey(), &[report("entailment", supports)]);
        assert!(!is_due);
        assert_eq!(outcome.skipped.keys().collect::<Vec<_>>(), ["summac", "summac_conv"]);
        let skipped = &outcome.skipped["summac"];
        assert_eq!((skipped.status, skipped.score, skipped.work_items), (MethodStatus::Skipped, None, 0));
        assert!(skipped.reason.as_ref().unwrap().message.starts_with("outside the grey zone"));
        assert_eq!(outcome.notes[0].code, Code::POLICY_STAGE);
    }
}

#[test]
fn only_a_method_that_always_runs_tells_the_grey_zone() {
    let staged = policy(&["summac"], &["numeric"], &["entailment"], 1.0);
    let reports = [report("entailment", &[Some(0.5)]), report("summac", &[Some(0.9)])];
    let (is_due, outcome) = decided(staged, &reports);
    assert!(!is_due, "an audit is no first look");
    assert_eq!(outcome.roles.advisory, ["entailment"]);
}

#[test]
fn the_method_that_decides_tells_the_grey_zone_and_is_fallen_back_to_in_whatever_order_they_run() {
    let always = ["factcc", "minicheck_flan_t5", "judge"];
    let reports = [report("factcc", &[Some(0.9)]), report("minicheck_flan_t5", &[Some(0.5)])];
    let (is_due, outcome) = decided(policy(&always, &["numeric"], &[], 0.0), &reports);
    assert!(is_due, "MiniCheck decides, and leaves it open");
    assert_eq!(outcome.roles.fallback, Some("minicheck_flan_t5"));
}

#[test]
fn the_audit_draws_by_the_id_at_its_rate() {
    let drawn = (0..4000).filter(|id| is_drawn(&format!("check-{id}"), 0.25)).count();
    assert!((900..1100).contains(&drawn), "{drawn} of 4000");
    assert!((0..100).all(|id| !is_drawn(&id.to_string(), 0.0) && is_drawn(&id.to_string(), 1.0)));
    assert_eq!(is_drawn("curie-1", 0.5), is_drawn("curie-1", 0.5));
    let mut request = CheckRequest::new("r", "s");
    request.policy = Some(PolicyChoice::Own(policy(&["entailment"], &[], &["numeric"], 0.5)));
    let firsts = (0..40).map(|id| {
        request.id = Some(id.to_string());
        Plan::of(&request, &BTreeMap::new()).unwrap().first().len()
    });
    let firsts = firsts.collect::<Vec<_>>();
    assert!(firsts.contains(&1) && firsts.contains(&2));
    let never = policy(&["entailment"], &[], &["numeric"], 0.0);
    let (_, outcome) = decided(never, &[]);
    assert!(
        outcome.skipped["numeric"].reason.as_ref().unwrap().message.starts_with("not in the audit sample")
    );
    assert!(outcome.roles.advisory.is_empty());
}

#[test]
fn names_that_nothing_is_called_are_refused_with_the_nearest() {
    let known = BTreeMap::from([("fast".to_owned(), policy(&["entailment"], &[], &[], 0.0))]);
    let mut request = CheckRequest::new("r", "s");
    let mut refused = |name: &str, policies: &BTreeMap<String, CascadePolicy>| {
        request.policy = Some(PolicyChoice::Named(name.to_owned()));
        Plan::of(&request, policies).unwrap_err()
    };
    let problem = refused("fsat", &known);
    assert_eq!(problem.code, Code::INVALID_FIELD);
    assert!(problem.message.contains("did you mean `fast`?"), "{problem}");
    assert!(refused("thorough", &known).message.contains("known policies are fast"));
    assert!(refused("fast", &BTreeMap::new()).message.contains("[policies.NAME]"));
    assert_eq!(plan_of(policy(&["entailmant"], &[], &[], 0.0)).unwrap_err().code, Code::UNKNOWN_METHOD);
}

#[test]
fn policies_that_make_no_sense_are_refused() {
    let message = |policy| plan_of(policy).unwrap_err().message;
    assert!(message(policy(&["numeric"], &["entailment"], &[], 0.0)).contains("support probability"));
    assert!(message(policy(&["entailment", "numeric"], &[], &["numeric"], 0.1)).contains("in two stages"));
    assert!(message(policy(&["entailment"], &[], &["numeric"], 1.5)).contains("rate"));
    let broken = BTreeMap::from([("bad".to_owned(), policy(&[], &[], &[], 0.0))]);
    let problem = validate_policies(&broken).unwrap_err();
    assert_eq!(problem.code, Code::INVALID_CONFIG);
    assert!(problem.message.starts_with("policies.bad: "), "{problem}");
}
