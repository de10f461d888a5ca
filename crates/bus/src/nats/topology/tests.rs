use super::*;
use crate::SubjectToken;

#[test]
fn versions_are_read_and_compared_as_numbers() {
    assert_eq!(Version::parse("2.10.25"), Some(Version(2, 10, 25)));
    assert_eq!(Version::parse("v2.12.0-RC.1"), Some(Version(2, 12, 0)));
    assert_eq!(Version::parse("2.10"), None);
    assert!(Version(2, 9, 9) < OLDEST && Version(2, 10, 0) > OLDEST);
}

#[test]
fn differences_are_found_field_by_field() {
    let wanted = json!({"max_msgs": 5, "discard": "new", "sealed": false, "metadata": {"a": "1"}});
    let same =
        json!({"max_msgs": 5, "discard": "new", "metadata": {"a": "1", "_nats.level": "0"}, "more": 1});
    assert_eq!(differences(&wanted, &same), []);
    let other = json!({"max_msgs": 6, "discard": "new", "sealed": true});
    let fields = differences(&wanted, &other).into_iter().map(|d| d.field).collect::<Vec<_>>();
    assert_eq!(fields, ["max_msgs", "metadata", "sealed"]);
}

#[test]
fn a_field_that_an_old_broker_dropped_is_a_difference() {
    let dropped = differences(&json!({"filter_subject": "a.*"}), &json!({}));
    assert_eq!(dropped[0].to_string(), "filter_subject is null and should be \"a.*\"");
}

#[test]
fn retention_and_storage_may_not_change_and_limits_may() {
    let wanted = json!({"retention": "workqueue", "max_bytes": 1});
    let found = json!({"retention": "limits", "max_bytes": 2, "subjects": ["x"]});
    let differences = differences(&wanted, &found);
    let fixed = fixed(&differences).into_iter().map(|d| d.field.as_str()).collect::<Vec<_>>();
    assert_eq!(fixed, ["retention"]);
    assert_eq!(merged(&found, &wanted), json!({"retention": "workqueue", "max_bytes": 1, "subjects": ["x"]}));
}

#[test]
fn metadata_is_asked_for_only_where_the_broker_knows_it() {
    let options = NatsOptions::default();
    let has =
        |version| streams(&options, version).iter().all(|wanted| wanted.config.get("metadata").is_some());
    assert!(!has(OLDEST) && has(Version(2, 10, 0)));
}

#[test]
fn every_queue_refuses_when_it_is_full_and_the_dead_drop_their_oldest() {
    for wanted in streams(&NatsOptions::default(), OLDEST) {
        let discard = if wanted.stream == names::DEAD_STREAM { "old" } else { "new" };
        assert_eq!(wanted.config["discard"], discard, "{}", wanted.stream);
        assert!(wanted.config["max_bytes"].as_u64().unwrap() > 0, "{} has no limit", wanted.stream);
        assert!(wanted.config["max_age"].as_u64().unwrap() > 0, "{} keeps for ever", wanted.stream);
    }
}

#[test]
fn consumers_of_one_stream_have_filters_that_do_not_overlap() {
    let options = NatsOptions::default();
    let lane = |model: &str, lane| LaneId { model: SubjectToken::from_name(model), lane };
    let lanes = [lane("a", Lane::Online), lane("a", Lane::Bulk), lane("b", Lane::Online)];
    let filters = lanes.iter().map(|lane| jobs_consumer(&options, lane).config["filter_subject"].clone());
    let distinct = filters.map(|filter| filter.to_string()).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(distinct.len(), lanes.len());
}
