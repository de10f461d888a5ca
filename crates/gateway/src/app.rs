//! What every handler shares.

use crate::admit::Gate;
use crate::auth::Authenticator;
use crate::probe::HealthState;
use groundline::{AsyncChecks, Checker, GatewayConfig};
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
    health: HealthState,
    refusing: AtomicBool,
    openapi: String,
}

/// What an [`App`] is made of.
#[derive(Debug)]
pub(crate) struct AppParts {
    pub(crate) checker: Checker,
    pub(crate) async_checks: Option<AsyncChecks>,
    pub(crate) health: HealthState,
    pub(crate) config: GatewayConfig,
    pub(crate) auth: Arc<Authenticator>,
    pub(crate) gate: Gate,
}

impl App {
    pub(crate) fn new(parts: AppParts) -> Self {
        let (openapi, health) = (crate::openapi::document(), parts.health.clone());
        let inner = Inner { parts, health, refusing: AtomicBool::default(), openapi };
        Self { inner: Arc::new(inner) }
    }

    pub(crate) fn checker(&self) -> &Checker {
        &self.inner.parts.checker
    }

    pub(crate) fn async_checks(&self) -> Option<&AsyncChecks> {
        self.inner.parts.async_checks.as_ref()
    }

    pub(crate) fn health(&self) -> &HealthState {
        &self.inner.health
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

    /// Whether it takes no further request.
    pub(crate) fn refuses(&self) -> bool {
        self.inner.refusing.load(Ordering::Acquire)
    }

    /// From now on it is not ready.
    pub(crate) fn begin_draining(&self) {
        self.inner.health.begin_draining();
    }

    /// From now on it takes no further request.
    pub(crate) fn begin_refusing(&self) {
        self.inner.refusing.store(true, Ordering::Release);
    }
}
