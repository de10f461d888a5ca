//! Errors as HTTP answers: `application/problem+json` (RFC 9457) with a stable `code`.

use crate::admission::Refusal;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use groundline_types::{Code, Problem};
use serde::Serialize;
use std::time::Duration;

/// When to try again after an answer 503 that says nothing better.
const RETRY_LATER: Duration = Duration::from_secs(1);

/// An error on its way to a caller.
#[derive(Debug)]
pub(crate) struct ApiError {
    problem: Problem,
    status: StatusCode,
    retry_after: Option<Duration>,
}

/// The body of an error answer (RFC 9457).
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct ProblemBody {
    /// `urn:groundline:error:` and the code.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The HTTP status in words.
    pub(crate) title: String,
    /// The HTTP status.
    pub(crate) status: u16,
    /// What was found and what to do; never text of the request.
    pub(crate) detail: String,
    /// A stable code, such as `GL1001`; each has a page in docs/errors.
    #[schema(value_type = String)]
    pub(crate) code: Code,
}

/// In a list of results, what stands in the place of one that could not be made (schema `groundline.error/1`).
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct ItemError {
    /// Always `groundline.error/1`.
    pub(crate) schema: String,
    /// Position in the call, from 1.
    pub(crate) item: usize,
    /// The request's id, where it gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// The HTTP status that this request alone would have had.
    pub(crate) status: u16,
    /// A stable code.
    #[schema(value_type = String)]
    pub(crate) code: Code,
    /// What was found and what to do.
    pub(crate) message: String,
}

impl ItemError {
    /// The error of the request at a position, from 0.
    pub(crate) fn new(index: usize, id: Option<String>, problem: Problem) -> Self {
        Self {
            schema: "groundline.error/1".to_owned(),
            item: index + 1,
            id,
            status: status_of(problem.code).as_u16(),
            code: problem.code,
            message: problem.message,
        }
    }
}

impl ProblemBody {
    /// The body for a problem.
    pub(crate) fn new(problem: &Problem) -> Self {
        Self::with_status(problem, status_of(problem.code))
    }

    fn with_status(problem: &Problem, status: StatusCode) -> Self {
        Self {
            kind: format!("urn:groundline:error:{}", problem.code),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: problem.message.clone(),
            code: problem.code,
        }
    }
}

impl ApiError {
    /// The kind of error.
    pub(crate) fn code(&self) -> Code {
        self.problem.code
    }

    /// What was found and what to do.
    pub(crate) fn message(&self) -> &str {
        &self.problem.message
    }

    /// After how many seconds to try again, where that may help: whole ones, and never 0, which would be an invitation to hammer.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        let may_help = matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        let wait = self.retry_after.unwrap_or(RETRY_LATER);
        may_help.then(|| u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1))
    }

    /// The error of a route that there is, but not for this method.
    pub(crate) fn method_not_allowed() -> Self {
        let problem = Problem::new(Code::NOT_FOUND, "this route does not answer to this method");
        Self { problem, status: StatusCode::METHOD_NOT_ALLOWED, retry_after: None }
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self { status: status_of(problem.code), problem, retry_after: None }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let (code, message) = match refusal {
            Refusal::TenantInFlight => (
                Code::TENANT_LIMIT,
                "this tenant has as much under way as it may; wait for an answer and try again",
            ),
            Refusal::TenantRate(_) => (
                Code::TENANT_LIMIT,
                "this tenant sends more than its rate; try again after the time in Retry-After",
            ),
            Refusal::Overloaded => {
                (Code::GATEWAY_OVERLOADED, "the gateway has as much under way as it takes; try again")
            }
            Refusal::LineFull => (Code::GATEWAY_OVERLOADED, "as many reward calls wait as may; try again"),
        };
        Self { retry_after: Some(refusal.retry_after()), ..Problem::new(code, message).into() }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status, self.retry_after_seconds());
        let body = ProblemBody::with_status(&self.problem, status);
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(AnsweredWith(self.problem.code));
        response
    }
}

/// The code that a response was answered with, for metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnsweredWith(pub(crate) Code);

/// The HTTP status of an error of a kind: 400 where the request cannot be read, 422 where it can be read and not be checked
/// as asked, 429 where a tenant asks for too much, 503 where everybody together does.
pub(crate) fn status_of(code: Code) -> StatusCode {
    match code {
        Code::INVALID_UTF8 | Code::MALFORMED_JSON | Code::INVALID_FIELD => StatusCode::BAD_REQUEST,
        Code::EMPTY_RESPONSE
        | Code::EMPTY_SOURCE
        | Code::NUL_BYTE
        | Code::UNKNOWN_METHOD
        | Code::WEAK_SAMPLES
        | Code::NO_CHECKABLE_CLAIM
        | Code::CLAIM_TOO_LONG
        | Code::TEXT_TOO_LONG
        | Code::HEAD_MISSING
        | Code::JUDGE_MISSING
        | Code::JUDGE_NOTHING_TO_JUDGE
        | Code::JUDGE_TEXT_TOO_LONG => StatusCode::UNPROCESSABLE_ENTITY,
        Code::TOO_LARGE | Code::JOB_TOO_LARGE => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UNAUTHENTICATED => StatusCode::UNAUTHORIZED,
        Code::FORBIDDEN => StatusCode::FORBIDDEN,
        Code::TENANT_LIMIT => StatusCode::TOO_MANY_REQUESTS,
        Code::OVERLOADED
        | Code::GATEWAY_OVERLOADED
        | Code::DRAINING
        | Code::BUS_UNAVAILABLE
        | Code::JUDGE_UNAVAILABLE
        | Code::JUDGE_LIMITED
        | Code::JUDGE_BUDGET
        | Code::JUDGE_BREAKER_OPEN
        | Code::MODEL_NOT_FOUND => StatusCode::SERVICE_UNAVAILABLE,
        Code::DEADLINE | Code::JUDGE_DEADLINE => StatusCode::GATEWAY_TIMEOUT,
        Code::NOT_FOUND => StatusCode::NOT_FOUND,
        Code::UNSUPPORTED_MEDIA => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::BODY_TIMEOUT => StatusCode::REQUEST_TIMEOUT,
        Code::NOT_OFFERED => StatusCode::NOT_IMPLEMENTED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests;
