use super::*;

#[test]
fn the_defaults_are_the_documented_ones_and_valid() {
    let policy: VerdictPolicy = serde_json::from_str("{}").unwrap();
    assert_eq!(policy, VerdictPolicy::default());
    assert_eq!(
        (policy.support_threshold, policy.contradiction_threshold, policy.alert_below),
        (0.5, 0.5, 0.5)
    );
    assert_eq!(policy.high_stakes_weight, 2.0);
    assert_eq!(policy.validate(), Ok(()));
}

#[test]
fn unknown_settings_are_refused() {
    assert!(serde_json::from_str::<VerdictPolicy>(r#"{"suport_threshold": 0.4}"#).is_err());
    assert!(serde_json::from_str::<VerdictPolicy>(r#"{"actions": {"contradict": "block"}}"#).is_err());
    let policy: VerdictPolicy = serde_json::from_str(r#"{"actions": {"not_mentioned": "review"}}"#).unwrap();
    assert_eq!((policy.actions.not_mentioned, policy.actions.contradicted), (Action::Review, Action::Block));
}

#[test]
fn settings_out_of_range_are_named() {
    for (policy, name) in [
        (VerdictPolicy { support_threshold: 1.5, ..VerdictPolicy::default() }, "support_threshold"),
        (
            VerdictPolicy { contradiction_threshold: -0.1, ..VerdictPolicy::default() },
            "contradiction_threshold",
        ),
        (VerdictPolicy { alert_below: f32::NAN, ..VerdictPolicy::default() }, "alert_below"),
        (VerdictPolicy { strong_disagreement: 2.0, ..VerdictPolicy::default() }, "strong_disagreement"),
        (VerdictPolicy { high_stakes_weight: f32::NAN, ..VerdictPolicy::default() }, "high_stakes_weight"),
        (VerdictPolicy { high_stakes_weight: 0.5, ..VerdictPolicy::default() }, "high_stakes_weight"),
    ] {
        let problem = policy.validate().unwrap_err();
        assert_eq!(problem.code, Code::INVALID_CONFIG);
        assert!(problem.message.starts_with(name), "{problem}");
    }
}
