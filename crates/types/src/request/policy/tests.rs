use super::*;
use crate::CheckRequest;
use serde_json::json;

fn request(policy: Value) -> Result<Option<PolicyChoice>, Problem> {
    let value = json!({"response": "r", "source": "s", "policy": policy});
    CheckRequest::from_value(value).map(|request| request.policy)
}

#[test]
fn a_policy_is_a_name_or_an_object_and_goes_through_json_unchanged() {
    assert_eq!(request(json!("fast")).unwrap(), Some(PolicyChoice::Named("fast".to_owned())));
    assert_eq!(request(Value::Null).unwrap(), None);
    let full = json!({
        "always": ["entailment", "numeric"],
        "grey_zone": {"methods": ["summac"], "support_from": 0.25, "support_to": 0.5},
        "audit": {"methods": ["summac_conv"], "rate": 0.125},
    });
    let Some(PolicyChoice::Own(policy)) = request(full.clone()).unwrap() else {
        panic!("an object is one's own")
    };
    assert_eq!(serde_json::to_value(&policy).unwrap(), full);
    assert_eq!(serde_json::from_value::<CascadePolicy>(full).unwrap(), policy);
    let Some(PolicyChoice::Own(plain)) =
        request(json!({"always": ["entailment"], "grey_zone": {"methods": ["summac"]}})).unwrap()
    else {
        panic!("an object is one's own")
    };
    let zone = plain.grey_zone.unwrap();
    assert_eq!((zone.support_from, zone.support_to), (0.3, 0.7));
    assert!(zone.holds(0.3) && zone.holds(0.7) && !zone.holds(0.29) && !zone.holds(0.71));
}

#[test]
fn mistakes_are_named_with_the_nearest_field() {
    for (policy, expected) in [
        (json!(3), "`policy` must be the name of a policy or an object, found a number"),
        (json!({"allways": ["entailment"]}), "did you mean `policy.always`?"),
        (json!({"always": ["e"], "greyzone": {}}), "did you mean `policy.grey_zone`?"),
        (
            json!({"always": ["e"], "grey_zone": {"method": ["x"]}}),
            "did you mean `policy.grey_zone.methods`?",
        ),
        (json!({"always": ["e"], "audit": {"methods": ["x"]}}), "`policy.audit.rate` is missing"),
        (
            json!({"always": ["e"], "audit": {"methods": ["x"], "rate": "often"}}),
            "`policy.audit.rate` must be a number",
        ),
        (json!({"always": ["e"], "audit": {"methods": ["x"], "rate": 1.5}}), "`policy.audit.rate` is 1.5"),
        (json!({"always": ["e"], "audit": ["x"]}), "`policy.audit` must be an object"),
        (json!({"always": "e"}), "`policy.always` must be a list of strings"),
        (json!({"always": []}), "`policy.always` is empty"),
        (json!({"grey_zone": {"methods": ["x"]}}), "`policy.always` is missing"),
        (
            json!({"always": ["e"], "grey_zone": {"methods": ["x"], "support_from": 0.8}}),
            "`policy.grey_zone` goes from 0.8",
        ),
    ] {
        let problem = request(policy.clone()).unwrap_err();
        assert_eq!(problem.code, Code::INVALID_FIELD);
        assert!(problem.message.contains(expected), "{policy}: {problem}");
    }
}

#[test]
fn a_policy_names_its_methods_itself() {
    let value = json!({"response": "r", "source": "s", "policy": "fast", "methods": ["summac"]});
    let problem = CheckRequest::from_value(value).unwrap_err();
    assert_eq!(problem.code, Code::INVALID_FIELD);
    assert!(problem.message.contains("`methods`"), "{problem}");
}
