//! Finds out what a backend can do, with a few tiny questions.
//!
//! Compatible servers drop or refuse fields without a word, so each feature is tried and its effect looked for: a schema by whether
//! the answer obeys it, log probabilities by whether they are there, `n` by the number of choices. What a server refuses in one
//! form is tried in the next.

#[cfg(test)]
mod tests;

use crate::backend::Backend;
use crate::judge::Asking;
use crate::parse::{Found, find_answer};
use crate::wire::{AnswerSchema, ChatReply, ChatRequest};
use crate::{AnswerFormat, Capabilities, TokenLimitField};
use groundline_types::{Code, Problem};
use serde::Deserialize;
use serde_json::json;

/// Tokens of an answer: enough for the object, few enough to be quick.
const PROBE_TOKENS: u32 = 48;
/// Temperature with two choices: some backends refuse `n` at 0.
const CHOICE_TEMPERATURE: f64 = 0.7;

/// A question that no prompt asks for JSON, so that only a schema can bring it.
const PLAIN: &str = "Reply with the word blue.";
const AS_JSON: &str = r#"Reply with this JSON object and nothing else: {"colour": "blue"}"#;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Colour {
    colour: String,
}

/// What is known of a backend so far, feature by feature. A probe that is cut off goes on there.
#[derive(Debug, Default)]
pub(crate) struct Probed {
    basics: Option<Capabilities>,
    answer_format: Option<AnswerFormat>,
    /// How many of [`FORMATS`] it does not have.
    refused_formats: usize,
    logprobs: Option<bool>,
    seed: Option<bool>,
    n: Option<bool>,
}

/// Ways of holding an answer to a form, the best one first.
const FORMATS: [AnswerFormat; 3] =
    [AnswerFormat::SchemaNested, AnswerFormat::SchemaFlat, AnswerFormat::JsonObject];

/// Asks a backend what it can do, and keeps in `probed` what it finds.
///
/// # Errors
///
/// Why the backend does not answer the simplest question.
pub(crate) async fn probe(
    backend: &Backend,
    probed: &mut Probed,
    asking: &mut Asking,
) -> Result<Capabilities, Problem> {
    let mut can = match probed.basics {
        Some(can) => can,
        None => *probed.basics.insert(basics(backend, asking).await?),
    };
    can.answer_format = answer_format(backend, can, probed, asking).await?;
    let request = ChatRequest { wants_logprobs: true, ..question(PLAIN) };
    let ask = with_feature(backend, &request, [Capabilities { logprobs: true, ..can }, can], asking);
    can.logprobs = known_or(&mut probed.logprobs, ask, has_logprobs).await?;

    let request = ChatRequest { seed: Some(1), ..question(PLAIN) };
    let ask = with_feature(backend, &request, [Capabilities { seed: true, ..can }, can], asking);
    can.seed = known_or(&mut probed.seed, ask, |_| true).await?;

    let request = ChatRequest { n: 2, temperature: CHOICE_TEMPERATURE, ..question(PLAIN) };
    let ask = with_feature(backend, &request, [Capabilities { n: true, ..can }, can], asking);
    can.n = known_or(&mut probed.n, ask, |reply| reply.choices.len() == 2).await?;
    tracing::info!(
        format = ?can.answer_format,
        logprobs = can.logprobs,
        seed = can.seed,
        n = can.n,
        calls = asking.usage.calls,
        "judge's backend is probed"
    );
    Ok(can)
}

/// What is known of a feature, or what its reply shows now.
async fn known_or(
    known: &mut Option<bool>,
    ask: impl Future<Output = Result<Option<ChatReply>, Problem>>,
    shows: impl Fn(&ChatReply) -> bool,
) -> Result<bool, Problem> {
    match *known {
        Some(known) => Ok(known),
        None => Ok(*known.insert(ask.await?.is_some_and(|reply| shows(&reply)))),
    }
}

/// The first of [`FORMATS`] that answers obey.
async fn answer_format(
    backend: &Backend,
    can: Capabilities,
    probed: &mut Probed,
    asking: &mut Asking,
) -> Result<AnswerFormat, Problem> {
    if let Some(known) = probed.answer_format {
        return Ok(known);
    }
    for format in FORMATS.into_iter().skip(probed.refused_formats) {
        let tried = Capabilities { answer_format: format, ..can };
        // Plain JSON has no schema to hold to: the prompt must ask for it, and backends insist on the word.
        let text = if format == AnswerFormat::JsonObject { AS_JSON } else { PLAIN };
        let request = ChatRequest { schema: Some(schema()), ..question(text) };
        let reply = with_feature(backend, &request, [tried, can], asking).await?;
        if reply.is_some_and(|reply| obeys(&reply)) {
            return Ok(*probed.answer_format.insert(format));
        }
        probed.refused_formats += 1;
    }
    Ok(*probed.answer_format.insert(AnswerFormat::Text))
}

/// What every question needs: an answer at all, with a field for its length and a temperature that the backend takes.
async fn basics(backend: &Backend, asking: &mut Asking) -> Result<Capabilities, Problem> {
    let mut refused = None;
    for token_limit in [TokenLimitField::MaxTokens, TokenLimitField::MaxCompletionTokens] {
        for temperature in [true, false] {
            let tried = Capabilities { token_limit, temperature, ..Capabilities::default() };
            match backend.call(&question(PLAIN), &tried, asking.deadline, &mut asking.usage).await {
                Ok(_) => return Ok(tried),
                Err(failure) if failure.is_rejection => refused = refused.or(Some(failure.problem)),
                Err(failure) => return Err(failure.problem),
            }
        }
    }
    // Four tries were refused, so there is a reason.
    Err(refused.unwrap_or_else(|| Problem::new(Code::INTERNAL, "a probe ended without a reason")))
}

/// Asks with a feature. `None` where it is not there: it is refused, its answer makes no sense, or the backend fails with it
/// (`tried`) and answers without it (`can`). Any other failure says nothing about it.
async fn with_feature(
    backend: &Backend,
    request: &ChatRequest,
    [tried, can]: [Capabilities; 2],
    asking: &mut Asking,
) -> Result<Option<ChatReply>, Problem> {
    let failure = match backend.call(request, &tried, asking.deadline, &mut asking.usage).await {
        Ok(reply) => return Ok(Some(reply)),
        Err(failure) => failure,
    };
    if failure.is_rejection || failure.problem.code == Code::JUDGE_UNREADABLE {
        return Ok(None);
    }
    if failure.problem.code != Code::JUDGE_UNAVAILABLE {
        return Err(failure.problem);
    }
    let without = backend.call(&question(PLAIN), &can, asking.deadline, &mut asking.usage).await;
    without.map(|_| None).map_err(|failure| failure.problem)
}

fn question(text: &str) -> ChatRequest {
    ChatRequest::new(None, text.to_owned(), PROBE_TOKENS)
}

fn schema() -> AnswerSchema {
    AnswerSchema {
        name: "colour",
        schema: json!({
            "type": "object",
            "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
            "required": ["colour"],
            "additionalProperties": false,
        }),
    }
}

fn obeys(reply: &ChatReply) -> bool {
    let answer = reply.choices.first().map(|choice| find_answer::<Colour>(&choice.text, "colour"));
    matches!(answer, Some(Found::Answer(..)))
}

fn has_logprobs(reply: &ChatReply) -> bool {
    let tokens = reply.choices.first().map(|choice| choice.tokens.as_slice()).unwrap_or_default();
    tokens.first().is_some_and(|token| token.alternatives.len() > 1)
}
