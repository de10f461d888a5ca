use super::*;
use crate::testing::OtlpSink;
use opentelemetry::logs::{LogRecord, Logger, LoggerProvider};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{Tracer, TracerProvider};
use std::net::TcpListener;
use std::sync::mpsc;

fn decide(endpoint: &str, variables: &[(&str, &str)]) -> [bool; 3] {
    let find =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let options = TelemetryOptions { otlp_endpoint: endpoint.to_owned(), ..TelemetryOptions::default() };
    let to = Destinations::decide(&options, find);
    [to.traces, to.metrics, to.logs]
}

#[test]
fn nothing_is_exported_unless_somebody_names_an_endpoint() {
    assert_eq!(decide("", &[]), [false; 3]);
    assert_eq!(decide("http://collector:4317", &[]), [true; 3]);
    assert_eq!(decide("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")]), [true; 3]);
    let traces_only = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector:4317")];
    assert_eq!(decide("", &traces_only), [true, false, false]);
}

#[test]
fn standard_variables_turn_signals_off() {
    let endpoint = "http://collector:4317";
    assert_eq!(decide(endpoint, &[("OTEL_LOGS_EXPORTER", "none")]), [true, true, false]);
    assert_eq!(decide(endpoint, &[("OTEL_SDK_DISABLED", "true")]), [false; 3]);
}

/// Makes more of everything than any queue holds, and ends; fails where any of it waits for the collector.
fn overflow(endpoint: String) {
    const MANY: usize = 20_000;
    const FLUSH: Duration = Duration::from_millis(300);
    const FAR_TOO_LONG: Duration = Duration::from_secs(20);
    let (done, wait) = mpsc::channel();
    // What hangs here must not hang the test.
    std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let options = TelemetryOptions { otlp_endpoint: endpoint, ..TelemetryOptions::default() };
        let pipelines = {
            let _entered = runtime.enter();
            let scrape = PrometheusText::default();
            Pipelines::build(&options, "test", &Destinations::of(&options), &scrape).unwrap()
        };
        let tracer = pipelines.tracer.as_ref().unwrap().tracer("test");
        let logger = pipelines.logger.as_ref().unwrap().logger("test");
        let counter = pipelines.meter.meter("test").u64_counter("test_total").build();
        for _ in 0..MANY {
            drop(tracer.start("span"));
            let mut record = logger.create_log_record();
            record.set_body("line".into());
            logger.emit(record);
            counter.add(1, &[]);
        }
        done.send("recorded").unwrap();
        pipelines.shutdown(FLUSH);
        runtime.shutdown_background();
        done.send("ended").unwrap();
    });
    assert_eq!(wait.recv_timeout(FAR_TOO_LONG), Ok("recorded"));
    assert_eq!(wait.recv_timeout(FAR_TOO_LONG), Ok("ended"));
}

#[test]
fn a_collector_that_is_gone_holds_nothing_up() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    overflow(format!("http://{address}"));
}

#[test]
fn a_collector_that_never_answers_holds_nothing_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    overflow(format!("http://{}", silent.local_addr().unwrap()));
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Sends one span.
fn send(options: &TelemetryOptions) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pipelines = {
        let _entered = runtime.enter();
        Pipelines::build(options, "test", &Destinations::of(options), &PrometheusText::default())?
    };
    drop(pipelines.tracer.as_ref().unwrap().tracer("test").start("secret"));
    pipelines.shutdown(Duration::from_secs(5));
    runtime.shutdown_background();
    Ok(())
}

#[test]
fn a_collector_with_tls_is_sent_to_where_its_authority_is_known() {
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let sink = OtlpSink::start_secure(&read("tls_server.cert.pem"), &read("tls_server.key.pem")).unwrap();
    let unknown = TelemetryOptions { otlp_endpoint: sink.endpoint(), ..TelemetryOptions::default() };
    let known = TelemetryOptions { otlp_ca_file: file("tls_ca.pem"), ..unknown.clone() };
    send(&unknown).unwrap();
    assert_eq!(sink.received().spans, []);
    send(&known).unwrap();
    let received = sink.wait_for(Duration::from_secs(20), |received| !received.spans.is_empty());
    assert_eq!(received.spans.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), ["secret"]);
    for name in ["none.pem", "tls_server.key.pem"] {
        let problem = send(&TelemetryOptions { otlp_ca_file: file(name), ..known.clone() }).unwrap_err();
        assert_eq!(problem.code, Code::INVALID_CONFIG);
        assert!(problem.message.contains("otlp_ca_file"), "{problem}");
    }
}
