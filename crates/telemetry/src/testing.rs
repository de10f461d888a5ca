//! A collector inside a test: an OTLP server on a port of its own that keeps what it is sent.

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{LogsService, LogsServiceServer};
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// A span that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedSpan {
    /// Its name.
    pub name: String,
    /// Its trace, in hexadecimal.
    pub trace_id: String,
    /// Its own id.
    pub span_id: String,
    /// Its parent's id; empty for a root.
    pub parent_span_id: String,
    /// Trace and span of each link.
    pub links: Vec<(String, String)>,
    /// Its attributes as text.
    pub attributes: BTreeMap<String, String>,
}

/// A log record that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedLog {
    /// Its event's name; empty for a plain line.
    pub event_name: String,
    /// The line.
    pub body: String,
    /// Its trace; empty outside any.
    pub trace_id: String,
    /// Its span; empty outside any.
    pub span_id: String,
    /// Its attributes as text.
    pub attributes: BTreeMap<String, String>,
}

/// Everything that arrived so far.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// Spans in the order of arrival.
    pub spans: Vec<ReceivedSpan>,
    /// Log records in the order of arrival.
    pub logs: Vec<ReceivedLog>,
    /// Names of metrics.
    pub metrics: BTreeSet<String>,
    /// Every request as it came, for tests of what must not be in any.
    pub raw: String,
}

type Shared = Arc<(Mutex<Received>, Condvar)>;

/// The collector. It ends when dropped.
#[derive(Debug)]
pub struct OtlpSink {
    shared: Shared,
    scheme: &'static str,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl OtlpSink {
    /// Starts one on a free port of this machine.
    ///
    /// # Errors
    /// Where the system gives no port or no thread.
    pub fn start() -> io::Result<Self> {
        Self::serve("http", Server::builder())
    }

    /// The same with TLS, with a certificate and its key as PEM.
    ///
    /// # Errors
    /// As [`OtlpSink::start`], and where certificate and key cannot be used.
    pub fn start_secure(certificate: &str, key: &str) -> io::Result<Self> {
        let tls = ServerTlsConfig::new().identity(Identity::from_pem(certificate, key));
        Self::serve("https", Server::builder().tls_config(tls).map_err(io::Error::other)?)
    }

    fn serve(scheme: &'static str, mut server: Server) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = {
            // Also inside a test that runs on a runtime of its own.
            let _entered = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let shared = Shared::default();
        let keep = Keep(Arc::clone(&shared));
        let server = server
            .add_service(TraceServiceServer::new(keep.clone()))
            .add_service(MetricsServiceServer::new(keep.clone()))
            .add_service(LogsServiceServer::new(keep))
            .serve_with_incoming(TcpListenerStream::new(listener));
        // Ends with the runtime, which is its owner.
        drop(runtime.spawn(server));
        Ok(Self { shared, scheme, address, runtime: Some(runtime) })
    }

    /// Where it listens, as `telemetry.otlp_endpoint` has it.
    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// What has arrived.
    pub fn received(&self) -> Received {
        lock(&self.shared).clone()
    }

    /// Waits until what has arrived satisfies `is_enough`, and gives it; after `timeout`, what is there by then.
    pub fn wait_for(&self, timeout: Duration, is_enough: impl Fn(&Received) -> bool) -> Received {
        let waiting =
            self.shared.1.wait_timeout_while(lock(&self.shared), timeout, |received| !is_enough(received));
        waiting.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

impl Drop for OtlpSink {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Received> {
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Clone)]
struct Keep(Shared);

impl Keep {
    fn keep(&self, raw: String, add: impl FnOnce(&mut Received)) {
        let mut received = lock(&self.0);
        received.raw.push_str(&raw);
        add(&mut received);
        self.0.1.notify_all();
    }
}

#[tonic::async_trait]
impl TraceService for Keep {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let request = request.into_inner();
        self.keep(format!("{request:?}"), |received| {
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            received.spans.extend(scopes.flat_map(|scope| scope.spans).map(span));
        });
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Keep {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        let request = request.into_inner();
        self.keep(format!("{request:?}"), |received| {
            let scopes = request.resource_logs.into_iter().flat_map(|resource| resource.scope_logs);
            received.logs.extend(scopes.flat_map(|scope| scope.log_records).map(log));
        });
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Keep {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let request = request.into_inner();
        self.keep(format!("{request:?}"), |received| {
            let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
            received.metrics.extend(scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name));
        });
        Ok(Response::new(Default::default()))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::BoolValue(flag)) => flag.to_string(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(other) => format!("{other:?}"),
        None => String::new(),
    }
}

fn attributes(pairs: Vec<KeyValue>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|pair| (pair.key, text(pair.value))).collect()
}

fn span(span: Span) -> ReceivedSpan {
    ReceivedSpan {
        name: span.name,
        trace_id: hex(&span.trace_id),
        span_id: hex(&span.span_id),
        parent_span_id: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        attributes: attributes(span.attributes),
    }
}

fn log(record: LogRecord) -> ReceivedLog {
    ReceivedLog {
        event_name: record.event_name,
        body: text(record.body),
        trace_id: hex(&record.trace_id),
        span_id: hex(&record.span_id),
        attributes: attributes(record.attributes),
    }
}
