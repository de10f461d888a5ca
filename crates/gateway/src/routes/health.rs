//! Whether it lives, is ready, has started; and its metrics.

use crate::app::App;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use groundline::PROGRESS_PATIENCE;
use serde::Serialize;
use tokio::time::Instant;

/// The answer of a probe.
#[derive(Debug, Serialize)]
struct Probe {
    status: &'static str,
    /// What is in the way, by component.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<ReasonBody>,
}

#[derive(Debug, Serialize)]
struct ReasonBody {
    component: &'static str,
    reason: &'static str,
}

/// Lives unless a part has given up, or is busy without making progress: restarting would help.
pub(crate) async fn livez(State(app): State<App>) -> Response {
    let now = Instant::now();
    let components = app.checker().components();
    let dead = components.iter().filter(|(_, health)| !health.is_live(now, PROGRESS_PATIENCE));
    let reasons =
        dead.map(|(component, _)| ReasonBody { component, reason: "it has given up or makes no progress" });
    answer("live", "not_live", reasons.collect())
}

/// Ready where requests can be answered now.
pub(crate) async fn readyz(State(app): State<App>) -> Response {
    answer("ready", "not_ready", not_ready(&app))
}

/// Started once it was ready for the first time.
pub(crate) async fn startupz(State(app): State<App>) -> Response {
    let reasons = checker_reasons(&app);
    if app.has_been_ready(reasons.is_empty()) {
        return answer("started", "starting", Vec::new());
    }
    answer("started", "starting", reasons)
}

/// Every metric, in the text format of Prometheus.
pub(crate) async fn metrics(State(app): State<App>) -> Response {
    match app.metrics() {
        Some(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        None => (StatusCode::NOT_FOUND, "this process collects no metrics\n").into_response(),
    }
}

fn checker_reasons(app: &App) -> Vec<ReasonBody> {
    let reasons = app.checker().readiness();
    reasons.iter().map(|reason| ReasonBody { component: reason.component, reason: reason.reason }).collect()
}

fn not_ready(app: &App) -> Vec<ReasonBody> {
    let mut reasons = checker_reasons(app);
    if app.is_draining() {
        reasons.push(ReasonBody { component: "gateway", reason: "it is stopping" });
    }
    reasons
}

fn answer(good: &'static str, bad: &'static str, reasons: Vec<ReasonBody>) -> Response {
    if reasons.is_empty() {
        return Json(Probe { status: good, reasons }).into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, Json(Probe { status: bad, reasons })).into_response()
}
