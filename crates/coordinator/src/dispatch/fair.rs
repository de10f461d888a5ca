//! Whose job is next: pure.

use groundline_bus::{SubjectToken, TARGET_JOB_TOKENS};
use groundline_types::Lane;
use std::collections::{BTreeMap, VecDeque};

/// What a tenant may send in one turn: a check of some sentences. Who comes next waits for no more than this of each other tenant.
const QUANTUM_TOKENS: usize = 4096;
/// Bulk's turn comes for so many tokens: those of the largest usual job, so that each counts in full.
const BULK_TURN_TOKENS: usize = TARGET_JOB_TOKENS;
/// A token of bulk is due for this many tokens of online work while both wait: bulk keeps a tenth.
const ONLINE_PER_BULK: usize = 9;

/// Deficit round robin over tenants, in tokens (Shreedhar and Varghese 1995, "Efficient Fair Queueing using Deficit Round
/// Robin"): who asks for much waits for itself. A tenant that had nothing waiting has its first turn before everybody else, as
/// sparse flows have in RFC 8290 (FQ-CoDel); one that keeps coming back has to sit out its place in the round in between.
#[derive(Debug)]
struct RoundRobin<T> {
    /// Tenants with a turn to come, or an empty place in the round.
    tenants: BTreeMap<SubjectToken, Tenant<T>>,
    /// Those that come first.
    fresh: VecDeque<SubjectToken>,
    turns: VecDeque<SubjectToken>,
    waiting: usize,
}

#[derive(Debug)]
struct Tenant<T> {
    jobs: VecDeque<(usize, T)>,
    deficit: usize,
}

impl<T> RoundRobin<T> {
    fn push(&mut self, tenant: SubjectToken, cost: usize, job: T) {
        let entry = self.tenants.entry(tenant.clone()).or_insert_with(|| {
            self.fresh.push_back(tenant);
            Tenant { jobs: VecDeque::new(), deficit: QUANTUM_TOKENS }
        });
        entry.jobs.push_back((cost, job));
        self.waiting += 1;
    }

    /// Undoes a pop.
    fn give_back(&mut self, tenant: SubjectToken, cost: usize, job: T) {
        let entry = self.tenants.entry(tenant.clone()).or_insert_with(|| {
            self.fresh.push_front(tenant);
            Tenant { jobs: VecDeque::new(), deficit: 0 }
        });
        entry.jobs.push_front((cost, job));
        entry.deficit += cost;
        self.waiting += 1;
    }

    fn pop(&mut self) -> Option<(usize, T)> {
        loop {
            let is_fresh = !self.fresh.is_empty();
            let name = if is_fresh { self.fresh.front() } else { self.turns.front() }?;
            if let Some(tenant) = self.tenants.get_mut(name)
                && let Some(&(cost, _)) = tenant.jobs.front()
                && cost <= tenant.deficit
                && let Some(job) = tenant.jobs.pop_front()
            {
                tenant.deficit -= cost;
                self.waiting -= 1;
                return Some(job);
            }
            self.end_turn(is_fresh);
        }
    }

    /// The first in the order cannot send, or not now.
    fn end_turn(&mut self, is_fresh: bool) {
        let Some(name) = (if is_fresh { self.fresh.pop_front() } else { self.turns.pop_front() }) else {
            return;
        };
        let Some(tenant) = self.tenants.get_mut(&name) else { return };
        if !tenant.jobs.is_empty() {
            tenant.deficit += QUANTUM_TOKENS;
            self.turns.push_back(name);
        } else if is_fresh {
            self.turns.push_back(name);
        } else {
            // A tenant that has nothing to send saves up nothing.
            self.tenants.remove(&name);
        }
    }

    fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for tenant in self.tenants.values_mut() {
            tenant.jobs.retain(|(_, job)| keep(job));
        }
        self.waiting = self.tenants.values().map(|tenant| tenant.jobs.len()).sum();
    }
}

impl<T> Default for RoundRobin<T> {
    fn default() -> Self {
        Self { tenants: BTreeMap::new(), fresh: VecDeque::new(), turns: VecDeque::new(), waiting: 0 }
    }
}

/// Jobs that wait, online before bulk, with a share for bulk, and fair between tenants in each.
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    online: RoundRobin<T>,
    bulk: RoundRobin<T>,
    /// Online tokens sent while bulk waited, less what bulk got for them.
    online_ahead: usize,
    /// The same before the last job was taken.
    ahead_before: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { online: RoundRobin::default(), bulk: RoundRobin::default(), online_ahead: 0, ahead_before: 0 }
    }
}

impl<T> FairQueue<T> {
    pub(super) fn push(&mut self, lane: Lane, tenant: SubjectToken, cost: usize, job: T) {
        let lane = match lane {
            Lane::Online => &mut self.online,
            Lane::Bulk => &mut self.bulk,
        };
        lane.push(tenant, cost, job);
    }

