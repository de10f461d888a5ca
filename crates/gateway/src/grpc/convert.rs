//! Between messages and the JSON that HTTP has.

use super::wire;
use groundline_types::{CheckResult, Code, MatrixResult, Probability, Problem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The JSON of a request. What a message cannot tell from absent is left out: an empty list of methods means the default.
///
/// # Errors
/// [`Code::INVALID_FIELD`] where there are two policies.
pub(super) fn json_of_check(mut message: wire::CheckRequest) -> Result<Value, Problem> {
    let named = message.policy_name.take();
    if named.is_some() && message.policy.is_some() {
        return Err(Problem::new(Code::INVALID_FIELD, "give `policy_name` or `policy`, not both"));
    }
    let mut json = json_of(&message)?;
    if let Some(fields) = json.as_object_mut() {
        fields.remove("policy_name");
        if let Some(name) = named {
            fields.insert("policy".to_owned(), Value::String(name));
        }
        drop_empty_lists(fields);
    }
    Ok(json)
}

/// The JSON of the head of a stream.
///
/// # Errors
/// [`Code::INVALID_FIELD`] where it holds a response, or no request.
pub(super) fn json_of_head(head: wire::StreamHead) -> Result<Value, Problem> {
    let check = head.check.ok_or_else(|| missing("check"))?;
    let has_response = !check.response.is_empty();
    let mut json = json_of_check(check)?;
    if let Some(fields) = json.as_object_mut() {
        if !has_response {
            fields.remove("response");
        }
        if let Some(stop_at) = head.stop_at {
            fields.insert("stop_at".to_owned(), Value::String(stop_at));
        }
    }
    Ok(json)
}

/// The JSON of a request for a reward.
///
/// # Errors
/// [`Code::INVALID_FIELD`] where it holds no request.
pub(super) fn json_of_reward(message: wire::RewardRequest) -> Result<Value, Problem> {
    let mut json = json_of_check(message.check.ok_or_else(|| missing("check"))?)?;
    if let (Some(fields), Some(name)) = (json.as_object_mut(), message.reward_profile) {
        fields.insert("reward_profile".to_owned(), Value::String(name));
    }
    Ok(json)
}

fn missing(field: &str) -> Problem {
    Problem::new(Code::INVALID_FIELD, format!("the field `{field}` is missing"))
}

fn drop_empty_lists(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| value.as_array().is_none_or(|items| !items.is_empty()));
}

/// The message of a result.
pub(super) fn result_of(mut result: CheckResult) -> Result<wire::CheckResult, Problem> {
    // The only part of another shape: a message has no lists of lists.
    let matrix = result.matrix.take();
    let mut message: wire::CheckResult = message_of(&result)?;
    message.matrix = matrix.map(matrix_of);
    Ok(message)
}

/// Why there is no answer.
pub(super) fn error_of(problem: Problem, id: Option<String>) -> wire::Error {
    wire::Error { code: problem.code.as_str().to_owned(), message: problem.message, id }
}

fn matrix_of(matrix: MatrixResult) -> wire::Matrix {
    let MatrixResult { rows, columns, entailment, contradiction, neutral } = matrix;
    let at = |lists: &[Vec<Option<Probability>>], row: usize, column: usize| {
        lists.get(row)?.get(column).copied().flatten().map(Probability::get)
    };
    let places = (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |column| (row, column)));
    let cells = places.filter_map(|(row, column)| {
        Some(wire::MatrixCell {
            row: row as u64,
            column: column as u64,
            entailment: at(&entailment, row, column)?,
            contradiction: at(&contradiction, row, column)?,
            neutral: at(&neutral, row, column)?,
        })
    });
    let cells = cells.collect();
    let rows = rows.into_iter().map(|row| wire::MatrixRow {
        source: row.source,
        start: row.start as u64,
        end: row.end as u64,
        text: row.text,
    });
    wire::Matrix {
        rows: rows.collect(),
        columns: columns.iter().map(|column| *column as u64).collect(),
        cells,
    }
}

/// The message that has the same JSON.
pub(super) fn message_of<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, Problem> {
    serde_json::from_value(json_of(value)?)
        .map_err(|_| Problem::new(Code::INTERNAL, "a result does not fit its message; this is a bug"))
}

fn json_of(value: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value)
        .map_err(|_| Problem::new(Code::INTERNAL, "a message cannot be written as JSON; this is a bug"))
}

#[cfg(test)]
mod tests;
