//! Traces, metrics and logs: one inventory of names, and the exporters behind the feature `export`.
//!
//! Whatever a part of Groundline tells the outside is declared here: metrics in [`INVENTORY`], spans in [`SpanName`], their
//! attributes in [`SpanKey`]. `docs/telemetry.md` is generated from these lists. Recording goes through the typed functions of
//! [`record`] and through [`ActiveSpan`], which take names from lists, numbers and stable codes, so that no text of a user fits.
//!
//! Until [`install`] is called, recording does nothing and costs one atomic load: the library and `groundline check` never call
//! it. A process that exports calls `Telemetry::start` (feature `export`), which does.
//!
//! Invariant of absence: this crate knows nothing of checks, jobs or engines.

#![forbid(unsafe_code)]

mod document;
mod evaluation;
#[cfg(feature = "export")]
mod export;
mod instruments;
mod inventory;
mod labels;
mod options;
pub mod record;
mod span;
mod tenant;
#[cfg(feature = "testing")]
pub mod testing;
mod traceparent;

pub use document::reference_page;
pub use evaluation::{EVALUATION_EVENT, EVALUATION_TARGET, Evaluation, EvaluationLabel};
#[cfg(feature = "export")]
pub use export::{PrometheusText, Telemetry, TelemetryGuard};
pub use instruments::{INVENTORY, install};
pub use inventory::{Label, LabelValues, Metric, MetricKind};
pub use labels::{
    AdmissionRefusal, CheckEnd, CloseReason, DeliveryFate, GatewayRefusal, ItemKind, JudgeEnd, JudgeTask,
    PublishEnd, Route, SentenceEnd, TokenKind,
};
pub use options::{LogFormat, TelemetryOptions};
pub use span::{ActiveSpan, Entered, Parent, SpanKey, SpanName, SpanValue, current_traceparent, in_span};
pub use span::{link_span, parent_from};
