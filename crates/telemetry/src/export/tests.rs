//! One test: what it starts exists once in a process.

use super::*;
use crate::testing::{OtlpSink, ReceivedSpan};
use crate::*;
use groundline_types::Lane;
use std::collections::{BTreeMap, BTreeSet};

const SOON: Duration = Duration::from_secs(20);
const CANARY: &str = "the-canary-of-foreign-code";

/// Records every metric with every kind of label.
fn record_everything() {
    let second = Duration::from_secs(1);
    record::check_started(Lane::Online);
    record::check_finished(Lane::Online, CheckEnd::Scored, second);
    record::check_refused(AdmissionRefusal::Full);
    record::sentences(SentenceEnd::Supported, 3);
    record::check_items(ItemKind::Pair, 8);
    record::cache_hits(2);
    record::judge_asked(JudgeTask::Verdict, JudgeEnd::Failed, second);
    record::judge_failed(Code::JUDGE_REFUSED);
    record::judge_spent(2, 300, 20);
    record::judge_available(true);
    record::job_published(Lane::Bulk, PublishEnd::Stored, second);
    record::job_resent();
    record::job_given_up(Code::JOB_DEAD);
    record::dispatch_load(4, 5);
    record::bus_connected(true);
    record::bus_disconnected();
    record::bus_slow_consumer();
    record::job_received(Lane::Online, true, DeliveryFate::Split);
    record::job_dead(Code::JOB_DEAD);
    record::batch_closed(CloseReason::Full, 16, 4000, second);
    record::batch_scored(second);
    record::engine_fallback();
    record::device_fallback(Code::DEVICE_UNAVAILABLE);
    record::worker_held_tokens(Lane::Online, 100);
    record::request_started();
    record::request_finished(Route::Check, 200, second);
    record::request_refused(GatewayRefusal::TenantLimit, Some("team-a"));
    record::tokens_admitted("team-a", 1000);
}

/// The families of a text in Prometheus' format: each with its kind, and its series with their values.
fn families(text: &str) -> (BTreeMap<String, String>, BTreeMap<String, f64>) {
    let (mut kinds, mut series) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            kinds.insert(name.to_owned(), kind.to_owned());
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            series.insert(name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")));
        }
    }
    (kinds, series)
}

fn find(spans: &[ReceivedSpan], name: SpanName) -> &ReceivedSpan {
    spans.iter().find(|span| span.name == name.as_str()).unwrap_or_else(|| panic!("no {name:?} in {spans:?}"))
}

#[test]
fn everything_of_the_inventory_leaves_the_process_and_nothing_else() {
    let sink = OtlpSink::start().unwrap();
    record_everything();
    let options = TelemetryOptions {
        log_filter: "trace".to_owned(),
        otlp_endpoint: sink.endpoint(),
        service_name: "under-test".to_owned(),
        ..TelemetryOptions::default()
    };
    let guard = Telemetry::start(&options, "test").unwrap();
    assert_eq!(guard.prometheus_text(), "", "what happened before is not recorded");
    assert_eq!(Telemetry::start(&options, "test").unwrap_err().code, Code::INTERNAL);
    record_everything();

    let (kinds, series) = families(&guard.prometheus_text());
    let expected = INVENTORY.iter().map(|metric| (metric.name.to_owned(), metric.kind.name().to_owned()));
    assert_eq!(kinds, expected.collect());
    assert_eq!(series["groundline_checks_running"], 0.0);
    assert_eq!(series["groundline_check_sentences_total{verdict=\"supported\"}"], 3.0);
    assert_eq!(series["groundline_requests_total{route=\"check\",status=\"200\"}"], 1.0);
    assert_eq!(series["groundline_judge_tokens_total{kind=\"input\"}"], 300.0);
    assert_eq!(series["groundline_admitted_tokens_total{tenant=\"team-a\"}"], 1000.0);
    assert_eq!(series["groundline_check_duration_seconds_bucket{lane=\"online\",le=\"1\"}"], 1.0);

    let caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = ActiveSpan::start(SpanName::Request, &parent_from(caller));
    let check = {
        let _entered = request.enter();
        assert_eq!(current_traceparent(), request.traceparent());
        ActiveSpan::start(SpanName::Check, &Parent::current())
    };
    check.set(SpanKey::PAIRS, 12_usize);
    drop(check.child(SpanName::Prepare));
    let header = check.traceparent().unwrap();
    let batch = ActiveSpan::start_linked(SpanName::Batch, [&*header, "garbage", &*header]);
    link_span(&batch, caller);
    {
        let _entered = check.enter();
        Evaluation {
            min_support_probability: Some(0.5),
            label: EvaluationLabel::Supported,
            response_id: Some("response-1"),
            error: None,
        }
        .emit();
        tracing::warn!(pairs = 3, "a line of ours");
        tracing::info!(target: "foreign", "{CANARY}");
    }
    drop((batch, check, request));
    // Ends the exporters, which sends what they hold.
    guard.shutdown();

    let received = sink.wait_for(SOON, |received| received.spans.len() >= 4 && received.logs.len() >= 2);
    let (request, check) = (find(&received.spans, SpanName::Request), find(&received.spans, SpanName::Check));
    let (prepare, batch) = (find(&received.spans, SpanName::Prepare), find(&received.spans, SpanName::Batch));
    assert_eq!(request.parent_span_id, "b7ad6b7169203331");
    assert_eq!((&check.parent_span_id, &check.trace_id), (&request.span_id, &request.trace_id));
    assert_eq!(prepare.parent_span_id, check.span_id);
    assert_eq!(check.attributes[SpanKey::PAIRS.as_str()], "12");
    assert_eq!(batch.parent_span_id, "");
    assert_ne!(batch.trace_id, check.trace_id);
    let of_caller = ("0af7651916cd43dd8448eb211c80319c".to_owned(), "b7ad6b7169203331".to_owned());
    assert_eq!(batch.links, [(check.trace_id.clone(), check.span_id.clone()), of_caller]);

    let event = received.logs.iter().find(|log| log.event_name == EVALUATION_EVENT).unwrap();
    assert_eq!((&event.trace_id, &event.span_id), (&check.trace_id, &check.span_id));
    assert_eq!(event.attributes["gen_ai.evaluation.score.value"], "0.5");
    assert_eq!(event.attributes["gen_ai.evaluation.score.label"], "supported");
    assert!(received.logs.iter().any(|log| log.body == "a line of ours" && log.attributes["pairs"] == "3"));
    let names = INVENTORY.iter().map(|metric| metric.name.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(received.metrics, names);
    assert!(received.raw.contains("under-test"));
    assert!(!received.raw.contains(CANARY), "lines of foreign code are not exported");
}
