use super::*;
use groundline_types::{CheckRequest, OffsetUnit, PolicyChoice, StopAt, StreamRequest};
use serde_json::json;
use std::collections::BTreeSet;

/// Every field filled.
fn full() -> wire::CheckRequest {
    wire::CheckRequest {
        response: "r".to_owned(),
        sources: vec![wire::Source {
            text: "s".to_owned(),
            id: Some("i".to_owned()),
            title: Some("t".to_owned()),
        }],
        id: Some("id".to_owned()),
        question: Some("q".to_owned()),
        history: vec![wire::Turn { role: "user".to_owned(), content: "c".to_owned() }],
        history_is_evidence: true,
        samples: vec!["o".to_owned()],
        methods: vec!["numeric".to_owned()],
        facts: true,
        matrix: true,
        profile: Some("p".to_owned()),
        deadline_ms: Some(5),
        lane: Some("bulk".to_owned()),
        offsets: Some("utf16".to_owned()),
        policy_name: None,
        policy: None,
        draw_samples: true,
        generator: Some("g".to_owned()),
    }
}

fn policy() -> wire::CascadePolicy {
    wire::CascadePolicy {
        always: vec!["entailment".to_owned()],
        grey_zone: Some(wire::GreyZone {
            methods: vec!["summac".to_owned()],
            support_from: Some(0.25),
            support_to: None,
        }),
        audit: Some(wire::Audit { methods: vec!["summac_conv".to_owned()], rate: Some(0.5) }),
    }
}

fn read(message: wire::CheckRequest) -> Result<CheckRequest, Problem> {
    CheckRequest::from_value(json_of_check(message)?)
}

#[test]
fn a_message_says_what_the_json_of_a_request_says() {
    let json = json!({
        "response": "r", "sources": [{ "text": "s", "id": "i", "title": "t" }], "id": "id", "question": "q",
        "history": [{ "role": "user", "content": "c" }], "history_is_evidence": true, "samples": ["o"],
        "methods": ["numeric"], "facts": true, "matrix": true, "profile": "p", "deadline_ms": 5, "lane": "bulk",
        "offsets": "utf16", "draw_samples": true, "generator": "g",
    });
    let request = read(full()).unwrap();
    assert_eq!(request, CheckRequest::from_value(json).unwrap());
    assert_eq!(request.offsets, Some(OffsetUnit::Utf16));
    let short = wire::CheckRequest { response: "r".to_owned(), ..wire::CheckRequest::default() };
    assert_eq!(read(short).unwrap(), CheckRequest::with_sources("r", Vec::new()));
}

#[test]
fn a_message_has_a_place_for_every_field_of_a_request() {
    let json = serde_json::to_value(full()).unwrap();
    let mut fields = json.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>();
    assert!(fields.remove("policy_name"));
    // One source is a list of one, and what is ignored needs no place.
    let known = CheckRequest::FIELDS.iter().copied().filter(|name| !["source", "meta"].contains(name));
    assert_eq!(fields, known.collect());
}

#[test]
fn a_policy_is_a_name_or_one_of_its_own() {
    let with = |policy_name: Option<&str>, policy| {
        let (policy_name, methods) = (policy_name.map(str::to_owned), Vec::new());
        read(wire::CheckRequest { policy_name, policy, methods, ..full() })
    };
    assert_eq!(with(Some("cheap"), None).unwrap().policy, Some(PolicyChoice::Named("cheap".to_owned())));
    let Some(PolicyChoice::Own(own)) = with(None, Some(policy())).unwrap().policy else {
        panic!("no policy")
    };
    let zone = own.grey_zone.unwrap();
    assert_eq!((own.always[0].as_str(), zone.support_from, zone.support_to), ("entailment", 0.25, 0.7));
    assert_eq!(own.audit.unwrap().rate, 0.5);
    assert_eq!(with(Some("cheap"), Some(policy())).unwrap_err().code, Code::INVALID_FIELD);
}

#[test]
fn the_head_of_a_stream_has_a_request_and_no_response() {
    let head = |response: &str, stop_at: Option<&str>| {
        let check = wire::CheckRequest { response: response.to_owned(), profile: None, ..full() };
        let head = wire::StreamHead { check: Some(check), stop_at: stop_at.map(str::to_owned) };
        StreamRequest::from_value(json_of_head(head)?)
    };
    assert_eq!(head("", None).unwrap().stop_at, StopAt::Never);
    assert_eq!(head("", Some("first_contradiction")).unwrap().stop_at, StopAt::FirstContradiction);
    assert!(head("r", None).unwrap_err().message.contains("in pieces"));
    assert!(head("", Some("soon")).is_err());
    assert_eq!(json_of_head(wire::StreamHead::default()).unwrap_err().code, Code::INVALID_FIELD);
}

