//! Whether it lives, is ready, has started; and its metrics.

use crate::probe::HealthState;
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
    /// What should be known and is not in the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteBody>,
}

#[derive(Debug, Serialize)]
struct NoteBody {
    component: &'static str,
    note: String,
}

#[derive(Debug, Serialize)]
struct ReasonBody {
    component: &'static str,
    reason: &'static str,
}

/// Lives unless a part has given up, or is busy without making progress: restarting would help.
pub(crate) async fn livez(State(state): State<HealthState>) -> Response {
    let now = Instant::now();
    let components = state.probe().components();
    let dead = components.iter().filter(|(_, health)| !health.is_live(now, PROGRESS_PATIENCE));
    let reasons =
        dead.map(|(component, _)| ReasonBody { component, reason: "it has given up or makes no progress" });
    answer("live", "not_live", reasons.collect())
}

/// Ready where requests can be answered now.
pub(crate) async fn readyz(State(state): State<HealthState>) -> Response {
    let notes = state.probe().remarks().iter();
    let notes = notes.map(|remark| NoteBody { component: remark.component, note: remark.text.clone() });
    respond("ready", "not_ready", not_ready(&state), notes.collect())
}

/// Started once it was ready for the first time.
pub(crate) async fn startupz(State(state): State<HealthState>) -> Response {
    let reasons = own_reasons(&state);
    if state.has_been_ready(reasons.is_empty()) {
        return answer("started", "starting", Vec::new());
    }
    answer("started", "starting", reasons)
}

/// Every metric, in the text format of Prometheus.
pub(crate) async fn metrics(State(state): State<HealthState>) -> Response {
    match state.metrics() {
        Some(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        None => (StatusCode::NOT_FOUND, "this process collects no metrics\n").into_response(),
    }
}

/// Whether requests can be answered now.
pub(crate) fn is_ready(state: &HealthState) -> bool {
    not_ready(state).is_empty()
}

fn own_reasons(state: &HealthState) -> Vec<ReasonBody> {
    let reasons = state.probe().readiness();
    reasons.iter().map(|reason| ReasonBody { component: reason.component, reason: reason.reason }).collect()
}

fn not_ready(state: &HealthState) -> Vec<ReasonBody> {
    let mut reasons = own_reasons(state);
    if state.is_draining() {
        reasons.push(ReasonBody { component: "process", reason: "it is stopping" });
    }
    reasons
}

fn answer(good: &'static str, bad: &'static str, reasons: Vec<ReasonBody>) -> Response {
    respond(good, bad, reasons, Vec::new())
}

fn respond(
    good: &'static str,
    bad: &'static str,
    reasons: Vec<ReasonBody>,
    notes: Vec<NoteBody>,
) -> Response {
    if reasons.is_empty() {
        return Json(Probe { status: good, reasons, notes }).into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, Json(Probe { status: bad, reasons, notes })).into_response()
}
