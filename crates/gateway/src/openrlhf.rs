//! The request that OpenRLHF sends to a remote reward model, without HTTP: `openrlhf/utils/agent.py` of version 0.11.
//!
//! A query is prompt and response together, with the special tokens of the chat template; what was said must be found in it.
//! The label is a string of the data set; ours holds the evidence.

use groundline_types::{CheckRequest, Code, Problem};
use serde_json::{Map, Value, json};

/// After the last of these an answer begins, where the prompt cannot be found at the start of a query: it may have been
/// truncated, or hold pictures that the query shows as tokens.
const ASSISTANT_MARKERS: [&str; 4] = [
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<｜Assistant｜>",
    "<start_of_turn>model",
];
/// Special tokens that are not written between `<|` and `|>`.
const SPECIAL_TOKENS: [&str; 9] =
    ["</s>", "<s>", "<pad>", "<eos>", "<bos>", "<unk>", "<end_of_turn>", "<start_of_turn>", "<EOT>"];
/// Longest name of a special token in characters.
const MAX_TOKEN_CHARS: usize = 40;

/// One sample to score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    /// Prompt and response as one text.
    pub(crate) query: String,
    /// The prompt.
    pub(crate) prompt: String,
    /// The label: `{"context": [...], "reference": "..."}` as text, or a plain reference.
    pub(crate) label: Option<String>,
}

/// Reads the body of a call: lists of equal length. `prompts` and `labels` may be missing.
///
/// # Errors
/// [`Code::INVALID_FIELD`] naming what is wrong.
pub(crate) fn samples_of(json: Value) -> Result<Vec<Sample>, Problem> {
    let Value::Object(mut fields) = json else {
        return Err(wrong("the body must be an object with `query`, `prompts` and `labels`"));
    };
    let queries = texts_of(&mut fields, "query")?.ok_or_else(|| wrong("the field `query` is missing"))?;
    let count = queries.len();
    let prompts = texts_of(&mut fields, "prompts")?.unwrap_or_else(|| vec![None; count]);
    let labels = texts_of(&mut fields, "labels")?.unwrap_or_else(|| vec![None; count]);
    if prompts.len() != count || labels.len() != count {
        let (prompts, labels) = (prompts.len(), labels.len());
        let message =
            format!("`query` has {count} items, `prompts` {prompts} and `labels` {labels}; they go together");
        return Err(wrong(&message));
    }
    let samples = queries.into_iter().zip(prompts).zip(labels).map(|((query, prompt), label)| Sample {
        query: query.unwrap_or_default(),
        prompt: prompt.unwrap_or_default(),
        label,
    });
    Ok(samples.collect())
}

/// A list of strings or null; a single string is a list of one.
fn texts_of(fields: &mut Map<String, Value>, name: &str) -> Result<Option<Vec<Option<String>>>, Problem> {
    let items = match fields.remove(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(text @ Value::String(_)) => vec![text],
        Some(_) => return Err(wrong(&format!("`{name}` must be a list of strings"))),
    };
    let texts = items.into_iter().map(|item| match item {
        Value::String(text) => Ok(Some(text)),
        Value::Null => Ok(None),
        // Data sets hold numbers as labels, too.
        Value::Number(number) => Ok(Some(number.to_string())),
        _ => Err(wrong(&format!("`{name}` must be a list of strings"))),
    });
    Ok(Some(texts.collect::<Result<_, _>>()?))
}

/// The check that a sample asks for.
///
/// # Errors
/// [`Code::EMPTY_RESPONSE`] where the answer cannot be found in the query, [`Code::EMPTY_SOURCE`] where the label holds no
/// evidence, [`Code::INVALID_FIELD`] where its evidence is malformed.
pub(crate) fn request_of(sample: &Sample) -> Result<CheckRequest, Problem> {
    let response = response_of(&sample.query, &sample.prompt).ok_or_else(|| {
        let message = "the query neither begins with its prompt nor has a marker where the answer begins";
        Problem::new(Code::EMPTY_RESPONSE, message)
    })?;
    let sources = sources_of(sample.label.as_deref().unwrap_or_default());
    CheckRequest::from_value(json!({ "response": response, "sources": sources }))
}

/// The evidence that a label holds.
fn sources_of(label: &str) -> Vec<Value> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(label) else {
        return if label.trim().is_empty() { Vec::new() } else { vec![label.into()] };
    };
    // An object with neither field belongs to another reward: there is no evidence for this one.
    let mut sources = match fields.remove("context") {
        Some(Value::Array(items)) => items,
        None | Some(Value::Null) => Vec::new(),
        Some(one) => vec![one],
    };
    sources.extend(fields.remove("reference").filter(|reference| !reference.is_null()));
    sources
}

/// What was answered: the query without its prompt and without special tokens; `None` where it cannot be told from the prompt.
fn response_of(query: &str, prompt: &str) -> Option<String> {
    let (query, prompt) = (skip_special(query), skip_special(prompt));
    let answer = query.strip_prefix(prompt).or_else(|| {
        let after = |marker: &&str| query.rfind(*marker).map(|at| at + marker.len());
        ASSISTANT_MARKERS.iter().filter_map(after).max().map(|at| &query[at..])
    })?;
    Some(without_special(answer).trim().to_owned())
}

/// The text after special tokens and white space at its start: queries begin with one that prompts may lack.
fn skip_special(mut text: &str) -> &str {
    loop {
        let trimmed = text.trim_start();
        match special_len(trimmed) {
            // A marker of a role is a part of the prompt.
            Some(length) if is_start_of_text(&trimmed[..length]) => text = &trimmed[length..],
            _ => return trimmed,
        }
    }
}

fn is_start_of_text(token: &str) -> bool {
    ["<s>", "<bos>", "<pad>"].contains(&token)
        || ["begin", "endoftext", "startoftext", "pad"].iter().any(|part| token.contains(part))
}

fn without_special(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match special_len(rest) {
            Some(length) => rest = &rest[length..],
            None => {
                out.push('<');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Length of the special token that a text begins with.
fn special_len(text: &str) -> Option<usize> {
    if let Some(token) = SPECIAL_TOKENS.iter().find(|token| text.starts_with(**token)) {
        return Some(token.len());
    }
    for (open, close) in [("<|", "|>"), ("<｜", "｜>")] {
        let Some(rest) = text.strip_prefix(open) else { continue };
        let name = rest.split(close).next().filter(|name| name.len() < rest.len())?;
        // DeepSeek writes ▁ within names.
        let is_name = |c: char| c.is_alphanumeric() || "_-▁ ".contains(c);
        if !name.is_empty() && name.chars().count() <= MAX_TOKEN_CHARS && name.chars().all(is_name) {
            return Some(open.len() + name.len() + close.len());
        }
    }
    None
}

fn wrong(message: &str) -> Problem {
    Problem::new(Code::INVALID_FIELD, message)
}

#[cfg(test)]
mod tests;
