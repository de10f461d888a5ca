//! What is told of every request: a span, counts and times. Never anything of its text.

use crate::problem::{AnsweredWith, ApiError, status_of};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use groundline_telemetry::{ActiveSpan, Parent, Route, SpanKey, SpanName, in_span, parent_from, record};
use groundline_types::{Code, Problem};
use std::any::Any;
use std::time::Duration;
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

/// The header by which a caller says which of its spans a request belongs to (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

/// Counts a request that began, and counts it as answered however it ends.
struct Running {
    route: Route,
    began: Instant,
    /// What it was answered with; 499 where the caller went away first, as nginx has it.
    status: u16,
}

impl Running {
    fn new(route: Route) -> Self {
        record::request_started();
        Self { route, began: Instant::now(), status: 499 }
    }

    fn took(&self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        record::request_finished(self.route, self.status, self.took());
    }
}

/// Wraps a route.
pub(crate) async fn observed(State(route): State<Route>, request: Request, next: Next) -> Response {
    let mut running = Running::new(route);
    let header = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
    let parent = header.map_or_else(Parent::default, parent_from);
    let span = ActiveSpan::start(SpanName::Request, &parent);
    span.set(SpanKey::ROUTE, route.as_str());
    let response = in_span(&span, next.run(request)).await;
    let code = response.extensions().get::<AnsweredWith>().map(|answered| answered.0);
    // gRPC has its errors in answers that HTTP calls good.
    let called = code.filter(|_| response.status().is_success());
    let status = called.map_or(response.status(), status_of);
    running.status = status.as_u16();
    span.set(SpanKey::HTTP_STATUS, running.status);
    if let Some(code) = code.filter(|_| status.is_server_error()) {
        span.fail(code);
    }
    let milliseconds = running.took().as_secs_f64() * 1e3;
    let (status, code) = (running.status, code.map_or("", Code::as_str));
    tracing::debug!(route = route.as_str(), status, code, milliseconds, "answered a request");
    response
}

/// Turns a panic in a handler into an answer; other requests go on.
pub(crate) fn answer_panics() -> CatchPanicLayer<fn(Box<dyn Any + Send>) -> Response> {
    CatchPanicLayer::custom(panicked as fn(Box<dyn Any + Send>) -> Response)
}

fn panicked(_cause: Box<dyn Any + Send>) -> Response {
    // The panic itself was logged where it happened; its text may hold text of a request.
    tracing::error!("a request handler panicked");
    ApiError::from(Problem::new(Code::INTERNAL, "a part failed that should not fail; this is a bug"))
        .into_response()
}
