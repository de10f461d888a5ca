//! Labelled responses, and what was found about them.

use groundline_types::{CheckResult, Code, Problem};
use groundline_verdict::ensemble::input_values;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Methods that are asked where a labelled response has samples.
const SAMPLE_METHODS: [&str; 3] = ["selfcheck_nli", "selfcheck_overlap", "selfcheck_ngram"];

/// Which rows of a labelled set are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Most rows of a set; the ones taken are evenly spaced, so that they depend on nothing but the file.
    pub rows: usize,
    /// Rows with a longer source, in words, are left out.
    pub source_words: usize,
    /// Rows with a longer response, in words, are left out.
    pub response_words: usize,
}

/// A set as requests.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedSet {
    /// One request for each row, with the set and the label in `meta`.
    pub requests: Vec<Value>,
    /// Rows of the file.
    pub rows: usize,
    /// Rows that could be used: those with a label, a response, and a source or samples, none of them too long.
    pub usable: usize,
}

/// Turns rows of a labelled set into requests. A row is an object with `label` (1 supported, 0 not), `claim` or `response`, and
/// `source` or `samples` or both; `id` and whatever else is ignored.
pub fn prepare(set: &str, rows: &[Map<String, Value>], selection: Selection) -> PreparedSet {
    let requests: Vec<Value> =
        rows.iter().enumerate().filter_map(|(index, row)| request(set, index, row, selection)).collect();
    let (usable, wanted) = (requests.len(), selection.rows.min(requests.len()));
    let taken = (0..wanted).filter_map(|place| requests.get(place * usable / wanted).cloned());
    PreparedSet { requests: taken.collect(), rows: rows.len(), usable }
}

fn request(set: &str, index: usize, row: &Map<String, Value>, most: Selection) -> Option<Value> {
    let text = |name: &str| row.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let label = row.get("label").and_then(Value::as_u64).filter(|label| *label <= 1)?;
    let response = text("claim").or_else(|| text("response"))?;
    let source = text("source");
    let samples = row.get("samples").and_then(Value::as_array).filter(|samples| !samples.is_empty());
    let words = |text: &str| text.split_whitespace().count();
    let is_short = source.is_none_or(|source| words(source) <= most.source_words)
        && words(response) <= most.response_words;
    if !is_short || (source.is_none() && samples.is_none()) {
        return None;
    }
    let id = row.get("id").and_then(Value::as_str).map_or_else(|| index.to_string(), str::to_owned);
    let mut request = json!({ "id": format!("{set}/{id}"), "response": response });
    if let Some(source) = source {
        request["source"] = source.into();
    }
    if let Some(samples) = samples {
        let methods = source.map(|_| "default").into_iter().chain(SAMPLE_METHODS);
        request["methods"] = methods.collect::<Vec<_>>().into();
        request["samples"] = samples.clone().into();
    }
    request["meta"] = json!({ "set": set, "label": label });
    Some(request)
}

/// Set and label of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Name of its set.
    pub set: String,
    /// Whether people called it supported.
    pub is_supported: bool,
}

/// Labels by request id, from requests that [`prepare`] made.
///
/// # Errors
/// [`Code::INVALID_FIELD`] for a request without an id, or without a set and a label in `meta`, and for an id that stands twice.
pub fn labels(requests: &[Map<String, Value>]) -> Result<BTreeMap<String, Label>, Problem> {
    let mut labels = BTreeMap::new();
    for (index, request) in requests.iter().enumerate() {
        let broken = |what: &str| Problem::new(Code::INVALID_FIELD, format!("request {} {what}", index + 1));
        let id = request.get("id").and_then(Value::as_str).ok_or_else(|| broken("has no id"))?;
        let meta = request.get("meta").and_then(Value::as_object);
        let label = meta.and_then(|meta| {
            let is_supported = meta.get("label")?.as_u64().filter(|label| *label <= 1)? == 1;
            Some(Label { set: meta.get("set")?.as_str()?.to_owned(), is_supported })
        });
        let label = label.ok_or_else(|| broken("has no `set` and `label` of 0 or 1 in `meta`"))?;
        if labels.insert(id.to_owned(), label).is_some() {
            return Err(broken("has an id that stood before"));
        }
    }
    Ok(labels)
}