    /// The next job and its cost.
    pub(super) fn pop(&mut self) -> Option<(usize, T)> {
        self.ahead_before = self.online_ahead;
        let bulk_waits = !self.bulk.is_empty();
        let bulk_is_due = bulk_waits && self.online_ahead >= ONLINE_PER_BULK * BULK_TURN_TOKENS;
        let online = if bulk_is_due { None } else { self.online.pop() };
        if let Some((cost, job)) = online {
            self.online_ahead = if bulk_waits { self.online_ahead + cost } else { 0 };
            return Some((cost, job));
        }
        let (cost, job) = self.bulk.pop()?;
        self.online_ahead = self.online_ahead.saturating_sub(cost * ONLINE_PER_BULK);
        Some((cost, job))
    }

    /// Puts the job that came last back to where it was.
    pub(super) fn give_back(&mut self, lane: Lane, tenant: SubjectToken, cost: usize, job: T) {
        match lane {
            Lane::Online => self.online.give_back(tenant, cost, job),
            Lane::Bulk => self.bulk.give_back(tenant, cost, job),
        }
        self.online_ahead = self.ahead_before;
    }

    /// Drops the jobs that are not to be kept.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.online.retain(&mut keep);
        self.bulk.retain(keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LARGEST_TOKENS: usize = 9000;

    fn tenant(number: usize) -> SubjectToken {
        SubjectToken::from_name(&format!("tenant-{number}"))
    }

    #[test]
    fn a_flood_of_one_tenant_does_not_hold_up_another() {
        let mut queue = FairQueue::default();
        for number in 0..100 {
            queue.push(Lane::Online, tenant(1), 4000, (1, number));
        }
        queue.push(Lane::Online, tenant(2), 4000, (2, 0));
        let place = std::iter::from_fn(|| queue.pop()).position(|(_, (tenant, _))| tenant == 2);
        assert!(place.unwrap() <= 2, "{place:?}");
    }

    #[test]
    fn a_tenant_that_had_nothing_waiting_is_next_but_not_every_time() {
        let mut queue = FairQueue::default();
        for _ in 0..100 {
            queue.push(Lane::Online, tenant(1), 2000, 1);
        }
        let mut sent = [0_usize, 0];
        for _ in 0..60 {
            queue.push(Lane::Online, tenant(2), 2000, 2);
            let (_, next) = queue.pop().unwrap();
            sent[next - 1] += 1;
            if sent[1] == 0 {
                assert!(sent[0] <= 2, "the flood goes on: {sent:?}");
            }
        }
        assert!(sent[0].abs_diff(sent[1]) <= 4, "one that keeps asking gets its share and no more: {sent:?}");
    }

    #[test]
    fn a_job_that_is_given_back_comes_again_unless_online_work_came_meanwhile() {
        let mut queue = FairQueue::default();
        for number in 0..3 {
            queue.push(Lane::Bulk, tenant(1), 1000, (Lane::Bulk, number));
        }
        let (cost, job) = queue.pop().unwrap();
        queue.give_back(Lane::Bulk, tenant(1), cost, job);
        queue.push(Lane::Online, tenant(2), 1000, (Lane::Online, 0));
        let order = std::iter::from_fn(|| queue.pop()).map(|(_, job)| job).collect::<Vec<_>>();
        assert_eq!(order, [(Lane::Online, 0), (Lane::Bulk, 0), (Lane::Bulk, 1), (Lane::Bulk, 2)]);
        assert!(queue.pop().is_none());
    }

    #[test]
    fn bulk_gets_a_tenth_while_online_waits_and_everything_else_alone() {
        let mut queue = FairQueue::default();
        for _ in 0..300 {
            queue.push(Lane::Online, tenant(1), 4000, Lane::Online);
            queue.push(Lane::Bulk, tenant(2), 4000, Lane::Bulk);
        }
        let order = std::iter::from_fn(|| queue.pop()).map(|(_, lane)| lane).collect::<Vec<_>>();
        let bulk = order[..300].iter().filter(|lane| **lane == Lane::Bulk).count();
        assert!((25..=31).contains(&bulk), "{bulk} of 300");
        assert_eq!(order.len(), 600);
    }

    proptest! {
        #[test]
        fn every_job_comes_out_once_in_its_tenants_order_and_shares_are_fair(
            jobs in prop::collection::vec((0_usize..4, 1..LARGEST_TOKENS), 1..150),
        ) {
            let mut queue = FairQueue::default();
            for (number, (owner, cost)) in jobs.iter().enumerate() {
                queue.push(Lane::Online, tenant(*owner), *cost, (*owner, number));
            }
            let mut last: BTreeMap<usize, usize> = BTreeMap::new();
            let mut served = [0_usize; 4];
            let mut left = [0_usize; 4];
            for (owner, _) in &jobs { left[*owner] += 1; }
            let mut count = 0;
            while let Some((cost, (owner, number))) = queue.pop() {
                count += 1;
                prop_assert!(last.insert(owner, number).is_none_or(|before| before < number));
                served[owner] += cost;
                left[owner] -= 1;
                if left.iter().all(|left| *left > 0) {
                    let spread = served.iter().max().unwrap() - served.iter().min().unwrap();
                    prop_assert!(spread <= QUANTUM_TOKENS + 2 * LARGEST_TOKENS, "shares differ by {} tokens", spread);
                }
            }
            prop_assert_eq!(count, jobs.len());
        }
    }
}
