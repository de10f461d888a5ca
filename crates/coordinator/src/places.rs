//! How the places for checks are shared between tenants: pure.

use groundline_bus::SubjectToken;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Share of the places that one tenant may take while there are others, in percent: a flood leaves the rest.
const SHARE_PERCENT: usize = 75;
/// How long a tenant counts as one of the others after it has asked.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// How often those who have gone are forgotten.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Who has how many places.
#[derive(Debug)]
pub(crate) struct Places {
    limit: usize,
    tenants: BTreeMap<SubjectToken, Tenant>,
    swept_at: Instant,
}

#[derive(Debug)]
struct Tenant {
    running: usize,
    asked_at: Instant,
}

impl Places {
    /// So many places, all free.
    pub(crate) fn new(limit: usize, now: Instant) -> Self {
        Self { limit, tenants: BTreeMap::new(), swept_at: now }
    }

    /// Whether a tenant that asks now may take a place, where there is one. Alone it may take all.
    pub(crate) fn may_take(&mut self, tenant: &SubjectToken, now: Instant) -> bool {
        if now.saturating_duration_since(self.swept_at) >= SWEEP_EVERY {
            self.swept_at = now;
            let is_here = |tenant: &Tenant| {
                tenant.running > 0 || now.saturating_duration_since(tenant.asked_at) < REMEMBERED_FOR
            };
            self.tenants.retain(|_, tenant| is_here(tenant));
        }
        let own = match self.tenants.get_mut(tenant) {
            Some(own) => own,
            None => self.tenants.entry(tenant.clone()).or_insert(Tenant { running: 0, asked_at: now }),
        };
        own.asked_at = now;
        let running = own.running;
        let share = (self.limit * SHARE_PERCENT / 100).max(1);
        self.tenants.len() == 1 || running < share
    }

    /// The tenant has taken a place.
    pub(crate) fn take(&mut self, tenant: &SubjectToken) {
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.running += 1;
        }
    }

    /// The tenant has left a place.
    pub(crate) fn leave(&mut self, tenant: &SubjectToken) {
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.running = tenant.running.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tenant_alone_may_take_every_place_and_leaves_a_quarter_where_there_are_others() {
        let (now, one, other) =
            (Instant::now(), SubjectToken::from_name("one"), SubjectToken::from_name("other"));
        let mut places = Places::new(8, now);
        for _ in 0..8 {
            assert!(places.may_take(&one, now));
            places.take(&one);
        }
        assert!(places.may_take(&other, now), "the other one has none yet");
        places.leave(&one);
        assert!(!places.may_take(&one, now), "7 of 8");
        places.leave(&one);
        places.leave(&one);
        assert!(places.may_take(&one, now), "5 of 8");
        places.take(&one);
        let later = now + REMEMBERED_FOR + SWEEP_EVERY;
        assert!(places.may_take(&one, later), "the other one has not asked for long");
    }

    #[tokio::test(start_paused = true)]
    async fn one_place_goes_to_anybody() {
        let now = Instant::now();
        let mut places = Places::new(1, now);
        for name in ["one", "other"] {
            let tenant = SubjectToken::from_name(name);
            assert!(places.may_take(&tenant, now));
            places.take(&tenant);
            places.leave(&tenant);
        }
    }
}
