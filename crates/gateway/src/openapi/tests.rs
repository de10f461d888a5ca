use super::*;
use groundline_types::CheckRequest;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, document()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == document(), "docs/openapi.json is out of date; run this test with UPDATE=1");
}

#[test]
fn the_description_of_a_request_has_the_fields_that_are_read() {
    let document: Value = serde_json::from_str(&document()).unwrap();
    let properties = document["components"]["schemas"]["CheckRequest"]["properties"].as_object().unwrap();
    let described = properties.keys().map(String::as_str).collect::<BTreeSet<_>>();
    assert_eq!(described, CheckRequest::FIELDS.iter().copied().collect());
    let stream = document["components"]["schemas"]["StreamHead"]["properties"].as_object().unwrap();
    let described = stream.keys().map(String::as_str).collect::<BTreeSet<_>>();
    let known = CheckRequest::FIELDS.iter().copied().filter(|name| *name != "response").chain(["stop_at"]);
    assert_eq!(described, known.collect());
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document: Value = serde_json::from_str(&document()).unwrap();
    let mut open = vec![&document];
    let mut references = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                    references += 1;
                    assert!(document.pointer(&target[1..]).is_some(), "{target} leads nowhere");
                }
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    assert!(references > 20, "{references}");
    assert!(document["paths"].as_object().unwrap().len() >= 8);
}
