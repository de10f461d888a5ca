//! Which log lines are shown and exported, and how they become OTLP log records.

use crate::EVALUATION_TARGET;
use groundline_types::{Code, Problem};
use opentelemetry::logs::{AnyValue, LogRecord, Logger, LoggerProvider, Severity};
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLogger, SdkLoggerProvider};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::layer::{Context, Filter, Layer};

/// What Groundline's own targets begin with.
const OWN: &str = "groundline";

fn is_own(metadata: &Metadata<'_>) -> bool {
    metadata.target().strip_prefix(OWN).is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', ':']))
}

fn parse(directives: &str) -> Result<EnvFilter, Problem> {
    EnvFilter::builder().parse(directives).map_err(|error| {
        Problem::new(
            Code::INVALID_CONFIG,
            format!("telemetry.log_filter: {error}; try `info` or `info,groundline_worker=debug`"),
        )
    })
}

/// What is shown on standard error. Foreign code shows nothing below `info`: at `trace`, network libraries print what they send,
/// which is text of users. Evaluation events are for the collector; naming their target shows them too.
pub(super) fn shown<S: Subscriber>(directives: &str) -> Result<impl Filter<S> + use<S>, Problem> {
    let events = directives.contains(EVALUATION_TARGET);
    let allowed = filter_fn(move |metadata| {
        let is_wanted = events || metadata.target() != EVALUATION_TARGET;
        is_wanted && (is_own(metadata) || *metadata.level() <= Level::INFO)
    });
    Ok(parse(directives)?.and(allowed))
}

/// What is exported: the same of Groundline's own, and every evaluation event. Foreign lines stay here, also because the exporter's
/// own would make more of themselves.
pub(super) fn exported<S: Subscriber>(directives: &str) -> Result<impl Filter<S> + use<S>, Problem> {
    let own = filter_fn(is_own);
    Ok(parse(&format!("{directives},{EVALUATION_TARGET}=info"))?.and(own))
}

/// Sends log lines as OTLP log records.
pub(super) struct OtlpLogs {
    logger: SdkLogger,
}

impl OtlpLogs {
    pub(super) fn new(provider: &SdkLoggerProvider) -> Self {
        Self { logger: provider.logger(OWN) }
    }
}

impl<S: Subscriber> Layer<S> for OtlpLogs {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut record = self.logger.create_log_record();
        let (severity, text) = severity(*metadata.level());
        record.set_severity_number(severity);
        record.set_severity_text(text);
        record.set_target(metadata.target());
        if metadata.target() == EVALUATION_TARGET {
            record.set_event_name(metadata.name());
        }
        event.record(&mut Fields(&mut record));
        // The trace is that of OpenTelemetry's current span, which the logger looks up itself.
        self.logger.emit(record);
    }
}

fn severity(level: Level) -> (Severity, &'static str) {
    match level {
        Level::ERROR => (Severity::Error, "ERROR"),
        Level::WARN => (Severity::Warn, "WARN"),
        Level::INFO => (Severity::Info, "INFO"),
        Level::DEBUG => (Severity::Debug, "DEBUG"),
        Level::TRACE => (Severity::Trace, "TRACE"),
    }
}

/// Fields of a line as attributes of its record.
struct Fields<'a>(&'a mut SdkLogRecord);

impl Fields<'_> {
    fn add(&mut self, field: &Field, value: AnyValue) {
        if field.name() == "message" {
            self.0.set_body(value);
        } else {
            self.0.add_attribute(field.name(), value);
        }
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, i64::try_from(value).map_or_else(|_| value.to_string().into(), AnyValue::Int));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned().into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.add(field, format!("{value:?}").into());
    }
}
