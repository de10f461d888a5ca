//! `POST /v1/stream`: a response that is still being written, in lines of JSON; sentences come back as they are checked.

use super::check::check_deadline;
use super::events::event;
use crate::admission::tokens_of_bytes;
use crate::admit::Metered;
use crate::app::App;
use crate::auth::Scope;
use crate::intake;
use crate::lines::Lines;
use crate::problem::{ApiError, ProblemBody};
use axum::extract::{Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use bytes::Bytes;
use futures_util::Stream;
use groundline::{StreamEvent, StreamEvents, StreamInput};
use groundline_types::{CheckResult, Code, Problem, SentenceResult, StreamRequest};
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::time::Duration;

/// How often a comment is sent while nothing happens, so that nobody in between takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What a body may be called.
const MEDIA: &[&str] = &["application/x-ndjson", "application/jsonl"];

/// A line of a stream.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the lines in the OpenAPI document")]
pub(crate) enum StreamLine {
    /// The first line: the request without its response.
    Head(Box<crate::openapi::StreamHeadSchema>),
    /// More of the response.
    Piece(StreamPiece),
    /// The response is complete. The end of the body says the same.
    End(StreamEnd),
}

/// More of a response.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct StreamPiece {
    /// What follows the text that was sent before.
    text: String,
}

/// The end of a response.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct StreamEnd {
    /// Always true.
    end: bool,
}

/// What comes back: server-sent events with these as data.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the events in the OpenAPI document")]
pub(crate) enum StreamBody {
    /// Event `sentence`: a sentence is complete and was checked; its offsets count in the whole response.
    Sentence(Box<SentenceResult>),
    /// Event `done`: the result of the whole response. The last event.
    Done(Box<CheckResult>),
    /// Event `error`: why there is no result. The last event.
    Error(ProblemBody),
}

#[utoipa::path(
    post, path = "/v1/stream", tag = "checks",
    summary = "Check a response while it is being written",
    description = "The body is lines of JSON: a request without `response`, then pieces of the response, then the end of the body or \
                   `{\"end\": true}`. Server-sent events come back while the body is still being sent. With `stop_at` \
                   `first_contradiction` the answer ends there. Hanging up stops the check.",
    request_body(content = StreamLine, content_type = "application/x-ndjson"),
    responses(
        (status = 200, description = "Events", body = StreamBody, content_type = "text/event-stream"),
        (status = "default", description = "An error", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn stream(
    State(app): State<App>,
    request: Request,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let (parts, body) = request.into_parts();
    let caller = intake::identify(&app, &parts.headers, Scope::Check)?;
    intake::require_media(&parts.headers, MEDIA)?;
    intake::said_length(&parts.headers, app.config().http.body_bytes)?;
    let mut metered = Metered::new(intake::admit(&app, &caller, tokens_of_bytes(0))?);
    let http = &app.config().http;
    let mut lines = Lines::new(body, http.body_bytes);
    let head = lines.next(Duration::from_millis(http.body_timeout_ms)).await?;
    metered.has_read(lines.bytes_read());
    let empty = || Problem::new(Code::MALFORMED_JSON, "the body is empty; its first line is the request");
    let request = StreamRequest::from_value(intake::parse(head.ok_or_else(empty)?).await?)?;
    check_deadline(&app, &request.check)?;
    let (input, events) = app.checker().stream(&caller.tenant, request).await?;
    let patience = Duration::from_millis(http.stream_idle_ms);
    let following = Following { lines, patience, input: Some(input), events, metered, is_over: false };
    let events = futures_util::stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok(event), following))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// A stream that somebody follows. It ends with this value, which is dropped when the caller hangs up.
///
/// Events are made and lines are read only as fast as the caller takes events.
struct Following {
    lines: Lines,
    patience: Duration,
    /// Gone once the response is complete.
    input: Option<StreamInput>,
    events: StreamEvents,
    metered: Metered,
    is_over: bool,
}

impl Following {
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            let Self { lines, patience, input, events, .. } = self;
            let line = tokio::select! {
                biased;
                event = events.next() => return self.told(event),
                line = lines.next(*patience), if input.is_some() => line,
            };
            let read = match line {
                Ok(line) => self.read(line).await,
                Err(problem) => Err(problem),
            };
            if let Err(problem) = read {
                return Some(self.failed(&problem));
            }
        }
        None
    }

    fn told(&mut self, told: Option<StreamEvent>) -> Option<Event> {
        self.is_over = !matches!(told, Some(StreamEvent::Sentence(_)));
        Some(match told? {
            StreamEvent::Sentence(sentence) => event("sentence", &sentence),
            StreamEvent::Done(result) => event("done", &result),
            StreamEvent::Failed(problem) => self.failed(&problem),
        })
    }

    fn failed(&mut self, problem: &Problem) -> Event {
        self.is_over = true;
        event("error", &ProblemBody::new(problem))
    }

    /// Takes the next line, or the end of the body.
    async fn read(&mut self, line: Option<Bytes>) -> Result<(), Problem> {
        self.metered.has_read(self.lines.bytes_read());
        let piece = match line {
            Some(line) => piece_of(intake::parse(line).await?)?,
            None => None,
        };
        match (piece, &self.input) {
            (Some(text), Some(input)) => input.push(&text),
            _ => {
                if let Some(input) = self.input.take() {
                    input.finish();
                }
                Ok(())
            }
        }
    }
}

/// The text of a line, or `None` for the one that ends the response.
fn piece_of(line: Value) -> Result<Option<String>, Problem> {
    let wrong = || {
        let message = "each line behind the first must be {\"text\": \"...\"} or {\"end\": true}";
        Problem::new(Code::INVALID_FIELD, message)
    };
    let Value::Object(mut fields) = line else { return Err(wrong()) };
    let mut only = |name: &str| if fields.len() == 1 { Map::remove(&mut fields, name) } else { None };
    match (only("text"), only("end")) {
        (Some(Value::String(text)), None) => Ok(Some(text)),
        (None, Some(Value::Bool(true))) => Ok(None),
        _ => Err(wrong()),
    }
}
