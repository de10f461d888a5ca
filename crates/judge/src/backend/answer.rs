//! What an answer of the backend means: for the question, for the breaker, for the bill.

use super::CallFailure;
use crate::TokenUsage;
use crate::breaker::CallEnd;
use crate::retry::{rate_reset, retry_after};
use crate::transport::{Incoming, TransportError};
use crate::wire::{ChatReply, ChatRequest, ErrorKind, error_kind, guessed_tokens};
use groundline_types::Code;
use std::time::Duration;

/// What a call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Used {
    /// The backend did no work.
    Nothing,
    /// So it says.
    Told(TokenUsage),
    /// It does not say.
    Guessed(TokenUsage),
}

impl Used {
    pub(super) fn tokens(self) -> TokenUsage {
        match self {
            Used::Nothing => TokenUsage::default(),
            Used::Told(tokens) | Used::Guessed(tokens) => tokens,
        }
    }
}

/// What to do next.
#[derive(Debug)]
pub(super) enum Next {
    Done(ChatReply),
    Fail(CallFailure),
    /// Again, not before the time that the backend asks for.
    Retry(CallFailure, Option<Duration>),
}

#[derive(Debug)]
pub(super) struct Judgement {
    pub(super) next: Next,
    pub(super) end: CallEnd,
    pub(super) used: Used,
    /// How long the backend asks everybody to stay away.
    pub(super) pause: Option<Duration>,
}

/// Reads what came back for `request`.
pub(super) fn judge_answer(answer: &Result<Incoming, TransportError>, request: &ChatRequest) -> Judgement {
    match answer {
        Err(error) => judge_silence(*error, request),
        Ok(answer) if (200..300).contains(&answer.status) => judge_success(answer, request),
        Ok(answer) => judge_refusal(answer),
    }
}

fn judge_silence(error: TransportError, request: &ChatRequest) -> Judgement {
    let everything = Used::Guessed(request.most_tokens());
    let failed = |code| CallFailure::new(code, format!("the judge's backend {error}"));
    let unavailable = Next::Retry(failed(Code::JUDGE_UNAVAILABLE), None);
    let (next, end, used) = match error {
        TransportError::Unreachable => (unavailable, CallEnd::Dead, Used::Nothing),
        TransportError::TimedOut | TransportError::BrokenOff => (unavailable, CallEnd::Dead, everything),
        TransportError::TooLong => (Next::Fail(failed(Code::JUDGE_UNREADABLE)), CallEnd::Alive, everything),
    };
    Judgement { next, end, used, pause: None }
}

fn judge_success(answer: &Incoming, request: &ChatRequest) -> Judgement {
    let pause = answer.rate_reset.as_deref().and_then(rate_reset);
    let end = CallEnd::Alive;
    let Some(reply) = ChatReply::read(&answer.body) else {
        let message = "the judge's backend answered with something other than a chat completion";
        let failure = CallFailure::new(Code::JUDGE_UNREADABLE, message);
        let used = Used::Guessed(request.most_tokens());
        return Judgement { next: Next::Retry(failure, None), end, used, pause };
    };
    let used = reply.usage.map_or_else(
        || {
            Used::Guessed(TokenUsage {
                input_tokens: guessed_tokens(request.text_bytes()),
                cached_input_tokens: 0,
                output_tokens: guessed_tokens(reply.text_bytes()),
            })
        },
        Used::Told,
    );
    Judgement { next: Next::Done(reply), end, used, pause }
}

fn judge_refusal(answer: &Incoming) -> Judgement {
    let status = answer.status;
    let after = answer.retry_after.as_deref().and_then(retry_after);
    let kind = error_kind(&answer.body);
    let failed = |code, message: &str| CallFailure::new(code, format!("{message} (status {status})"));
    let (next, end) = match (status, kind) {
        (_, ErrorKind::QuotaSpent) => {
            let message = "the account at the judge's backend has no quota left";
            (Next::Fail(failed(Code::JUDGE_REJECTED, message)), CallEnd::Alive)
        }
        (429, _) => {
            let failure =
                failed(Code::JUDGE_LIMITED, "the judge's backend lets no more calls through for now");
            (Next::Retry(failure, after), CallEnd::Alive)
        }
        (408 | 409 | 425 | 500.., _) => {
            let failure = failed(Code::JUDGE_UNAVAILABLE, "the judge's backend fails");
            (Next::Retry(failure, after), CallEnd::Dead)
        }
        (_, ErrorKind::Filtered) => {
            let failure = failed(Code::JUDGE_REFUSED, "the judge's backend filters the texts");
            (Next::Fail(failure), CallEnd::Alive)
        }
        (413, _) | (_, ErrorKind::TooLong) => {
            let message =
                "the texts are longer than the judge can read; shorten them or lower max_input_bytes";
            (Next::Fail(failed(Code::JUDGE_TEXT_TOO_LONG, message)), CallEnd::Alive)
        }
        _ => (Next::Fail(rejection(status)), CallEnd::Alive),
    };
    let pause = after.filter(|_| matches!(status, 429 | 503));
    Judgement { next, end, used: Used::Nothing, pause }
}

fn rejection(status: u16) -> CallFailure {
    let what = match status {
        401 | 403 => "the judge's backend does not accept the API key",
        404 => "the judge's backend knows no such model or path; check model and base_url",
        300..=399 => "the judge's backend redirects; set base_url to the address it redirects to",
        _ => "the judge's backend does not accept the request",
    };
    let failure = CallFailure::new(Code::JUDGE_REJECTED, format!("{what} (status {status})"));
    CallFailure { is_rejection: matches!(status, 400 | 422), ..failure }
}
