//! `POST /v1/check`: one response or many, answered when they are checked.

use super::{events, in_order};
use crate::app::App;
use crate::auth::{Caller, Scope};
use crate::intake;
use crate::problem::{ApiError, ItemError};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use groundline::CheckObserver;
use groundline_types::{CheckRequest, CheckResult, Code, Problem};
use serde::Serialize;
use serde_json::Value;

/// Many requests in one call.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ManyChecks {
    /// The requests, in any number up to the limit.
    #[schema(value_type = Vec<crate::openapi::CheckRequestSchema>)]
    requests: Vec<Value>,
}

/// The answers to many requests.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct ManyResults {
    /// One for each request, in their order.
    results: Vec<ItemAnswer>,
}

/// A result, or why there is none. Tell them apart by `schema`.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum ItemAnswer {
    /// It was checked.
    Result(Box<CheckResult>),
    /// It was not.
    Error(ItemError),
}

/// What a body holds.
#[derive(Debug, PartialEq)]
pub(crate) enum Shape {
    One(Value),
    Many(Vec<Value>),
}

#[utoipa::path(
    post, path = "/v1/check", tag = "checks",
    summary = "Check a response against its sources and wait for the result",
    description = "One request object, a list of them, or `{\"requests\": [...]}`. A list is answered with 200 and a result or an \
                   error for each. With `Accept: text/event-stream`, a single request is answered with `progress` events and then \
                   one `result` or `error` event.",
    request_body(content = crate::openapi::CheckRequestSchema),
    responses(
        (status = 200, description = "The result", body = CheckResult),
        (status = "default", description = "An error", body = crate::problem::ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn check(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let wants_events = wants_events(request.headers());
    let intake = intake::at_once(&app, request, Scope::Check).await?;
    match (shape(&app, intake.json)?, wants_events) {
        (Shape::One(json), true) => {
            let request = request_of(&app, json)?;
            Ok(events::follow(app, intake.caller, request, intake.permit).into_response())
        }
        (Shape::One(json), false) => Ok(Json(check_one(&app, &intake.caller, json).await?).into_response()),
        (Shape::Many(_), true) => {
            let message = "events are about one request; send one, or ask for `application/json`";
            Err(Problem::new(Code::INVALID_FIELD, message).into())
        }
        (Shape::Many(items), false) => {
            let at_once = app.config().http.items_at_once;
            let checks = items.into_iter().enumerate();
            let checks = checks.map(|(index, item)| check_item(&app, &intake.caller, index, item).boxed());
            let results = in_order(checks.collect(), at_once).await;
            Ok(Json(ManyResults { results }).into_response())
        }
    }
}

/// Whether the caller asks for server-sent events.
fn wants_events(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepts.flat_map(|value| value.split(',')).any(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
    })
}

/// Tells one request from many.
pub(crate) fn shape(app: &App, json: Value) -> Result<Shape, Problem> {
    let items = match json {
        Value::Array(items) => items,
        Value::Object(mut fields) if fields.contains_key("requests") => {
            let requests = fields.remove("requests");
            if let Some(other) = fields.keys().next() {
                let shown: String = other.chars().filter(|c| !c.is_control()).take(40).collect();
                let message = format!("`{shown}` stands beside `requests`; put it into each request");
                return Err(Problem::new(Code::INVALID_FIELD, message));
            }
            match requests {
                Some(Value::Array(items)) => items,
                _ => {
                    return Err(Problem::new(
                        Code::INVALID_FIELD,
                        "`requests` must be a list of request objects",
                    ));
                }
            }
        }
        one => return Ok(Shape::One(one)),
    };
    refuse_too_many(app, items.len())?;
    Ok(Shape::Many(items))
}

/// Refuses a call with more requests than are taken in one.
///
/// # Errors
/// [`Code::TOO_LARGE`].
pub(crate) fn refuse_too_many(app: &App, count: usize) -> Result<(), Problem> {
    let limit = app.config().http.max_items;
    if count > limit {
        let message = format!("the call has {count} requests, the limit is {limit}; send several calls");
        return Err(Problem::new(Code::TOO_LARGE, message));
    }
    Ok(())
}

/// Reads a request and checks what only the gateway knows.
pub(crate) fn request_of(app: &App, json: Value) -> Result<CheckRequest, Problem> {
    let request = CheckRequest::from_value(json)?;
    check_deadline(app, &request)?;
    Ok(request)
}

/// Refuses a deadline beyond what the gateway waits for.
pub(crate) fn check_deadline(app: &App, request: &CheckRequest) -> Result<(), Problem> {
    let limit = app.config().http.max_deadline_ms;
    match request.deadline_ms {
        Some(asked) if asked > limit => {
            let message = format!(
                "`deadline_ms` is {asked}, the limit is {limit}; use POST /v1/checks for what takes long"
            );
            Err(Problem::new(Code::INVALID_FIELD, message))
        }
        _ => Ok(()),
    }
}

async fn check_one(app: &App, caller: &Caller, json: Value) -> Result<CheckResult, Problem> {
    let request = request_of(app, json)?;
    app.checker().check_for(&caller.tenant, request, CheckObserver::default()).await
}

async fn check_item(app: &App, caller: &Caller, index: usize, json: Value) -> ItemAnswer {
    let id = CheckRequest::id_in(&json);
    match check_one(app, caller, json).await {
        Ok(result) => ItemAnswer::Result(Box::new(result)),
        Err(problem) => ItemAnswer::Error(ItemError::new(index, id, problem)),
    }
}
