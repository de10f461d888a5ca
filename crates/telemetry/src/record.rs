//! Recording: one function for each thing that happens. All of them do nothing until [`install`](crate::install) was called, never
//! block, and allocate nothing but a tenant's first label.

use crate::instruments::{Instruments, installed};
use crate::labels::{
    AdmissionRefusal, CheckEnd, CloseReason, DeliveryFate, GatewayRefusal, ItemKind, JudgeEnd, JudgeTask,
    PublishEnd, Route, SentenceEnd, TokenKind, flag_text, lane_text, status_text,
};
use crate::tenant::tenant_label;
use groundline_types::{Code, Lane};
use opentelemetry::KeyValue;
use std::time::Duration;

fn with(record: impl FnOnce(&Instruments)) {
    if let Some(installed) = installed() {
        record(&installed.instruments);
    }
}

fn lane_label(lane: Lane) -> KeyValue {
    KeyValue::new("lane", lane_text(lane))
}

fn code_label(code: Code) -> KeyValue {
    KeyValue::new("code", code.as_str())
}

/// A check was admitted. [`check_finished`] must follow.
pub fn check_started(lane: Lane) {
    with(|to| {
        to.checks_started.add(1, &[lane_label(lane)]);
        to.checks_running.add(1, &[]);
    });
}

/// A check ended, `took` after its admission.
pub fn check_finished(lane: Lane, end: CheckEnd, took: Duration) {
    with(|to| {
        to.checks_running.add(-1, &[]);
        to.checks_finished.add(1, &[lane_label(lane), KeyValue::new("status", end.as_str())]);
        to.check_duration.record(took.as_secs_f64(), &[lane_label(lane)]);
    });
}

/// A check was not admitted.
pub fn check_refused(why: AdmissionRefusal) {
    with(|to| to.checks_refused.add(1, &[KeyValue::new("reason", why.as_str())]));
}

/// This many sentences of a response ended so.
pub fn sentences(end: SentenceEnd, count: usize) {
    if count > 0 {
        with(|to| to.check_sentences.add(count as u64, &[KeyValue::new("verdict", end.as_str())]));
    }
}

/// A check needed this many pieces of work.
pub fn check_items(kind: ItemKind, count: usize) {
    if count > 0 {
        with(|to| to.check_items.add(count as u64, &[KeyValue::new("kind", kind.as_str())]));
    }
}

/// This many pieces of work needed no job of their own.
pub fn cache_hits(count: usize) {
    if count > 0 {
        with(|to| to.cache_hits.add(count as u64, &[]));
    }
}

/// A question to the judge ended, `took` after it was asked.
pub fn judge_asked(task: JudgeTask, end: JudgeEnd, took: Duration) {
    with(|to| {
        let task = KeyValue::new("task", task.as_str());
        to.judge_questions.add(1, &[task.clone(), KeyValue::new("end", end.as_str())]);
        to.judge_duration.record(took.as_secs_f64(), &[task]);
    });
}

/// A question to the judge brought no answer.
pub fn judge_failed(code: Code) {
    with(|to| to.judge_failures.add(1, &[code_label(code)]));
}

/// What a question to the judge took.
pub fn judge_spent(calls: u64, input_tokens: u64, output_tokens: u64) {
    if calls == 0 {
        return;
    }
    with(|to| {
        to.judge_calls.add(calls, &[]);
        to.judge_tokens.add(input_tokens, &[KeyValue::new("kind", TokenKind::Input.as_str())]);
        to.judge_tokens.add(output_tokens, &[KeyValue::new("kind", TokenKind::Output.as_str())]);
    });
}

/// Whether calls to the judge go through.
pub fn judge_available(is_available: bool) {
    with(|to| to.judge_available.record(u64::from(is_available), &[]));
}

/// The bus said what became of a job, `took` after it was sent.
pub fn job_published(lane: Lane, end: PublishEnd, took: Duration) {
    with(|to| {
        to.jobs_published.add(1, &[lane_label(lane), KeyValue::new("result", end.as_str())]);
        to.publish_duration.record(took.as_secs_f64(), &[]);
    });
}

