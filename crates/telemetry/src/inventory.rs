//! What a metric is, as the inventory lists it.

/// What a metric counts, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// A number at the moment.
    Gauge,
    /// Counts of values in buckets.
    Histogram,
}

impl MetricKind {
    /// As Prometheus calls it.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

/// Which values a label may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelValues {
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A stable code such as `GL3002`; there are a few dozen.
    Code,
    /// A tenant: the first `telemetry.tenant_labels` of them by name, all others together as `other`.
    Tenant,
}

/// A label of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: LabelValues,
}

/// One metric. Its name is the same for Prometheus and over OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name, with the unit as suffix and `_total` for counters.
    pub name: &'static str,
    /// What it counts.
    pub kind: MetricKind,
    /// The unit in UCUM's notation: `s`, or a thing in braces.
    pub unit: &'static str,
    /// What it means.
    pub help: &'static str,
    /// Its labels.
    pub labels: &'static [Label],
}
