//! Errors as gRPC has them: a status, with the stable code beside it.

use crate::problem::{AnsweredWith, ApiError, status_of as http_status_of};
use axum::body::Body;
use axum::response::Response;
use groundline_types::{Code, Problem};
use std::any::Any;
use tonic::Status;
use tonic::metadata::MetadataMap;
use tower_http::catch_panic::CatchPanicLayer;

/// Where the status is of an answer without a message.
const STATUS: &str = "grpc-status";
/// Where the stable code of an error is, in the metadata of its status.
const CODE: &str = "groundline-code";
/// Where the seconds are after which to try again.
const RETRY_AFTER: &str = "retry-after";

/// An error as a status.
pub(super) fn status_of(error: impl Into<ApiError>) -> Status {
    let error = error.into();
    let code = match http_status_of(error.code()).as_u16() {
        400 | 415 | 422 => tonic::Code::InvalidArgument,
        401 => tonic::Code::Unauthenticated,
        403 => tonic::Code::PermissionDenied,
        404 => tonic::Code::NotFound,
        413 | 429 => tonic::Code::ResourceExhausted,
        408 | 504 => tonic::Code::DeadlineExceeded,
        501 => tonic::Code::Unimplemented,
        503 => tonic::Code::Unavailable,
        _ => tonic::Code::Internal,
    };
    let mut metadata = MetadataMap::new();
    if let Ok(value) = error.code().as_str().parse() {
        metadata.insert(CODE, value);
    }
    if let Some(value) = error.retry_after_seconds().and_then(|seconds| seconds.to_string().parse().ok()) {
        metadata.insert(RETRY_AFTER, value);
    }
    Status::with_metadata(code, error.message(), metadata)
}

/// An error as the answer to a call.
pub(super) fn answer_of(error: impl Into<ApiError>) -> Response {
    marked(status_of(error).into_http::<Body>())
}

/// Says to whoever counts answers what an answer was.
///
/// A status without a code of ours is tonic's: what came is no message of this call, or larger than is read.
pub(super) fn marked(mut response: Response) -> Response {
    let headers = response.headers();
    let is_error = headers.get(STATUS).is_some_and(|status| status != "0");
    if !is_error {
        return response;
    }
    let code = headers.get(CODE).and_then(|code| Code::parse(code.to_str().ok()?));
    let Some(code) = code else { return answer_of(unreadable()) };
    response.extensions_mut().insert(AnsweredWith(code));
    response
}

/// The error of bytes that are no message.
pub(super) fn unreadable() -> Problem {
    Problem::new(Code::MALFORMED_JSON, "the message cannot be read as this call's, or is compressed")
}

/// Turns a panic in a call into an answer; other calls go on.
pub(super) fn answer_panics() -> CatchPanicLayer<fn(Box<dyn Any + Send>) -> Response> {
    CatchPanicLayer::custom(panicked as fn(Box<dyn Any + Send>) -> Response)
}

fn panicked(_cause: Box<dyn Any + Send>) -> Response {
    // The panic itself was logged where it happened; its text may hold text of a request.
    tracing::error!("a call handler panicked");
    answer_of(Problem::new(Code::INTERNAL, "a part failed that should not fail; this is a bug"))
}
