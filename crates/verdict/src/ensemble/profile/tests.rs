use super::*;
use serde_json::{Value, json};

fn file() -> Value {
    json!({
        "schema": ENSEMBLE_SCHEMA, "name": "test",
        "binding": {"model": "mini", "revision": "a1", "window_tokens": 96, "detectors": {}},
        "prior_log_odds": 0.0,
        "groups": [{
            "name": "sources", "intercept": 0.5, "correlation": [[1.0, 0.8], [0.8, 1.0]],
            "inputs": [
                {"name": "mean", "transform": "logit", "mean": 0.0, "scale": 2.0, "weight": 1.0},
                {"name": "summac", "transform": "logit", "mean": 0.0, "scale": 2.0, "weight": 0.5}],
        }],
        "fitted_to": [{"name": "fm2", "responses": 500, "supported": 261}],
    })
}

fn parse(file: &Value) -> Result<Ensemble, Problem> {
    Ensemble::parse(file.to_string().as_bytes())
}

#[test]
fn a_profile_survives_writing_and_reading() {
    let ensemble = parse(&file()).unwrap();
    let written = serde_json::to_vec(ensemble.profile()).unwrap();
    assert_eq!(Ensemble::parse(&written).unwrap(), ensemble);
}

#[test]
fn what_cannot_be_used_is_refused_with_its_code() {
    let broken: [(&str, Value, &str); 8] = [
        ("/schema", json!("groundline.ensemble/2"), "this version reads groundline.ensemble/1"),
        ("/groups/0/inputs/0/name", json!("intuition"), "does not know"),
        ("/groups/0/inputs/0/name", json!("summac"), "each once"),
        ("/groups/0/inputs/0/scale", json!(0.0), "scale or weight of mean"),
        ("/groups/0/inputs/0/weight", json!("much"), "malformed"),
        ("/groups/0/correlation/0/1", json!(0.9), "correlation"),
        ("/groups/0/correlation", json!([[1.0]]), "correlation"),
        ("/groups", json!([]), "1 to 64 inputs"),
    ];
    for (place, value, why) in broken {
        let mut file = file();
        *file.pointer_mut(place).unwrap() = value;
        let problem = parse(&file).unwrap_err();
        assert_eq!(problem.code, Code::ENSEMBLE_PROFILE, "{place}");
        assert!(problem.message.contains(why), "{place}: {problem}");
    }
}

#[test]
fn a_correlation_that_no_numbers_have_is_refused() {
    let mut file = file();
    file["groups"][0]["correlation"] = json!([[1.0, 1.5], [1.5, 1.0]]);
    assert_eq!(parse(&file).unwrap_err().code, Code::ENSEMBLE_PROFILE);
}

#[test]
fn no_file_makes_reading_panic() {
    for text in ["", "[]", "null", "{", r#"{"schema": 1}"#, r#"{"schema": "groundline.ensemble/1"}"#, "\u{0}"]
    {
        assert_eq!(Ensemble::parse(text.as_bytes()).unwrap_err().code, Code::ENSEMBLE_PROFILE);
    }
}
