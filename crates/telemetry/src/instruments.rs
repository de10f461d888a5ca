//! The inventory of metrics, and the instrument behind each: written once, so that they cannot differ.

use crate::inventory::{Label, LabelValues, Metric, MetricKind};
use crate::labels::{
    AdmissionRefusal, CheckEnd, CloseReason, DeliveryFate, FLAGS, GatewayRefusal, HTTP_STATUSES, ItemKind,
    JudgeEnd, JudgeTask, LANES, PublishEnd, Route, SentenceEnd, TokenKind,
};
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter};
use std::sync::OnceLock;

/// The name under which this product's instruments and spans are known.
const SCOPE: &str = "groundline";

/// Bucket bounds of whole checks and requests: 1 ms to the longest deadline anyone waits for.
const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 150.0];
/// Bucket bounds of waits and of single batches.
const SHORT_SECONDS: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];
/// Bucket bounds of sizes: powers of two.
const SIZES: &[f64] = &[
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0,
    32768.0, 65536.0,
];

macro_rules! instrument_type {
    (counter) => { Counter<u64> };
    (running) => { UpDownCounter<i64> };
    (gauge) => { Gauge<u64> };
    (seconds) => { Histogram<f64> };
    (short_seconds) => { Histogram<f64> };
    (sizes) => { Histogram<u64> };
}

macro_rules! metric_kind {
    (counter) => {
        MetricKind::Counter
    };
    (running) => {
        MetricKind::Gauge
    };
    (gauge) => {
        MetricKind::Gauge
    };
    ($histogram:ident) => {
        MetricKind::Histogram
    };
}

macro_rules! build {
    (counter, $meter:expr, $name:expr) => {
        $meter.u64_counter($name)
    };
    (running, $meter:expr, $name:expr) => {
        $meter.i64_up_down_counter($name)
    };
    (gauge, $meter:expr, $name:expr) => {
        $meter.u64_gauge($name)
    };
    (seconds, $meter:expr, $name:expr) => {
        $meter.f64_histogram($name).with_boundaries(SECONDS.to_vec())
    };
    (short_seconds, $meter:expr, $name:expr) => {
        $meter.f64_histogram($name).with_boundaries(SHORT_SECONDS.to_vec())
    };
    (sizes, $meter:expr, $name:expr) => {
        $meter.u64_histogram($name).with_boundaries(SIZES.to_vec())
    };
}

macro_rules! metrics {
    ($($field:ident: $kind:ident $name:literal [$unit:literal] {$($label:ident = $values:expr),*} $help:literal;)*) => {
        /// Every metric there is, by the part that records it.
        pub const INVENTORY: &[Metric] = &[$(Metric {
            name: $name,
            kind: metric_kind!($kind),
            unit: $unit,
            help: $help,
            labels: &[$(Label { name: stringify!($label), values: $values }),*],
        }),*];

        /// An instrument for each metric.
        pub(crate) struct Instruments { $(pub(crate) $field: instrument_type!($kind),)* }

        impl Instruments {
            fn new(meter: &Meter) -> Self {
                Self { $($field: build!($kind, meter, $name).with_unit($unit).with_description($help).build(),)* }
            }
        }
    };
}

use LabelValues::{Code, OneOf, Tenant};

