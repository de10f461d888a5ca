//! How the stub answers: a pure function of the request, its number and the options.

mod read;

use super::{Fault, Persona, StubOptions};
use crate::{AnswerFormat, JudgeLabel, TokenLimitField};
pub(super) use read::has_escaped;
use read::{Question, read};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Bytes that the stub counts as a token.
const TOKEN_BYTES: usize = 4;
/// What it would bill where the request names no limit.
const DEFAULT_MAX_TOKENS: u64 = 256;
/// How sure it is of its label where log probabilities are asked for and the words leave no doubt.
const SURE: f64 = 0.96;

/// A reply before it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) body: Body,
    pub(super) billed_tokens: u64,
}

/// What is sent of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Body {
    Whole(Value),
    Half(String),
    Endless,
    Reset,
    Never,
}

/// What it says, and how sure it is of it where that is a label.
struct Said {
    text: String,
    label: Option<(JudgeLabel, f64)>,
}

impl Said {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), label: None }
    }
}

/// Answers a request.
pub(super) fn reply(request: &Value, options: &StubOptions, fault: Option<Fault>, number: u64) -> Reply {
    let error = |status: u16, retry_after: Option<u32>, code: &str| Reply {
        status,
        retry_after: retry_after.map(|seconds| seconds.to_string()),
        body: Body::Whole(json!({"error": {"code": code, "message": request["messages"][0]["content"]}})),
        billed_tokens: 0,
    };
    match fault {
        Some(Fault::RateLimited(after)) => return error(429, after, "rate_limit_exceeded"),
        Some(Fault::ServerError) => return error(500, None, "internal"),
        _ => {}
    }
    if let Some(field) = unknown_field(request, options) {
        return error(400, None, field);
    }
    let input_tokens = input_bytes(request).div_ceil(TOKEN_BYTES) as u64;
    let most = input_tokens + max_tokens(request);
    let lost = |body| Reply { status: 200, retry_after: None, body, billed_tokens: most };
    match fault {
        Some(Fault::Hang) => return lost(Body::Never),
        Some(Fault::Endless) => return lost(Body::Endless),
        Some(Fault::Reset) => return lost(Body::Reset),
        _ => {}
    }
    let said = match fault {
        Some(Fault::WrongSchema) => Said::text(r#"{"answer": "supported", "score": 1}"#),
        Some(Fault::Prose) => Said::text("In my opinion the claim is supported."),
        Some(Fault::Refusal) => Said::text("I'm sorry, but I can't help with that."),
        Some(Fault::Empty | Fault::Filtered) => Said::text(""),
        _ => think(request, options, number),
    };
    let wanted = request["n"].as_u64().filter(|_| options.capabilities.n).unwrap_or(1);
    let finish = if fault == Some(Fault::Filtered) { "content_filter" } else { "stop" };
    let choices = (0..wanted).map(|index| choice(&said, index, finish, request, options)).collect::<Vec<_>>();
    let output_tokens = said.text.len().div_ceil(TOKEN_BYTES) as u64 * wanted;
    let billed_tokens = input_tokens + output_tokens;
    let mut body = json!({"object": "chat.completion", "model": request["model"], "choices": choices});
    if options.tells_usage {
        body["usage"] = json!({"prompt_tokens": input_tokens, "completion_tokens": output_tokens});
    }
    if fault == Some(Fault::HalfAnswer) {
        let text = body.to_string();
        let mut half = text.len() / 2;
        while !text.is_char_boundary(half) {
            half -= 1;
        }
        return Reply { billed_tokens: most, ..lost(Body::Half(text[..half].to_owned())) };
    }
    Reply { status: 200, retry_after: None, body: Body::Whole(body), billed_tokens }
}

/// The first field that this backend does not know, as a word for its error.
fn unknown_field(request: &Value, options: &StubOptions) -> Option<&'static str> {
    let can = &options.capabilities;
    let format = &request["response_format"];
    let wanted = match format["type"].as_str() {
        None => AnswerFormat::Text,
        Some("json_object") => AnswerFormat::JsonObject,
        Some(_) if format["schema"].is_null() => AnswerFormat::SchemaNested,
        Some(_) => AnswerFormat::SchemaFlat,
    };
    if wanted != AnswerFormat::Text && wanted != can.answer_format {
        return Some("response_format");
    }
    if !request["seed"].is_null() && !can.seed {
        return Some("seed");
    }
    if !request["temperature"].is_null() && !can.temperature {
        return Some("temperature");
    }
    let other = match can.token_limit {
        TokenLimitField::MaxTokens => "max_completion_tokens",
        TokenLimitField::MaxCompletionTokens => "max_tokens",
    };
    (!request[other].is_null()).then_some("token limit")
}

fn input_bytes(request: &Value) -> usize {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter_map(|message| message["content"].as_str()).map(str::len).sum()
}

fn max_tokens(request: &Value) -> u64 {
    let limit = request["max_tokens"].as_u64().or_else(|| request["max_completion_tokens"].as_u64());
    limit.unwrap_or(DEFAULT_MAX_TOKENS) * request["n"].as_u64().unwrap_or(1)
}

