//! What a backend can do.

use serde::{Deserialize, Serialize};

/// How a backend is asked for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFormat {
    /// `response_format` with `json_schema.schema`, as OpenAI and vLLM have it.
    SchemaNested,
    /// `response_format` with `schema` beside `type`, as llama.cpp documents it.
    SchemaFlat,
    /// `response_format` of type `json_object`: JSON, of any shape.
    JsonObject,
    /// By words in the prompt alone.
    Text,
}

/// The field that limits the length of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenLimitField {
    /// `max_tokens`, which nearly every backend knows.
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's newer models insist on.
    MaxCompletionTokens,
}

/// What a backend can do: found by [`crate::Judge::probe`], or given in [`crate::JudgeOptions::capabilities`].
///
/// The default claims nothing that a backend could lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    /// How it is asked for JSON.
    pub answer_format: AnswerFormat,
    /// Whether answers come with `logprobs.content`.
    pub logprobs: bool,
    /// Whether it takes `seed`. That it honours it is not known.
    pub seed: bool,
    /// Whether it gives as many choices as `n` asks for.
    pub n: bool,
    /// Whether it takes `temperature`.
    pub temperature: bool,
    /// The field that limits the length of an answer.
    pub token_limit: TokenLimitField,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            answer_format: AnswerFormat::Text,
            logprobs: false,
            seed: false,
            n: false,
            temperature: true,
            token_limit: TokenLimitField::MaxTokens,
        }
    }
}
