//! Answers of a backend, read without trust.

use crate::TokenUsage;
use serde_json::Value;

/// Why a choice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// By itself, or the backend does not say.
    Stopped,
    /// At the limit of tokens.
    CutOff,
    /// By a filter of the backend.
    Filtered,
}

/// One token that was written, with what could have stood there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TokenChoice {
    pub(crate) text: String,
    /// Natural logarithms of probabilities by text.
    pub(crate) alternatives: Vec<(String, f64)>,
}

/// One of the answers of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) text: String,
    /// Whether the backend itself says that the model refused.
    pub(crate) is_refusal: bool,
    pub(crate) finish: Finish,
    pub(crate) tokens: Vec<TokenChoice>,
}

/// A reply with status 200.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatReply {
    pub(crate) choices: Vec<Choice>,
    /// What the backend counted; `None` where it does not tell.
    pub(crate) usage: Option<TokenUsage>,
}

impl ChatReply {
    /// Reads a body; `None` where it is no JSON or has no list of choices.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let body = serde_json::from_slice::<Value>(body).ok()?;
        let choices = body.get("choices")?.as_array()?.iter().map(choice).collect();
        Some(Self { choices, usage: usage(&body) })
    }

    /// Bytes of all answers together.
    pub(crate) fn text_bytes(&self) -> u64 {
        self.choices.iter().map(|choice| choice.text.len() as u64).sum()
    }
}

/// Reads what the backend counted, also from a body that is no good otherwise.
fn usage(body: &Value) -> Option<TokenUsage> {
    let usage = body.get("usage")?;
    let input_tokens = usage.get("prompt_tokens")?.as_u64()?;
    let output_tokens = usage.get("completion_tokens").and_then(Value::as_u64).or_else(|| {
        usage.get("total_tokens").and_then(Value::as_u64).map(|total| total.saturating_sub(input_tokens))
    })?;
    let cached = usage.pointer("/prompt_tokens_details/cached_tokens").and_then(Value::as_u64);
    Some(TokenUsage { input_tokens, cached_input_tokens: cached.unwrap_or(0), output_tokens })
}

fn choice(choice: &Value) -> Choice {
    let message = choice.get("message").unwrap_or(choice);
    let text = message.get("content").or_else(|| message.get("text")).map(content).unwrap_or_default();
    let refusal = message.get("refusal").and_then(Value::as_str);
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("length") => Finish::CutOff,
        Some("content_filter") => Finish::Filtered,
        _ => Finish::Stopped,
    };
    let tokens = choice.pointer("/logprobs/content").and_then(Value::as_array);
    Choice {
        text,
        is_refusal: refusal.is_some_and(|refusal| !refusal.trim().is_empty()),
        finish,
        tokens: tokens.map(|tokens| tokens.iter().filter_map(token).collect()).unwrap_or_default(),
    }
}

/// The text of a content: a string, or a list of parts.
fn content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

fn token(token: &Value) -> Option<TokenChoice> {
    let pair = |entry: &Value| {
        let text = entry.get("token")?.as_str()?.to_owned();
        let logprob = entry.get("logprob")?.as_f64().filter(|value| !value.is_nan() && *value <= 1e-6)?;
        Some((text, logprob))
    };
    let own = pair(token);
    let listed = token.get("top_logprobs").and_then(Value::as_array);
    let mut alternatives =
        listed.map(|list| list.iter().filter_map(pair).collect::<Vec<_>>()).unwrap_or_default();
    // The written token may be outside the most likely ones where it was sampled.
    if let Some((text, logprob)) = own
        && !alternatives.iter().any(|(other, _)| *other == text)
    {
        alternatives.push((text, logprob));
    }
    Some(TokenChoice { text: token.get("token")?.as_str()?.to_owned(), alternatives })
}

/// What an error answer says, as far as it changes what is done. Only known words are taken from it: it may repeat the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The account has no more quota, so that trying again is in vain.
    QuotaSpent,
    /// The texts are longer than the model can read.
    TooLong,
    /// A filter of the backend refused the texts.
    Filtered,
    /// Anything else.
    Other,
}

/// Reads the kind of an error answer.
pub(crate) fn error_kind(body: &[u8]) -> ErrorKind {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return ErrorKind::Other };
    let error = body.get("error").unwrap_or(&body);
    for key in ["code", "type"] {
        match error.get(key).and_then(Value::as_str) {
            Some("insufficient_quota" | "billing_hard_limit_reached") => return ErrorKind::QuotaSpent,
            Some("context_length_exceeded" | "exceed_context_size_error") => return ErrorKind::TooLong,
            Some("content_filter" | "content_policy_violation") => return ErrorKind::Filtered,
            _ => {}
        }
    }
    ErrorKind::Other
}
