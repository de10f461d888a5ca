//! The pipelines of the three signals.

use super::PrometheusText;
use crate::options::TelemetryOptions;
use groundline_types::{Code, Problem};
use opentelemetry::KeyValue;
use opentelemetry_otlp::tonic_types::transport::{Certificate, ClientTlsConfig};
use opentelemetry_otlp::{LogExporter, MetricExporter, SpanExporter, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use std::path::PathBuf;
use std::time::Duration;

/// A signal, as the standard variables name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Traces,
    Metrics,
    Logs,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Signal::Traces => "TRACES",
            Signal::Metrics => "METRICS",
            Signal::Logs => "LOGS",
        }
    }
}

/// Where each signal goes, if anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destinations {
    /// The endpoint of the options; `None` where the standard variables say it.
    endpoint: Option<String>,
    traces: bool,
    metrics: bool,
    logs: bool,
    /// Whether any of it is at `https://`.
    is_secure: bool,
    /// PEM file of the authorities to trust; `None`: the system's.
    ca_file: Option<PathBuf>,
}

impl Destinations {
    /// As options and environment say.
    pub(super) fn of(options: &TelemetryOptions) -> Self {
        Self::decide(options, |name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    }

    fn decide(options: &TelemetryOptions, variable: impl Fn(&str) -> Option<String>) -> Self {
        let endpoint = options.otlp_endpoint.as_str();
        let is_disabled = variable("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let wants = |signal: Signal| {
            let is_none =
                variable(&format!("OTEL_{}_EXPORTER", signal.name())).is_some_and(|text| text == "none");
            let is_named = !endpoint.is_empty()
                || variable("OTEL_EXPORTER_OTLP_ENDPOINT").is_some()
                || variable(&format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.name())).is_some();
            is_named && !is_none && !is_disabled
        };
        let for_signal = |signal: Signal| variable(&format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.name()));
        let mut endpoints = [Signal::Traces, Signal::Metrics, Signal::Logs]
            .into_iter()
            .filter_map(for_signal)
            .chain(variable("OTEL_EXPORTER_OTLP_ENDPOINT"))
            .chain([endpoint.to_owned()]);
        let ca_file = Some(options.otlp_ca_file.clone()).filter(|file| !file.as_os_str().is_empty());
        Self {
            is_secure: endpoints.any(|endpoint| endpoint.starts_with("https://")),
            ca_file: ca_file.or_else(|| variable("OTEL_EXPORTER_OTLP_CERTIFICATE").map(PathBuf::from)),
            endpoint: Some(endpoint.to_owned()).filter(|text| !text.is_empty()),
            traces: wants(Signal::Traces),
            metrics: wants(Signal::Metrics),
            logs: wants(Signal::Logs),
        }
    }

    /// How to trust a collector; `None` where none is at `https://`.
    fn tls(&self) -> Result<Option<ClientTlsConfig>, Problem> {
        if !self.is_secure {
            return Ok(None);
        }
        let Some(file) = &self.ca_file else { return Ok(Some(ClientTlsConfig::new().with_enabled_roots())) };
        let refuse = |why: String| {
            Problem::new(Code::INVALID_CONFIG, format!("telemetry.otlp_ca_file {why}: {}", file.display()))
        };
        let pem = std::fs::read(file).map_err(|error| refuse(format!("cannot be read ({error})")))?;
        if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
            return Err(refuse("holds no certificate".to_owned()));
        }
        Ok(Some(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem))))
    }
}

/// What produces and sends each signal.
#[derive(Debug)]
pub(super) struct Pipelines {
    pub(super) tracer: Option<SdkTracerProvider>,
    pub(super) logger: Option<SdkLoggerProvider>,
    pub(super) meter: SdkMeterProvider,
}