/// A labelled response with what methods said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Name of its set.
    pub set: String,
    /// Whether people called it supported.
    pub is_supported: bool,
    /// The inputs of an ensemble that have a value.
    pub inputs: BTreeMap<&'static str, f64>,
}

impl Item {
    /// A result with its label; `None` where no method that an ensemble reads gave a number.
    pub fn new(label: &Label, result: &CheckResult) -> Option<Self> {
        let inputs = input_values(result, &[]);
        let Label { set, is_supported } = label.clone();
        (!inputs.is_empty()).then_some(Self { set, is_supported, inputs })
    }
}

/// Items by set, in the order of names.
pub fn by_set(items: &[Item]) -> BTreeMap<&str, Vec<&Item>> {
    let mut sets: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in items {
        sets.entry(&item.set).or_default().push(item);
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Map<String, Value>> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    const ALL: Selection = Selection { rows: 100, source_words: 5, response_words: 5 };

    #[test]
    fn rows_become_requests_with_their_label() {
        let rows = rows(
            r#"{"id": "a", "source": "One two.", "claim": "One.", "label": 1, "domain": "x"}
{"id": "b", "source": "", "claim": "Two.", "label": 0, "samples": ["Two.", "Three."]}
{"source": "One.", "response": "Three.", "label": 0}"#,
        );
        let prepared = prepare("s", &rows, ALL);
        let expected = [
            json!({"id": "s/a", "source": "One two.", "response": "One.", "meta": {"set": "s", "label": 1}}),
            json!({"id": "s/b", "response": "Two.", "samples": ["Two.", "Three."], "methods": SAMPLE_METHODS,
                   "meta": {"set": "s", "label": 0}}),
            json!({"id": "s/2", "source": "One.", "response": "Three.", "meta": {"set": "s", "label": 0}}),
        ];
        assert_eq!(prepared.requests, expected);
        let requests: Vec<_> = expected.iter().map(|request| request.as_object().unwrap().clone()).collect();
        let labels = labels(&requests).unwrap();
        assert_eq!(labels["s/a"], Label { set: "s".to_owned(), is_supported: true });
    }

    #[test]
    fn rows_without_evidence_label_or_room_are_left_out() {
        let rows = rows(
            r#"{"source": " ", "claim": "One.", "label": 1}
{"source": "One.", "claim": "", "label": 1}
{"source": "One.", "claim": "One.", "label": 2}
{"source": "One two three four five six.", "claim": "One.", "label": 1}
{"source": "One.", "claim": "One.", "label": 1}"#,
        );
        let prepared = prepare("s", &rows, ALL);
        assert_eq!((prepared.rows, prepared.usable, prepared.requests.len()), (5, 1, 1));
    }

    #[test]
    fn of_many_rows_evenly_spaced_ones_are_taken() {
        let row = |index: usize| format!(r#"{{"id": "{index}", "source": "A.", "claim": "A.", "label": 1}}"#);
        let rows = rows(&(0..10).map(row).collect::<Vec<_>>().join("\n"));
        let prepared = prepare("s", &rows, Selection { rows: 4, ..ALL });
        let ids: Vec<&str> = prepared.requests.iter().filter_map(|request| request["id"].as_str()).collect();
        assert_eq!(ids, ["s/0", "s/2", "s/5", "s/7"]);
    }

    #[test]
    fn a_request_without_its_label_is_refused_by_number() {
        let fine = r#"{"id": "a", "meta": {"set": "s", "label": 1}}"#;
        for (broken, why) in [
            (r#"{"meta": {"set": "s", "label": 1}}"#, "no id"),
            (r#"{"id": "b", "meta": {"set": "s"}}"#, "`label`"),
            (fine, "stood before"),
        ] {
            let problem = labels(&rows(&format!("{fine}\n{broken}"))).unwrap_err();
            assert_eq!(problem.code, Code::INVALID_FIELD);
            assert!(problem.message.contains("request 2") && problem.message.contains(why), "{problem}");
        }
    }
}
