//! What every handler shares.

use crate::admit::Gate;
use crate::auth::Authenticator;
use groundline::{AsyncChecks, Checker, GatewayConfig};
use groundline_telemetry::PrometheusText;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What every handler shares. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct App {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parts: AppParts,
    has_been_ready: AtomicBool,
    draining: AtomicBool,
    refusing: AtomicBool,
    openapi: String,
}

/// What an [`App`] is made of.
#[derive(Debug)]
pub(crate) struct AppParts {
    pub(crate) checker: Checker,
    pub(crate) async_checks: Option<AsyncChecks>,
    pub(crate) scrape: Option<PrometheusText>,
    pub(crate) config: GatewayConfig,
    pub(crate) auth: Arc<Authenticator>,
    pub(crate) gate: Gate,
}

impl App {
    pub(crate) fn new(parts: AppParts) -> Self {
        let off = AtomicBool::default;
        let openapi = crate::openapi::document();
        let inner = Inner { parts, has_been_ready: off(), draining: off(), refusing: off(), openapi };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn checker(&self) -> &Checker {
        &self.inner.parts.checker
    }

    pub(crate) fn async_checks(&self) -> Option<&AsyncChecks> {
        self.inner.parts.async_checks.as_ref()
    }

    /// Every metric as text, where metrics are collected.
    pub(crate) fn metrics(&self) -> Option<String> {
        self.inner.parts.scrape.as_ref().map(PrometheusText::text)
    }

    pub(crate) fn config(&self) -> &GatewayConfig {
        &self.inner.parts.config
    }

    pub(crate) fn auth(&self) -> &Authenticator {
        &self.inner.parts.auth
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.inner.parts.gate
    }

    pub(crate) fn openapi(&self) -> &str {
        &self.inner.openapi
    }

    /// Whether it is not ready any more because it is about to stop. It goes on serving for a while.
    pub(crate) fn is_draining(&self) -> bool {
        self.inner.draining.load(Ordering::Acquire)
    }

    /// Whether it takes no further request.
    pub(crate) fn refuses(&self) -> bool {
        self.inner.refusing.load(Ordering::Acquire)
    }

    /// From now on it is not ready.
    pub(crate) fn begin_draining(&self) {
        self.inner.draining.store(true, Ordering::Release);
    }

    /// From now on it takes no further request.
    pub(crate) fn begin_refusing(&self) {
        self.inner.refusing.store(true, Ordering::Release);
    }

    /// Whether it was ready once: from then on it counts as started.
    pub(crate) fn has_been_ready(&self, is_ready: bool) -> bool {
        self.inner.has_been_ready.fetch_or(is_ready, Ordering::AcqRel) || is_ready
    }
}
