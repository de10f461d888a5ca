//! What leaves the process: logs on standard error, OTLP, and the text that Prometheus reads.

mod logs;
mod otlp;
mod scrape;

pub use scrape::PrometheusText;

use crate::options::{LogFormat, TelemetryOptions};
use crate::{install, tenant};
use groundline_types::{Code, Problem};
use opentelemetry::global;
use otlp::{Destinations, Pipelines};
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, fmt};

/// Starts what sends telemetry out of the process.
#[derive(Debug)]
pub struct Telemetry;

impl Telemetry {
    /// Sets up logs, traces and metrics for the whole process; once, before anything else of Groundline runs. `role` completes
    /// the name of the service.
    ///
    /// Exporters work on a thread of their own, with bounded queues: a collector that is slow or gone costs the telemetry that does
    /// not fit, and no request. Standard `OTEL_*` variables count where an option is not set.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] for options out of range; [`Code::INTERNAL`] where logs of this process are set up already.
    pub fn start(options: &TelemetryOptions, role: &str) -> Result<TelemetryGuard, Problem> {
        options.validate()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("groundline-telemetry")
            .enable_all()
            .build()
            .map_err(|error| Problem::new(Code::INTERNAL, format!("no thread for telemetry: {error}")))?;
        let scrape = PrometheusText::default();
        let pipelines = {
            // Connections live on the runtime that is entered while they are made.
            let _entered = runtime.enter();
            Pipelines::build(options, role, &Destinations::of(options), &scrape)?
        };
        let filter = std::env::var("RUST_LOG").ok().filter(|text| !text.trim().is_empty());
        let filter = filter.as_deref().unwrap_or(&options.log_filter);
        let stderr = match options.log_format {
            LogFormat::Text => fmt::layer().with_writer(std::io::stderr).with_ansi(false).compact().boxed(),
            LogFormat::Json => {
                let json = fmt::layer().with_writer(std::io::stderr).json().flatten_event(true);
                json.with_current_span(false).with_span_list(false).boxed()
            }
        };
        let exported = pipelines.logger.as_ref().map(logs::OtlpLogs::new);
        let exported = exported.map(|layer| logs::exported(filter).map(|allowed| layer.with_filter(allowed)));
        let subscriber =
            Registry::default().with(stderr.with_filter(logs::shown(filter)?)).with(exported.transpose()?);
        tracing::subscriber::set_global_default(subscriber)
            .map_err(|_| Problem::new(Code::INTERNAL, "logging is set up already in this process"))?;
        if let Some(tracer) = &pipelines.tracer {
            global::set_tracer_provider(tracer.clone());
        }
        global::set_meter_provider(pipelines.meter.clone());
        tenant::set_limit(options.tenant_labels);
        install();
        let flush_timeout = Duration::from_millis(options.flush_timeout_ms);
        Ok(TelemetryGuard { pipelines: Some(pipelines), runtime: Some(runtime), scrape, flush_timeout })
    }
}

/// Keeps telemetry running. Dropping it does what [`TelemetryGuard::shutdown`] does.
#[derive(Debug)]
pub struct TelemetryGuard {
    pipelines: Option<Pipelines>,
    runtime: Option<Runtime>,
    scrape: PrometheusText,
    flush_timeout: Duration,
}

impl TelemetryGuard {
    /// Every metric in Prometheus' text format 0.0.4.
    pub fn prometheus_text(&self) -> String {
        self.scrape.text()
    }

    /// What gives that text elsewhere, such as in the handler of `/metrics`.
    pub fn scraper(&self) -> PrometheusText {
        self.scrape.clone()
    }

    /// Sends what is not yet sent, waits for that at most `telemetry.flush_timeout_ms`, and ends the exporters. Blocks its thread.
    /// Metrics can still be read as text afterwards, but change no more.
    pub fn shutdown(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        if let Some(pipelines) = self.pipelines.take() {
            let (done, wait) = mpsc::channel();
            let timeout = self.flush_timeout;
            let flush = move || {
                pipelines.shutdown(timeout);
                // Nobody listens any more where it took too long.
                let _ = done.send(());
            };
            let flusher = std::thread::Builder::new().name("groundline-flush".to_owned()).spawn(flush);
            if flusher.is_err() || wait.recv_timeout(timeout).is_err() {
                tracing::warn!("some telemetry could not be sent before the process ended");
            }
        }
        if let Some(runtime) = self.runtime.take() {
            // Waiting for it would have no bound, and is not allowed inside another runtime.
            runtime.shutdown_background();
        }
    }
}

impl Drop for TelemetryGuard {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests;
