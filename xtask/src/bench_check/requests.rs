//! The requests of a run, and the sentences that the peer gets.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Reads JSONL, compressed by gzip where the name ends in `.gz`, as requests that `groundline check` takes. Each keeps its sources and
/// its response alone, with its place as `id`: other fields would change what is computed.
pub(super) fn read(python: &Path, file: &Path) -> anyhow::Result<Vec<Value>> {
    let text = text(python, file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let requests = lines.map(|(index, line)| {
        request(line, index + 1).with_context(|| format!("line {} of the requests", index + 1))
    });
    let requests = requests.collect::<anyhow::Result<Vec<_>>>()?;
    if requests.is_empty() {
        bail!("there is no request in {}", file.display());
    }
    Ok(requests)
}

/// The standard library knows no gzip; Python is there anyway.
fn text(python: &Path, file: &Path) -> anyhow::Result<String> {
    if file.extension().is_none_or(|ending| ending != "gz") {
        return Ok(std::fs::read_to_string(file)?);
    }
    let script = "import gzip, sys; sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())";
    let output = Command::new(python).args(["-c", script]).arg(file).output()?;
    if !output.status.success() {
        bail!("it is no gzip file");
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn request(line: &str, number: usize) -> anyhow::Result<Value> {
    let row: Value = serde_json::from_str(line).context("is no JSON")?;
    // Pairs, as `bench-cpu` has them, are requests of one claim.
    let (response, source) = (row.get("response"), row.get("source"));
    let response = response.or(row.get("claim")).filter(|response| response.is_string());
    let response = response.context("has no `response`")?;
    let mut request = json!({ "id": number.to_string(), "response": response });
    match (source.or(row.get("premise")), row.get("sources")) {
        (Some(source), None) => request["source"] = source.clone(),
        (None, Some(sources)) => request["sources"] = sources.clone(),
        _ => bail!("has not one of `source` and `sources`"),
    }
    Ok(request)
}

/// At most so many of the rows, evenly spaced: a file with one set after the other gives some of each.
pub(super) fn spaced(rows: &[Value], most: usize) -> Vec<Value> {
    let taken = most.min(rows.len());
    (0..taken).map(|at| rows[at * rows.len() / taken].clone()).collect()
}

/// Writes one object a line.
pub(super) fn write(path: &Path, rows: &[Value]) -> anyhow::Result<()> {
    let lines = rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    std::fs::write(path, lines).with_context(|| format!("cannot write {}", path.display()))
}

/// What the peer reads: every sentence that a result with a matrix lists, of the sources and of the response. `None` where
/// the request was refused.
pub(super) fn sentences(result: &Value) -> Option<Value> {
    let texts =
        |rows: &Value| Some(rows.as_array()?.iter().map(|row| row["text"].clone()).collect::<Vec<_>>());
    let document = texts(&result["matrix"]["rows"])?;
    Some(json!({ "document": document, "summary": texts(&result["sentences"])? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_its_texts_and_nothing_that_changes_the_work() {
        let line = r#"{"id":"x","source":"A.","response":"B.","facts":true,"methods":["numeric"],"meta":{"label":1}}"#;
        assert_eq!(request(line, 3).unwrap(), json!({ "id": "3", "source": "A.", "response": "B." }));
        let several = request(r#"{"sources":["A.",{"text":"C."}],"response":"B."}"#, 1).unwrap();
        assert_eq!(several["sources"], json!(["A.", { "text": "C." }]));
        let pair = request(r#"{"set":"fm2","premise":"A.","claim":"B."}"#, 1).unwrap();
        assert_eq!(pair, json!({ "id": "1", "source": "A.", "response": "B." }));
    }

    #[test]
    fn a_row_without_both_texts_is_refused() {
        assert!(request(r#"{"source":"A."}"#, 1).is_err());
        assert!(request(r#"{"response":"B."}"#, 1).is_err());
        assert!(request(r#"{"source":"A.","sources":["A."],"response":"B."}"#, 1).is_err());
        assert!(request("not JSON", 1).is_err());
    }

    #[test]
    fn of_many_rows_evenly_spaced_ones_are_taken() {
        let rows = (0..10).map(Value::from).collect::<Vec<_>>();
        assert_eq!(spaced(&rows, 4), [0, 2, 5, 7].map(Value::from));
        assert_eq!(spaced(&rows, 20), rows);
        assert!(spaced(&[], 4).is_empty());
    }

    #[test]
    fn the_peer_gets_every_sentence_that_a_result_lists() {
        let result = json!({
            "matrix": { "rows": [{ "text": "A." }, { "text": "He died." }], "columns": [] },
            "sentences": [{ "text": "B." }, { "text": "Is it?" }],
        });
        let expected = json!({ "document": ["A.", "He died."], "summary": ["B.", "Is it?"] });
        assert_eq!(sentences(&result), Some(expected));
        assert_eq!(sentences(&json!({ "schema": "groundline.error/1" })), None);
    }
}
