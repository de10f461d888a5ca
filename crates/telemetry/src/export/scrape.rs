//! The text that Prometheus reads.

use prometheus::{Encoder, Registry, TextEncoder};

/// Gives every metric in Prometheus' text format. Clones read the same metrics.
#[derive(Debug, Clone, Default)]
pub struct PrometheusText {
    registry: Registry,
}

impl PrometheusText {
    /// The `Content-Type` of the text.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Every metric as it is now, in the order of names.
    pub fn text(&self) -> String {
        let mut bytes = Vec::new();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut bytes) {
            tracing::error!(%error, "metrics could not be written as text");
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