metrics! {
    checks_started: counter "groundline_checks_started_total" ["{check}"] {lane = OneOf(LANES)}
        "Checks that a coordinator admitted";
    checks_finished: counter "groundline_checks_finished_total" ["{check}"] {lane = OneOf(LANES), status = OneOf(CheckEnd::TEXTS)}
        "Checks that ended, by how";
    checks_refused: counter "groundline_checks_refused_total" ["{check}"] {reason = OneOf(AdmissionRefusal::TEXTS)}
        "Checks that a coordinator did not admit";
    checks_running: running "groundline_checks_running" ["{check}"] {}
        "Checks that run at the moment";
    check_duration: seconds "groundline_check_duration_seconds" ["s"] {lane = OneOf(LANES)}
        "Time from admission to the end of a check";
    check_sentences: counter "groundline_check_sentences_total" ["{sentence}"] {verdict = OneOf(SentenceEnd::TEXTS)}
        "Sentences of responses, by verdict";
    check_items: counter "groundline_check_items_total" ["{item}"] {kind = OneOf(ItemKind::TEXTS)}
        "Pairs and texts that checks needed, before the cache";
    cache_hits: counter "groundline_cache_hits_total" ["{item}"] {}
        "Pairs and texts that were answered by the cache or by another check's job";
    judge_questions: counter "groundline_judge_questions_total" ["{question}"] {task = OneOf(JudgeTask::TEXTS), end = OneOf(JudgeEnd::TEXTS)}
        "Questions to the judge, by what was asked and how it ended";
    judge_failures: counter "groundline_judge_failures_total" ["{question}"] {code = Code}
        "Questions to the judge without an answer, by code";
    judge_duration: seconds "groundline_judge_duration_seconds" ["s"] {task = OneOf(JudgeTask::TEXTS)}
        "Time from a question to the judge to its end, waiting and retries included";
    judge_calls: counter "groundline_judge_calls_total" ["{call}"] {}
        "HTTP calls to the judge's backend, retries, failed ones and those given up included";
    judge_tokens: counter "groundline_judge_tokens_total" ["{token}"] {kind = OneOf(TokenKind::TEXTS)}
        "Tokens that the judge's backend read and wrote, as it counts them or as they are guessed";
    judge_available: gauge "groundline_judge_available" ["1"] {}
        "1 while calls to the judge go through, 0 while its breaker is open; as of the last question";
    jobs_published: counter "groundline_jobs_published_total" ["{job}"] {lane = OneOf(LANES), result = OneOf(PublishEnd::TEXTS)}
        "Jobs sent to the bus, by what it said";
    jobs_resent: counter "groundline_jobs_resent_total" ["{job}"] {}
        "Jobs sent again because no answer came";
    jobs_given_up: counter "groundline_jobs_given_up_total" ["{job}"] {code = Code}
        "Jobs given up by their coordinator, by code";
    jobs_waiting: gauge "groundline_dispatch_waiting_jobs" ["{job}"] {}
        "Jobs that wait in the coordinator for their turn";
    jobs_unanswered: gauge "groundline_dispatch_unanswered_jobs" ["{job}"] {}
        "Jobs that were sent and not answered yet";
    publish_duration: short_seconds "groundline_bus_publish_duration_seconds" ["s"] {}
        "Time until the bus has said what became of a job";
    bus_connected: gauge "groundline_bus_connected" ["1"] {}
        "1 while this process is connected to the bus, else 0";
    bus_disconnects: counter "groundline_bus_disconnects_total" ["{disconnect}"] {}
        "Times that the connection to the bus was lost";
    bus_slow_consumers: counter "groundline_bus_slow_consumers_total" ["{event}"] {}
        "Times that this process read answers too slowly, so that the bus dropped some";
    deliveries: counter "groundline_jobs_received_total" ["{job}"] {lane = OneOf(LANES), again = OneOf(FLAGS), fate = OneOf(DeliveryFate::TEXTS)}
        "Jobs that a worker received: whether they were delivered before, and what it does with them";
    dead_jobs: counter "groundline_jobs_dead_total" ["{job}"] {code = Code}
        "Jobs put aside for good, by code";
    batches: counter "groundline_batches_total" ["{batch}"] {reason = OneOf(CloseReason::TEXTS)}
        "Batches that were run, by why they were closed";
    batch_tokens: sizes "groundline_batch_tokens" ["{token}"] {}
        "Tokens of a batch";
    batch_items: sizes "groundline_batch_items" ["{item}"] {}
        "Pairs and texts of a batch";
    batch_wait: short_seconds "groundline_batch_wait_seconds" ["s"] {}
        "Time that the longest-waiting item of a batch waited for it";
    batch_device: short_seconds "groundline_batch_device_seconds" ["s"] {}
        "Time that the device worked on a batch";
    engine_fallbacks: counter "groundline_engine_fallbacks_total" ["{batch}"] {}
        "Batches that the engine failed on, whose items were run one by one";
    device_fallbacks: counter "groundline_device_fallbacks_total" ["{model}"] {code = Code}
        "Models that the processor computes because no GPU could be used, by why";
    worker_held_tokens: gauge "groundline_worker_held_tokens" ["{token}"] {lane = OneOf(LANES)}
        "Estimated tokens of the jobs that a worker holds";
    requests: counter "groundline_requests_total" ["{request}"] {route = OneOf(Route::TEXTS), status = OneOf(HTTP_STATUSES)}
        "Requests that the gateway answered, by HTTP status; a gRPC status counts as the HTTP status of the same meaning";
    request_duration: seconds "groundline_request_duration_seconds" ["s"] {route = OneOf(Route::TEXTS)}
        "Time from a request's headers to the end of its answer";
    requests_running: running "groundline_requests_running" ["{request}"] {}
        "Requests that the gateway is answering";
    requests_refused: counter "groundline_requests_refused_total" ["{request}"] {reason = OneOf(GatewayRefusal::TEXTS), tenant = Tenant}
        "Requests refused before any work, by why";
    admitted_tokens: counter "groundline_admitted_tokens_total" ["{token}"] {tenant = Tenant}
        "Estimated tokens of the work that the gateway admitted";
}

/// What is installed, once for a process.
pub(crate) struct Installed {
    pub(crate) instruments: Instruments,
    pub(crate) tracer: BoxedTracer,
}

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// Begins to record, with the meter and tracer providers that are global in `opentelemetry` at this moment. Without it, nothing
/// is recorded. Returns whether this call was the first.
///
/// `Telemetry::start` calls it. An application that has providers of its own sets them globally, then calls this.
pub fn install() -> bool {
    let mut first = false;
    INSTALLED.get_or_init(|| {
        first = true;
        Installed { instruments: Instruments::new(&global::meter(SCOPE)), tracer: global::tracer(SCOPE) }
    });
    first
}

/// What is installed, if anything is.
pub(crate) fn installed() -> Option<&'static Installed> {
    INSTALLED.get()
}

#[cfg(test)]
mod tests;
