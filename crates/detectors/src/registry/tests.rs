use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn default_stands_for_its_methods_and_doubles_go() {
    let default = ["entailment", "summac", "summac_conv", "numeric"];
    assert_eq!(resolve(&names(&["default"])).unwrap(), default);
    assert_eq!(resolve(&names(&["numeric", "default", "numeric"])).unwrap(), default);
    assert_eq!(resolve(&names(&["numeric", "entailment"])).unwrap(), ["entailment", "numeric"]);
}

#[test]
fn an_unknown_method_is_answered_with_the_nearest_and_all_known_ones() {
    let problem = resolve(&names(&["default", "sumac"])).unwrap_err();
    assert_eq!(problem.code, Code::UNKNOWN_METHOD);
    assert!(problem.message.contains("did you mean `summac`?"), "{problem}");
    assert!(problem.message.contains("entailment, summac, summac_conv, numeric, default"), "{problem}");
    let far = resolve(&names(&["astrology"])).unwrap_err();
    assert!(!far.message.contains("did you mean"), "{far}");
    assert_eq!(resolve(&[]).unwrap_err().code, Code::INVALID_FIELD);
}

#[test]
fn every_method_can_be_created_under_its_name() {
    for info in methods() {
        let detector = create(info.name, &DetectorOptions::default()).unwrap();
        assert_eq!(detector.name(), info.name);
        assert!(!info.summary.is_empty());
    }
    assert!(create("default", &DetectorOptions::default()).is_none());
}

#[test]
fn options_are_validated_and_read_strictly() {
    assert_eq!(DetectorOptions::default().validate(), Ok(()));
    let read: DetectorOptions = serde_json::from_str(r#"{"summac": {"first_operator": "mean"}}"#).unwrap();
    assert_eq!(read.summac.first_operator, crate::SummacOperator::Mean);
    assert_eq!(read.pairs_per_round, 4096);
    assert!(serde_json::from_str::<DetectorOptions>(r#"{"pairs": 1}"#).is_err());
    for (broken, name) in [
        (r#"{"pairs_per_round": 1}"#, "pairs_per_round"),
        (r#"{"contradiction_neighbours": 0}"#, "contradiction_neighbours"),
        (r#"{"support_threshold": 1.5}"#, "support_threshold"),
        (r#"{"summac": {"use_entailment": false, "use_contradiction": false}}"#, "summac.use_entailment"),
    ] {
        let problem = serde_json::from_str::<DetectorOptions>(broken).unwrap().validate().unwrap_err();
        assert_eq!(problem.code, Code::INVALID_CONFIG);
        assert!(problem.message.starts_with(name), "{problem}");
    }
}
