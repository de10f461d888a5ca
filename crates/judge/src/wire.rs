//! Requests and answers of `/chat/completions`, as far as a judge needs them.
//!
//! Servers that call themselves compatible leave out fields and add their own, so answers are walked, not deserialised: what
//! is missing or of another type is absent, and nothing else fails for it.

mod reply;

#[cfg(test)]
mod tests;

pub(crate) use reply::{ChatReply, Choice, ErrorKind, Finish, TokenChoice, error_kind};

use crate::{AnswerFormat, Capabilities, TokenLimitField, TokenUsage};
use serde_json::{Map, Value, json};

/// Tokens that a chat template may add to the texts of a message pair.
const TEMPLATE_TOKENS: u64 = 64;
/// Alternatives that are asked for at each token: enough for three labels in a few spellings, and below every backend's limit.
const TOP_LOGPROBS: u32 = 5;

/// A JSON schema and its name. Kept to objects, enums, strings and arrays: backends crash or loop on more.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AnswerSchema {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
}

/// One question to the model.
#[derive(Debug, Clone)]
pub(crate) struct ChatRequest {
    pub(crate) system: Option<String>,
    pub(crate) user: String,
    pub(crate) temperature: f64,
    pub(crate) max_output_tokens: u32,
    /// Choices wanted; 1 but for sampling.
    pub(crate) n: u32,
    pub(crate) seed: Option<u64>,
    pub(crate) schema: Option<AnswerSchema>,
    pub(crate) wants_logprobs: bool,
}

impl ChatRequest {
    /// A question that is answered in free text, deterministically.
    pub(crate) fn new(system: Option<String>, user: String, max_output_tokens: u32) -> Self {
        Self {
            system,
            user,
            temperature: 0.0,
            max_output_tokens,
            n: 1,
            seed: None,
            schema: None,
            wants_logprobs: false,
        }
    }

    /// The body to send to a backend that can do this much.
    pub(crate) fn body(
        &self,
        model: &str,
        can: &Capabilities,
        extra: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut body = extra.clone();
        let mut messages = Vec::with_capacity(2);
        if let Some(system) = &self.system {
            messages.push(json!({"role": "system", "content": system}));
        }
        messages.push(json!({"role": "user", "content": self.user}));
        body.insert("model".to_owned(), json!(model));
        body.insert("messages".to_owned(), Value::Array(messages));
        let limit = match can.token_limit {
            TokenLimitField::MaxTokens => "max_tokens",
            TokenLimitField::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(limit.to_owned(), json!(self.max_output_tokens));
        if can.temperature {
            body.insert("temperature".to_owned(), json!(self.temperature));
        }
        if self.n > 1 && can.n {
            body.insert("n".to_owned(), json!(self.n));
        }
        if let Some(seed) = self.seed.filter(|_| can.seed) {
            body.insert("seed".to_owned(), json!(seed));
        }
        if self.wants_logprobs && can.logprobs {
            body.insert("logprobs".to_owned(), json!(true));
            body.insert("top_logprobs".to_owned(), json!(TOP_LOGPROBS));
        }
        if let Some(format) =
            self.schema.as_ref().and_then(|schema| response_format(schema, can.answer_format))
        {
            body.insert("response_format".to_owned(), format);
        }
        body
    }

    /// The most tokens that this can take, whatever the tokenizer: a token stands for at least one byte.
    pub(crate) fn most_tokens(&self) -> TokenUsage {
        TokenUsage {
            input_tokens: self.text_bytes() + TEMPLATE_TOKENS,
            cached_input_tokens: 0,
            output_tokens: u64::from(self.max_output_tokens) * u64::from(self.n),
        }
    }

    /// About how many tokens it will take, for a rate limit that is put right afterwards.
    pub(crate) fn likely_tokens(&self) -> u64 {
        guessed_tokens(self.text_bytes()) + u64::from(self.max_output_tokens) * u64::from(self.n) / 2
    }

    /// Bytes that the model reads: both messages, and the schema, which some backends put into the prompt.
    pub(crate) fn text_bytes(&self) -> u64 {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.schema.to_string().len());
        (self.system.as_ref().map_or(0, String::len) + self.user.len() + schema) as u64
    }
}

/// Tokens of so many bytes, where the backend does not tell: English has one for about four bytes, and this errs upwards.
pub(crate) fn guessed_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(3)
}

fn response_format(schema: &AnswerSchema, format: AnswerFormat) -> Option<Value> {
    match format {
        AnswerFormat::SchemaNested => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": schema.name, "strict": true, "schema": schema.schema},
        })),
        AnswerFormat::SchemaFlat => Some(json!({"type": "json_schema", "schema": schema.schema})),
        AnswerFormat::JsonObject => Some(json!({"type": "json_object"})),
        AnswerFormat::Text => None,
    }
}
