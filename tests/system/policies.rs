//! Methods in stages, through the command.

use system_tests::{file, run};

const CURIE: [&str; 6] =
    ["check", "--source", "examples/curie/source.txt", "--response", "examples/curie/response.txt", "--json"];

#[test]
fn a_policy_given_as_json_says_what_ran_and_what_did_not() {
    let never = r#"{"always": ["entailment"], "audit": {"methods": ["summac"], "rate": 0}}"#;
    let ran = run(&[&CURIE[..], &["--policy", never]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let result = ran.json();
    assert_eq!(result["methods"]["entailment"]["status"], "scored");
    assert_eq!(result["methods"]["summac"]["status"], "skipped");
    assert_eq!(result["methods"]["summac"]["reason"]["code"], "GL1016");
    let notes = result["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["code"] == "GL1016" && note["where"] == "policy"), "{notes:?}");
}

#[test]
fn a_policy_of_the_configuration_goes_by_its_name_and_a_mistyped_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[policies.wide]\nalways = [\"entailment\"]\n[policies.wide.grey_zone]\nmethods = [\"summac\"]\nsupport_from = 0.0\nsupport_to = 1.0\n";
    let config = &*file(dir.path(), "groundline.toml", text);
    let result = run(&[&["--config", config], &CURIE[..], &["--policy", "wide"]].concat()).json();
    assert_eq!(result["methods"]["summac"]["status"], "scored");
    let ran = run(&[&["--config", config], &CURIE[..], &["--policy", "wied"]].concat());
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("GL1007") && ran.stderr.contains("did you mean `wide`?"), "{ran:?}");
}