/// A result with every field, in numbers that floats hold exactly.
fn result() -> Value {
    let fact = json!({
        "text": "f", "start": 1, "end": 2, "status": "failed", "verdict": null, "support_probability": null,
        "contradiction_probability": null, "neutral_probability": null, "weight": 1.5, "tags": ["date"],
        "reason": "unchecked", "detail": "why", "evidence": [],
    });
    let evidence = json!({
        "source": "s", "start": 3, "end": 4, "text": "e", "support_probability": 0.5,
        "contradiction_probability": 0.25, "neutral_probability": 0.125,
    });
    let sentence = json!({
        "text": "t", "start": 5, "end": 6, "status": "scored", "verdict": "contradicted", "support_probability": 0.25,
        "contradiction_probability": 0.5, "neutral_probability": 0.25, "weight": 2.0, "tags": ["name", "number"],
        "reason": "contradicted", "detail": "d", "evidence": [evidence], "facts": [fact],
    });
    let note = json!({ "code": "GL2005", "message": "m", "where": "w" });
    let method = json!({
        "status": "skipped", "score": 0.75, "polarity": "higher_is_supported", "work_items": 7, "reason": note,
        "extra": { "avg": 0.25 },
        "sentences": [{ "status": "scored", "score": -0.5, "extra": { "max": 1.5 } }],
    });
    json!({
        "id": "i", "schema": "groundline.check/1", "status": "partial", "verdict": "contradicted", "action": "block",
        "alert": true, "coverage": 0.5, "calibrated": true, "config_hash": "h",
        "scores": { "min": 0.25, "mean": 0.5, "weighted": 0.75, "summac": 0.125, "summac_zs": -0.5, "summac_conv": 0.5,
                    "ensemble": 0.25 },
        "model": { "name": "n", "revision": "r", "engine": "e" },
        "sentences": [sentence], "methods": { "summac": method }, "notes": [note],
        "usage": { "pairs": 1, "embeddings": 2, "cache_hits": 3, "judge_tokens": 4 },
        "timings": { "prepare_ms": 0.5, "score_ms": 1.5, "total_ms": 2.5 },
        "ensemble": { "profile": "p", "baseline": -0.5, "log_odds": 0.25, "inputs": [
            { "name": "min", "method": "entailment", "value": 0.5, "contribution": 0.75 },
            { "name": "summac", "method": "summac", "value": null, "contribution": null }] },
    })
}

/// Without what is null, empty or false, which a message cannot tell from absent.
fn said(value: &Value) -> Value {
    let is_silent = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !is_silent(value))
            .map(|(name, value)| (name.clone(), said(value)))
            .collect(),
        Value::Array(items) => items.iter().map(said).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_message_says_everything_that_a_result_says() {
    let read: CheckResult = serde_json::from_value(result()).unwrap();
    let written = serde_json::to_value(&read).unwrap();
    assert_eq!(
        said(&written),
        said(&result()),
        "the result of this test has another shape than results have"
    );
    let message = result_of(read).unwrap();
    assert_eq!(said(&serde_json::to_value(&message).unwrap()), said(&result()));
}

#[test]
fn a_matrix_has_a_cell_for_every_pair_that_was_scored() {
    let mut json = result();
    json["matrix"] = json!({
        "rows": [{ "source": "s", "start": 0, "end": 1, "text": "a" }, { "source": "s", "start": 2, "end": 3, "text": "b" }],
        "columns": [0], "entailment": [[0.5], [null]], "contradiction": [[0.25], [null]], "neutral": [[0.125], [null]],
    });
    let matrix = result_of(serde_json::from_value(json).unwrap()).unwrap().matrix.unwrap();
    assert_eq!((matrix.rows.len(), matrix.rows[1].text.as_str(), &*matrix.columns), (2, "b", &[0][..]));
    let [cell] = &*matrix.cells else { panic!("{:?}", matrix.cells) };
    assert_eq!((cell.row, cell.column), (0, 0));
    assert_eq!((cell.entailment, cell.contradiction, cell.neutral), (0.5, 0.25, 0.125));
}
