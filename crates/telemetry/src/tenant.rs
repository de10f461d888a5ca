//! Tenants as a label: their number has no bound, so only some have their name.

use opentelemetry::StringValue;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, RwLock};

/// The label of tenants beyond those with a name.
pub(crate) const OTHER: &str = "other";
/// Tenants with a label of their own where nothing else is said.
pub(crate) const DEFAULT_TENANT_LABELS: usize = 20;

/// Gives the first tenants their names, and all others one together.
#[derive(Debug)]
pub(crate) struct TenantLabels {
    limit: usize,
    known: RwLock<BTreeMap<Arc<str>, StringValue>>,
}

impl TenantLabels {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, known: RwLock::default() }
    }

    /// The label of a tenant: its own name while there is room.
    pub(crate) fn label(&self, tenant: &str) -> StringValue {
        let other = || StringValue::from(OTHER);
        if let Ok(known) = self.known.read() {
            if let Some(label) = known.get(tenant) {
                return label.clone();
            }
            if known.len() >= self.limit {
                return other();
            }
        }
        let Ok(mut known) = self.known.write() else { return other() };
        if known.len() >= self.limit && !known.contains_key(tenant) {
            return other();
        }
        let name: Arc<str> = tenant.into();
        known.entry(Arc::clone(&name)).or_insert_with(|| StringValue::from(name)).clone()
    }
}

static LABELS: OnceLock<TenantLabels> = OnceLock::new();

/// Sets how many tenants have a label of their own. Only the first call counts.
#[cfg(feature = "export")]
pub(crate) fn set_limit(limit: usize) {
    LABELS.get_or_init(|| TenantLabels::new(limit));
}

/// The label of a tenant in this process.
pub(crate) fn tenant_label(tenant: &str) -> StringValue {
    LABELS.get_or_init(|| TenantLabels::new(DEFAULT_TENANT_LABELS)).label(tenant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_beyond_the_limit_share_one_label_and_early_ones_keep_theirs() {
        let labels = TenantLabels::new(2);
        let label = |name: &str| labels.label(name).as_str().to_owned();
        assert_eq!(
            [label("a"), label("b"), label("c"), label("a"), label("d")],
            ["a", "b", "other", "a", "other"]
        );
    }
}
