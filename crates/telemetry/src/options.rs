//! Settings of what leaves the process.

use crate::tenant::DEFAULT_TENANT_LABELS;
use groundline_types::{Code, Problem};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The section `[telemetry]` of the configuration. Units and reasons are in the inventory of options.
///
/// Where an option is empty or 0, the standard `OTEL_*` variable of the same meaning counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryOptions {
    /// What is logged: a level, or directives such as `info,groundline_worker=debug`. `RUST_LOG` wins. Code that is not
    /// Groundline's never logs below `info`: at `trace`, network libraries print what they send.
    pub log_filter: String,
    /// How log lines look on standard error.
    pub log_format: LogFormat,
    /// Where traces, metrics and logs go by OTLP over gRPC, such as `http://collector:4317`. Empty:
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, or nowhere.
    pub otlp_endpoint: String,
    /// PEM file of the authorities that may have signed the certificate of an endpoint at `https://`. Empty:
    /// `OTEL_EXPORTER_OTLP_CERTIFICATE`, or the system's.
    pub otlp_ca_file: PathBuf,
    /// `service.name`. Empty: `OTEL_SERVICE_NAME`, or `groundline` with the role.
    pub service_name: String,
    /// Share of traces that are kept, 0 to 1, where the caller brings no decision of its own.
    pub sample_ratio: f64,
    /// Time between two exports of metrics by OTLP. 0: `OTEL_METRIC_EXPORT_INTERVAL`, or 60 s.
    pub metrics_interval_ms: u64,
    /// Tenants with a label of their own; all others share `other`.
    pub tenant_labels: usize,
    /// How long shutting down waits for what is not yet sent.
    pub flush_timeout_ms: u64,
}

impl Default for TelemetryOptions {
    fn default() -> Self {
        Self {
            log_filter: "info".to_owned(),
            log_format: LogFormat::Text,
            otlp_endpoint: String::new(),
            otlp_ca_file: PathBuf::new(),
            service_name: String::new(),
            sample_ratio: 1.0,
            metrics_interval_ms: 0,
            tenant_labels: DEFAULT_TENANT_LABELS,
            flush_timeout_ms: 3000,
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Most tenants with a label: each is a time series in several metrics.
const MAX_TENANT_LABELS: usize = 1000;

impl TelemetryOptions {
    /// Checks what types cannot.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] naming the option, without the name of the section.
    pub fn validate(&self) -> Result<(), Problem> {
        let refuse = |message: String| Err(Problem::new(Code::INVALID_CONFIG, message));
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return refuse(format!("sample_ratio is {}, it is a share from 0 to 1", self.sample_ratio));
        }
        if self.tenant_labels > MAX_TENANT_LABELS {
            let labels = self.tenant_labels;
            return refuse(format!("tenant_labels is {labels}, at most {MAX_TENANT_LABELS} are kept apart"));
        }
        let endpoint = self.otlp_endpoint.as_str();
        let known = ["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme));
        if !endpoint.is_empty() && !known {
            return refuse("otlp_endpoint begins with neither http:// nor https://".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused_by_name() {
        let refused = |change: fn(&mut TelemetryOptions)| {
            let mut options = TelemetryOptions::default();
            change(&mut options);
            options.validate().unwrap_err().message
        };
        assert!(TelemetryOptions::default().validate().is_ok());
        assert!(refused(|options| options.sample_ratio = 1.5).starts_with("sample_ratio"));
        assert!(refused(|options| options.sample_ratio = f64::NAN).starts_with("sample_ratio"));
        assert!(refused(|options| options.tenant_labels = 100_000).starts_with("tenant_labels"));
        assert!(
            refused(|options| options.otlp_endpoint = "collector:4317".to_owned())
                .starts_with("otlp_endpoint")
        );
    }
}
