//! What leaves the process, and what must not.

use groundline::{CheckRequest, Checker, Config, TelemetryOptions};
use groundline_telemetry::testing::OtlpSink;
use groundline_telemetry::{ActiveSpan, EVALUATION_EVENT, INVENTORY, Parent, SpanName, Telemetry, in_span};
use groundline_testkit::{ToyEngine, ToyHooks};
use std::sync::Arc;
use std::time::Duration;
use system_tests::{file, groundline};

const SOON: Duration = Duration::from_secs(30);
/// Words that stand in no program.
const CANARY: &str = "Xanthorrhoea quokkas";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_linked_to_its_checks_and_every_result_makes_one_event_without_text() {
    let sink = OtlpSink::start().unwrap();
    let options = TelemetryOptions {
        // Shows nothing on this test's standard error, and sends evaluation events all the same.
        log_filter: "off".to_owned(),
        otlp_endpoint: sink.endpoint(),
        ..TelemetryOptions::default()
    };
    let guard = Telemetry::start(&options, "test").unwrap();
    let checker =
        Checker::with_engine(Arc::new(ToyEngine::new(ToyHooks::default())), Config::default()).unwrap();
    let request = ActiveSpan::start(SpanName::Request, &Parent::default());
    let mine = request.traceparent().unwrap();
    let text = format!("{CANARY} sleep at noon. They are {CANARY}.");
    let mut asked = CheckRequest::new(text.as_str(), format!("Some {CANARY} sleep at noon.").as_str());
    asked.id = Some("canary-1".to_owned());
    let result = in_span(&request, checker.check(asked)).await.unwrap();
    drop(request);
    checker.shutdown().await;
    let page = guard.prometheus_text();
    tokio::task::spawn_blocking(move || guard.shutdown()).await.unwrap();

    let trace = mine.split('-').nth(1).unwrap().to_owned();
    let received = sink.wait_for(SOON, |received| {
        let of_trace = |name: SpanName| {
            received.spans.iter().any(|span| span.name == name.as_str() && span.trace_id == trace)
        };
        of_trace(SpanName::Request) && of_trace(SpanName::Check) && !received.metrics.is_empty()
    });
    let find = |name: SpanName| {
        let found = received.spans.iter().find(|span| span.name == name.as_str() && span.trace_id == trace);
        found.unwrap_or_else(|| panic!("no {name:?} in {:?}", received.spans))
    };
    let (request, check) = (find(SpanName::Request), find(SpanName::Check));
    assert_eq!(check.parent_span_id, request.span_id);
    for part in [SpanName::Prepare, SpanName::Detect, SpanName::Decide] {
        assert_eq!(find(part).parent_span_id, check.span_id);
    }
    assert_eq!(check.attributes["groundline.check.pairs"], result.usage.pairs.to_string());
    let link = (check.trace_id.clone(), check.span_id.clone());
    let batches = received.spans.iter().filter(|span| span.name == SpanName::Batch.as_str());
    let linked = batches.filter(|batch| batch.links.contains(&link)).collect::<Vec<_>>();
    assert!(!linked.is_empty(), "no batch is linked to the check: {:?}", received.spans);
    assert!(linked.iter().all(|batch| batch.parent_span_id.is_empty() && batch.trace_id != trace));

    let events = received.logs.iter().filter(|log| log.event_name == EVALUATION_EVENT);
    let events = events.filter(|log| log.trace_id == trace).collect::<Vec<_>>();
    assert_eq!(events.len(), 1, "{:?}", received.logs);
    assert_eq!(events[0].span_id, check.span_id);
    assert_eq!(events[0].attributes["gen_ai.response.id"], "canary-1");
    let score = events[0].attributes["gen_ai.evaluation.score.value"].parse::<f32>().unwrap();
    assert!((score - result.scores.min.unwrap().get()).abs() < 1e-6);

    let families = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let known = |name: &str| INVENTORY.iter().any(|metric| metric.name == name);
    assert!(families.clone().count() > 10 && families.clone().all(known), "{page}");
    assert!(page.contains("groundline_checks_finished_total{lane=\"online\",status="));
    for word in CANARY.split(' ') {
        assert!(!received.raw.contains(word) && !page.contains(word), "text of a request left the process");
    }
}

#[test]
fn no_log_line_holds_text_of_a_request_even_at_trace() {
    let folder = tempfile::tempdir().unwrap();
    let response =
        file(folder.path(), "response.txt", format!("The {CANARY} sleep. {CANARY} were 7 in 1999."));
    let source = file(folder.path(), "source.txt", format!("Some {CANARY} sleep at noon. {CANARY} are 9."));
    let args = ["check", "--source", source.as_str(), "--response", response.as_str(), "--json"];
    let ran =
        groundline(&args).env("RUST_LOG", "trace").env("GROUNDLINE_ENGINE_THREDS", "1").output().unwrap();
    let (shown, logged) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(shown.contains("Xanthorrhoea"), "the check ran: {shown} {logged}");
    // The mistyped variable shows that lines do come out.
    assert!(logged.contains("names no option"), "{logged}");
    for word in CANARY.split(' ') {
        assert!(!logged.contains(word), "text of a request is logged: {logged}");
    }
}
