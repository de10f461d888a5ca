//! `/v1/checks`: checks that nobody waits for. They are durable where the installation keeps them on a bus.

use super::check::request_of;
use crate::app::App;
use crate::auth::{Caller, Scope};
use crate::intake;
use crate::problem::{ApiError, ProblemBody};
use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use groundline::{AsyncChecks, AsyncStatus};
use groundline_types::{CheckResult, Code, Problem};
use serde::Serialize;
use serde_json::Value;

/// Longest id that is looked up: those that are given out are much shorter.
const MAX_ID_BYTES: usize = 128;

/// How a check that nobody waits for is.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct CheckStatus {
    /// Its id, for `GET /v1/checks/{id}`. Not the `id` of the request, which stands in the result.
    id: String,
    /// `waiting`, `running`, `done` or `failed`.
    status: &'static str,
    /// The result, where it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<CheckResult>>,
    /// Why there is none, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemBody>,
}

impl CheckStatus {
    fn new(id: String, status: &'static str) -> Self {
        Self { id, status, result: None, problem: None }
    }
}

#[utoipa::path(
    post, path = "/v1/checks", tag = "checks",
    summary = "Hand a check in and fetch its result later",
    request_body(content = crate::openapi::CheckRequestSchema),
    responses(
        (status = 202, description = "It is accepted; `Location` says where its result will be", body = CheckStatus),
        (status = "default", description = "An error", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn submit(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    offered(&app)?;
    let intake = intake::at_once(&app, request, Scope::Check).await?;
    let id = submit_for(&app, &intake.caller, intake.json).await?;
    let location = HeaderValue::from_str(&format!("/v1/checks/{id}"));
    let mut response = (StatusCode::ACCEPTED, Json(CheckStatus::new(id, "waiting"))).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

#[utoipa::path(
    get, path = "/v1/checks/{id}", tag = "checks",
    summary = "Fetch the result of a check that was handed in",
    params(("id" = String, Path, description = "The id that the check was accepted under")),
    responses(
        (status = 200, description = "It is over", body = CheckStatus),
        (status = 202, description = "It waits or runs", body = CheckStatus),
        (status = "default", description = "An error", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn status(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let caller = intake::identify(&app, request.headers(), Scope::Check)?;
    Ok(match find(&app, &caller, &id).await? {
        AsyncStatus::Waiting => (StatusCode::ACCEPTED, Json(CheckStatus::new(id, "waiting"))),
        AsyncStatus::Running => (StatusCode::ACCEPTED, Json(CheckStatus::new(id, "running"))),
        AsyncStatus::Done(result) => {
            (StatusCode::OK, Json(CheckStatus { result: Some(result), ..CheckStatus::new(id, "done") }))
        }
        AsyncStatus::Failed(problem) => {
            let problem = Some(ProblemBody::new(&problem));
            (StatusCode::OK, Json(CheckStatus { problem, ..CheckStatus::new(id, "failed") }))
        }
    }
    .into_response())
}

/// Hands a check in for a caller; the id to fetch it with.
///
/// # Errors
/// [`Code::NOT_OFFERED`], what is wrong with the request, and those of [`AsyncChecks::submit`].
pub(crate) async fn submit_for(app: &App, caller: &Caller, json: Value) -> Result<String, Problem> {
    let checks = offered(app)?;
    // What is wrong with it is said now rather than to the one who fetches the result.
    let request = request_of(app, json.clone())?;
    request.validate(&app.checker().config().limits.request())?;
    groundline::resolve_methods(&request.methods)?;
    checks.submit(&caller.tenant, json).await
}

/// How a caller's check is that was handed in.
///
/// # Errors
/// [`Code::NOT_OFFERED`], [`Code::NOT_FOUND`], and those of [`AsyncChecks::status`].
pub(crate) async fn find(app: &App, caller: &Caller, id: &str) -> Result<AsyncStatus, Problem> {
    let checks = offered(app)?;
    let found = match id.len() {
        0..=MAX_ID_BYTES => checks.status(&caller.tenant, id).await?,
        _ => None,
    };
    found.ok_or_else(|| {
        let message = "there is no such check of this tenant, or its answer has expired";
        Problem::new(Code::NOT_FOUND, message)
    })
}

fn offered(app: &App) -> Result<&AsyncChecks, Problem> {
    app.async_checks().ok_or_else(|| {
        let message = "this installation keeps no checks; use POST /v1/check and wait for the answer";
        Problem::new(Code::NOT_OFFERED, message)
    })
}