/// A job was sent again.
pub fn job_resent() {
    with(|to| to.jobs_resent.add(1, &[]));
}

/// A coordinator gave a job up.
pub fn job_given_up(code: Code) {
    with(|to| to.jobs_given_up.add(1, &[code_label(code)]));
}

/// How many jobs wait for their turn in a coordinator, and how many are sent and unanswered.
pub fn dispatch_load(waiting: usize, unanswered: usize) {
    with(|to| {
        to.jobs_waiting.record(waiting as u64, &[]);
        to.jobs_unanswered.record(unanswered as u64, &[]);
    });
}

/// Whether this process is connected to the bus.
pub fn bus_connected(is_connected: bool) {
    with(|to| to.bus_connected.record(u64::from(is_connected), &[]));
}

/// The connection to the bus was lost.
pub fn bus_disconnected() {
    with(|to| to.bus_disconnects.add(1, &[]));
}

/// The bus dropped messages for this process because it reads too slowly.
pub fn bus_slow_consumer() {
    with(|to| to.bus_slow_consumers.add(1, &[]));
}

/// A worker received a job. `again`: it had been delivered before.
pub fn job_received(lane: Lane, again: bool, fate: DeliveryFate) {
    let again = KeyValue::new("again", flag_text(again));
    let fate = KeyValue::new("fate", fate.as_str());
    with(|to| to.deliveries.add(1, &[lane_label(lane), again, fate]));
}

/// A job was put aside for good.
pub fn job_dead(code: Code) {
    with(|to| to.dead_jobs.add(1, &[code_label(code)]));
}

/// A batch was closed and goes to the device. `longest_wait`: of the item that waited longest.
pub fn batch_closed(reason: CloseReason, items: usize, tokens: usize, longest_wait: Duration) {
    with(|to| {
        to.batches.add(1, &[KeyValue::new("reason", reason.as_str())]);
        to.batch_items.record(items as u64, &[]);
        to.batch_tokens.record(tokens as u64, &[]);
        to.batch_wait.record(longest_wait.as_secs_f64(), &[]);
    });
}

/// The device worked on a batch for `took`.
pub fn batch_scored(took: Duration) {
    with(|to| to.batch_device.record(took.as_secs_f64(), &[]));
}

/// The engine failed on a batch as a whole.
pub fn engine_fallback() {
    with(|to| to.engine_fallbacks.add(1, &[]));
}

/// The processor computes a model, because no GPU can be used.
pub fn device_fallback(why: Code) {
    with(|to| to.device_fallbacks.add(1, &[code_label(why)]));
}

/// Estimated tokens of the jobs of a lane that a worker holds.
pub fn worker_held_tokens(lane: Lane, tokens: usize) {
    with(|to| to.worker_held_tokens.record(tokens as u64, &[lane_label(lane)]));
}

/// The gateway began to answer a request. [`request_finished`] must follow.
pub fn request_started() {
    with(|to| to.requests_running.add(1, &[]));
}

/// The gateway answered a request with this HTTP status, `took` after its headers were read.
pub fn request_finished(route: Route, status: u16, took: Duration) {
    with(|to| {
        let route = KeyValue::new("route", route.as_str());
        to.requests_running.add(-1, &[]);
        to.requests.add(1, &[route.clone(), KeyValue::new("status", status_text(status))]);
        to.request_duration.record(took.as_secs_f64(), &[route]);
    });
}

/// The gateway refused a request. `tenant`: where it is known, else `unknown`.
pub fn request_refused(why: GatewayRefusal, tenant: Option<&str>) {
    with(|to| {
        let tenant = KeyValue::new("tenant", tenant_label(tenant.unwrap_or("unknown")));
        to.requests_refused.add(1, &[KeyValue::new("reason", why.as_str()), tenant]);
    });
}

/// The gateway admitted work of this many estimated tokens.
pub fn tokens_admitted(tenant: &str, tokens: usize) {
    with(|to| to.admitted_tokens.add(tokens as u64, &[KeyValue::new("tenant", tenant_label(tenant))]));
}
