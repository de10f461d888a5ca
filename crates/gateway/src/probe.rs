//! What the health routes ask, whatever the process does.

use crate::app::App;
use axum::extract::FromRef;
use groundline::{Checker, ComponentHealth, NotReady, Remark};
use groundline_telemetry::PrometheusText;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Components = dyn Fn() -> BTreeMap<&'static str, ComponentHealth> + Send + Sync;
type Readiness = dyn Fn() -> Vec<NotReady> + Send + Sync;

/// Asks a process how its parts are and whether it is ready. Clones ask the same.
#[derive(Clone)]
pub struct Probe {
    components: Arc<Components>,
    readiness: Arc<Readiness>,
    remarks: Arc<[Remark]>,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Probe")
    }
}

impl Probe {
    /// A probe from two questions: how each part is, by name, and what keeps the process from taking work (empty: nothing). Both
    /// are asked with every request of a health route, so they must be quick.
    pub fn new(
        components: impl Fn() -> BTreeMap<&'static str, ComponentHealth> + Send + Sync + 'static,
        readiness: impl Fn() -> Vec<NotReady> + Send + Sync + 'static,
    ) -> Self {
        Self { components: Arc::new(components), readiness: Arc::new(readiness), remarks: Arc::default() }
    }

    /// The same, with what `/readyz` says besides.
    #[must_use]
    pub fn noting(self, remarks: Vec<Remark>) -> Self {
        Self { remarks: remarks.into(), ..self }
    }

    /// A probe of a checker.
    pub fn of(checker: &Checker) -> Self {
        let (first, second) = (checker.clone(), checker.clone());
        Self::new(move || first.components(), move || second.readiness()).noting(checker.remarks())
    }

    pub(crate) fn components(&self) -> BTreeMap<&'static str, ComponentHealth> {
        (self.components)()
    }

    pub(crate) fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    pub(crate) fn readiness(&self) -> Vec<NotReady> {
        (self.readiness)()
    }
}

/// What the health routes share. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct HealthState {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    probe: Probe,
    scrape: Option<PrometheusText>,
    has_been_ready: AtomicBool,
    draining: AtomicBool,
}

impl HealthState {
    pub(crate) fn new(probe: Probe, scrape: Option<PrometheusText>) -> Self {
        let off = AtomicBool::default;
        Self { inner: Arc::new(Inner { probe, scrape, has_been_ready: off(), draining: off() }) }
    }

    pub(crate) fn probe(&self) -> &Probe {
        &self.inner.probe
    }

    /// Every metric as text, where metrics are collected.
    pub(crate) fn metrics(&self) -> Option<String> {
        self.inner.scrape.as_ref().map(PrometheusText::text)
    }

    /// Whether it is not ready any more because it is about to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.inner.draining.load(Ordering::Acquire)
    }

    /// From now on it is not ready.
    pub(crate) fn begin_draining(&self) {
        self.inner.draining.store(true, Ordering::Release);
    }

    /// Whether it was ready once: from then on it counts as started.
    pub(crate) fn has_been_ready(&self, is_ready: bool) -> bool {
        self.inner.has_been_ready.fetch_or(is_ready, Ordering::AcqRel) || is_ready
    }
}

impl FromRef<App> for HealthState {
    fn from_ref(app: &App) -> Self {
        app.health().clone()
    }
}