fn choice(said: &Said, index: u64, finish: &str, request: &Value, options: &StubOptions) -> Value {
    let mut choice = json!({
        "index": index,
        "message": {"role": "assistant", "content": said.text},
        "finish_reason": finish,
    });
    if options.capabilities.logprobs && request["logprobs"] == true {
        choice["logprobs"] = json!({"content": tokens(said)});
    }
    choice
}

/// The text as three tokens: what is before the label, the label's first letters with their alternatives, and the rest.
fn tokens(said: &Said) -> Value {
    let whole = |text: &str| {
        json!({"token": text, "logprob": -0.01, "top_logprobs": [
        {"token": text, "logprob": -0.01}, {"token": "x", "logprob": -5.0}]})
    };
    let Some((label, sure)) = said.label else { return json!([whole(&said.text)]) };
    let key = "\"verdict\": \"";
    let Some(at) = said.text.rfind(key).map(|at| at + key.len()) else { return json!([whole(&said.text)]) };
    let end = at + 3;
    let top = JudgeLabel::ALL.map(|other| {
        let share: f64 = if other == label { sure } else { (1.0 - sure) / 2.0 };
        json!({"token": &other.as_str()[..3], "logprob": share.ln()})
    });
    let label = json!({"token": &said.text[at..end], "logprob": sure.ln(), "top_logprobs": top});
    json!([whole(&said.text[..at]), label, whole(&said.text[end..])])
}

fn think(request: &Value, options: &StubOptions, number: u64) -> Said {
    let user = request["messages"].as_array().and_then(|messages| messages.last());
    let user = user.and_then(|message| message["content"].as_str()).unwrap_or_default();
    match read(user) {
        Question::Verdict { sources, claim } => match options.persona {
            Persona::Parrot => Said::text(claim),
            Persona::Obedient => verdict(JudgeLabel::Supported, SURE, &claim),
            Persona::Gullible if has_escaped(user) => {
                verdict(JudgeLabel::Supported, SURE, sources.first().map_or("", String::as_str))
            }
            Persona::Honest | Persona::Gullible => compare(&sources, &claim),
        },
        Question::Facts { text } => match options.persona {
            Persona::Parrot => Said::text(text),
            _ => Said::text(json!({"facts": pieces(&text)}).to_string()),
        },
        Question::SelfCheck { context, sentence } => {
            let label = compare(&[context], &sentence).label.map(|(label, _)| label);
            Said::text(if label == Some(JudgeLabel::Supported) { "Yes" } else { "No" })
        }
        Question::Probe { is_json } => {
            let is_held = !request["response_format"].is_null();
            Said::text(if is_held || is_json { r#"{"colour": "blue"}"# } else { "blue" })
        }
        Question::Other => {
            Said::text(format!("Sample {number} of seed {}: {}", request["seed"], user.trim()))
        }
    }
}

fn verdict(label: JudgeLabel, sure: f64, quote: &str) -> Said {
    // Put together by hand: the order of its fields is that of the schema.
    let (reason, quote) = (json!("Words were compared."), json!(quote));
    let text = format!(r#"{{"quote": {quote}, "reason": {reason}, "verdict": "{}"}}"#, label.as_str());
    Said { text, label: Some((label, sure)) }
}

/// Compares words: all of the claim's in one source sentence is support; most of them, with another number or another negation, is
/// contradiction.
fn compare(sources: &[String], claim: &str) -> Said {
    let claimed = words(claim);
    let sentences = sources.iter().flat_map(|source| source.split_inclusive(['.', '\n'])).map(str::trim);
    let shared = |sentence: &str| words(sentence).intersection(&claimed).count();
    let best = sentences.filter(|sentence| !sentence.is_empty()).max_by_key(|sentence| shared(sentence));
    let best = best.unwrap_or_default();
    let share = shared(best) as f64 / claimed.len().max(1) as f64;
    let has = |text: &BTreeSet<String>| text.contains("not") || text.contains("never");
    let numbers = |words: &BTreeSet<String>| {
        words
            .iter()
            .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let found = words(best);
    let (own, other) = (numbers(&claimed), numbers(&found));
    let differs = has(&claimed) != has(&found) || (!own.is_subset(&other) && !other.is_empty());
    if share > 0.5 && differs {
        verdict(JudgeLabel::Contradicted, SURE, best)
    } else if share >= 0.999 {
        verdict(JudgeLabel::Supported, SURE, best)
    } else if share >= 0.75 {
        verdict(JudgeLabel::Supported, 0.5, best)
    } else {
        verdict(JudgeLabel::Unsupported, SURE, "")
    }
}

/// Words of content in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 2 || word.contains(|c: char| c.is_ascii_digit()));
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| {
            !matches!(word.as_str(), "the" | "was" | "were" | "and" | "are" | "has" | "had" | "that")
        })
        .collect()
}

/// A text cut at " and ".
fn pieces(text: &str) -> Vec<String> {
    let subject = text.split_whitespace().next().unwrap_or_default();
    let pieces = text.trim().trim_end_matches('.').split(" and ").enumerate();
    pieces
        .map(|(at, piece)| if at == 0 { format!("{piece}.") } else { format!("{subject} {piece}.") })
        .collect()
}