macro_rules! exporter {
    ($exporter:ty, $to:expr) => {{
        let builder = <$exporter>::builder().with_tonic();
        let builder = match &$to.endpoint {
            Some(endpoint) => builder.with_endpoint(endpoint.clone()),
            None => builder,
        };
        let builder = match $to.tls()? {
            Some(tls) => builder.with_tls_config(tls),
            None => builder,
        };
        builder.build().map_err(|error| unusable(&error.to_string()))?
    }};
}

impl Pipelines {
    /// Builds the pipelines. Must run inside a tokio runtime, on which connections live; connects to nothing yet.
    pub(super) fn build(
        options: &TelemetryOptions,
        role: &str,
        to: &Destinations,
        scrape: &PrometheusText,
    ) -> Result<Self, Problem> {
        let resource = resource(options, role);
        let tracer = if to.traces { Some(traces(options, to, &resource)?) } else { None };
        let logger = if to.logs {
            let builder = SdkLoggerProvider::builder().with_batch_exporter(exporter!(LogExporter, to));
            Some(builder.with_resource(resource.clone()).build())
        } else {
            None
        };
        Ok(Self { tracer, logger, meter: metrics(options, to, &resource, scrape)? })
    }

    /// Sends what is left, each signal beside the others, and ends.
    pub(super) fn shutdown(self, timeout: Duration) {
        // A signal that could not be sent in time is lost; whoever waits says so.
        std::thread::scope(|scope| {
            scope.spawn(|| self.tracer.as_ref().map(|tracer| tracer.shutdown_with_timeout(timeout)));
            scope.spawn(|| self.logger.as_ref().map(|logger| logger.shutdown_with_timeout(timeout)));
            scope.spawn(|| self.meter.shutdown_with_timeout(timeout));
        });
    }
}

fn unusable(error: &str) -> Problem {
    Problem::new(Code::INVALID_CONFIG, format!("telemetry.otlp_endpoint cannot be used: {error}"))
}

fn resource(options: &TelemetryOptions, role: &str) -> Resource {
    let mut builder =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let from_environment = ["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"].iter().any(|name| {
        std::env::var(name).is_ok_and(|text| *name == "OTEL_SERVICE_NAME" || text.contains("service.name="))
    });
    if !options.service_name.is_empty() {
        builder = builder.with_service_name(options.service_name.clone());
    } else if !from_environment {
        builder = builder.with_service_name(format!("groundline-{role}"));
    }
    builder.build()
}

fn traces(
    options: &TelemetryOptions,
    to: &Destinations,
    resource: &Resource,
) -> Result<SdkTracerProvider, Problem> {
    let mut builder = SdkTracerProvider::builder().with_batch_exporter(exporter!(SpanExporter, to));
    // The SDK reads that variable itself.
    if std::env::var_os("OTEL_TRACES_SAMPLER").is_none() {
        let ratio = Sampler::TraceIdRatioBased(options.sample_ratio);
        builder = builder.with_sampler(Sampler::ParentBased(Box::new(ratio)));
    }
    Ok(builder.with_resource(resource.clone()).build())
}

fn metrics(
    options: &TelemetryOptions,
    to: &Destinations,
    resource: &Resource,
    scrape: &PrometheusText,
) -> Result<SdkMeterProvider, Problem> {
    // Names are exported as the inventory has them, suffixes included.
    let exporter = opentelemetry_prometheus::exporter()
        .with_registry(scrape.registry().clone())
        .without_units()
        .without_counter_suffixes()
        .without_target_info()
        .scope_info_enabled(false)
        .build()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("no metrics for Prometheus: {error}")))?;
    let mut builder = SdkMeterProvider::builder().with_reader(exporter).with_resource(resource.clone());
    if to.metrics {
        let mut reader = PeriodicReader::builder(exporter!(MetricExporter, to));
        if options.metrics_interval_ms > 0 {
            reader = reader.with_interval(Duration::from_millis(options.metrics_interval_ms));
        }
        builder = builder.with_reader(reader.build());
    }
    Ok(builder.build())
}

#[cfg(test)]
mod tests;
