//! The queue itself: pure, time comes in with each call.

use super::MemoryBusOptions;
use crate::clock::wall_clock_ms;
use crate::{
    CheckId, DeadJob, Decision, Job, JobId, LaneId, MAX_JOB_BYTES, PublishError, Published, PullBudget,
    SubjectToken,
};
use groundline_types::{Code, Reason};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// One delivery of one stored job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    sequence: u64,
    handed_out: u64,
}

/// A job given to a worker.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) ticket: Ticket,
    pub(super) job: Arc<Job>,
    pub(super) delivered: u32,
    pub(super) waited: Duration,
    pub(super) ack_wait: Duration,
}

#[derive(Debug)]
struct Stored {
    job: Arc<Job>,
    stored_at: Instant,
    /// How often it was given to a worker, which names the last time; it only grows.
    handed_out: u64,
    /// The same without the times that it was handed back.
    delivered: u32,
    /// Nobody wants its answer: it is not delivered again.
    is_cancelled: bool,
    history: Vec<String>,
    place: Place,
}

/// Where a stored job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Ready,
    /// Comes back by itself at this time.
    Delayed(Instant),
    /// Comes back at this time unless decided.
    InHands(Instant),
}

#[derive(Debug, Default)]
struct LaneQueue {
    ready: VecDeque<u64>,
    due: BTreeSet<(Instant, u64)>,
}

#[derive(Debug)]
pub(super) struct Queue {
    options: MemoryBusOptions,
    next_sequence: u64,
    stored: BTreeMap<u64, Stored>,
    by_id: BTreeMap<JobId, u64>,
    lanes: BTreeMap<LaneId, LaneQueue>,
    per_tenant: BTreeMap<(LaneId, SubjectToken), usize>,
    seen: HashSet<(JobId, u32)>,
    seen_order: VecDeque<(Instant, (JobId, u32))>,
    dead: BTreeMap<u64, DeadJob>,
    next_dead: u64,
    dead_bytes: usize,
}

impl Queue {
    pub(super) fn new(options: MemoryBusOptions) -> Self {
        Self {
            options,
            next_sequence: 0,
            stored: BTreeMap::new(),
            by_id: BTreeMap::new(),
            lanes: BTreeMap::new(),
            per_tenant: BTreeMap::new(),
            seen: HashSet::new(),
            seen_order: VecDeque::new(),
            dead: BTreeMap::new(),
            next_dead: 1,
            dead_bytes: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    /// Dead jobs with a number above `after`, oldest first.
    pub(super) fn dead(&self, after: u64) -> impl Iterator<Item = &DeadJob> {
        self.dead.range((Bound::Excluded(after), Bound::Unbounded)).map(|(_, dead)| dead)
    }

    pub(super) fn remove_dead(&mut self, sequence: u64) -> Option<DeadJob> {
        let dead = self.dead.remove(&sequence)?;
        self.dead_bytes -= bytes_of(&dead);
        Some(dead)
    }

    pub(super) fn publish(&mut self, job: Job, now: Instant) -> Result<Published, PublishError> {
        let size_bytes = job.size_bytes();
        if size_bytes > MAX_JOB_BYTES {
            return Err(PublishError::TooLarge { size_bytes, limit_bytes: MAX_JOB_BYTES });
        }
        self.forget_seen(now);
        let name = (job.id, job.attempt);
        if self.by_id.contains_key(&job.id) || self.seen.contains(&name) {
            return Ok(Published::Duplicate);
        }
        let waiting = self.per_tenant.entry((job.lane.clone(), job.tenant.clone())).or_default();
        if *waiting >= self.options.max_jobs_per_tenant {
            return Err(PublishError::TenantFull { waiting: *waiting });
        }
        *waiting += 1;
        self.seen.insert(name);
        self.seen_order.push_back((now, name));
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.lanes.entry(job.lane.clone()).or_default().ready.push_back(sequence);
        self.by_id.insert(job.id, sequence);
        let stored = Stored {
            job: Arc::new(job),
            stored_at: now,
            handed_out: 0,
            delivered: 0,
            is_cancelled: false,
            history: Vec::new(),
            place: Place::Ready,
        };
        self.stored.insert(sequence, stored);
        Ok(Published::Stored)
    }

    fn forget_seen(&mut self, now: Instant) {
        while let Some((at, name)) = self.seen_order.front().copied() {
            if at + self.options.duplicate_window > now {
                break;
            }
            self.seen.remove(&name);
            self.seen_order.pop_front();
        }
    }

    /// Takes out the waiting jobs of a check and names them. Those in hands go when they are decided, or come back.
    pub(super) fn cancel(&mut self, check: CheckId) -> Vec<JobId> {
        let first = JobId { reply_to: check.reply_to, check: check.check, serial: 0 };
        let last = JobId { serial: u32::MAX, ..first };
        let jobs = self.by_id.range(first..=last).map(|(id, sequence)| (*id, *sequence)).collect::<Vec<_>>();
        let mut purged = Vec::new();
        for (id, sequence) in jobs {
            match self.stored.get_mut(&sequence) {
                Some(stored) if matches!(stored.place, Place::InHands(_)) => stored.is_cancelled = true,
                _ => {
                    self.remove(sequence);
                    purged.push(id);
                }
            }
        }
        purged
    }

    /// When a job of this lane comes back by itself next.
    pub(super) fn next_due(&self, lane: &LaneId) -> Option<Instant> {
        self.lanes.get(lane)?.due.first().map(|(at, _)| *at)
    }

    pub(super) fn take(&mut self, from: &LaneId, budget: PullBudget, now: Instant) -> Vec<Taken> {
        self.bring_back(from, now);
        let ack_wait = self.options.ack_wait(from.lane);
        let (mut taken, mut tokens) = (Vec::new(), 0);
        while taken.len() < budget.max_jobs {
            let Some(lane) = self.lanes.get_mut(from) else { break };
            let Some(&sequence) = lane.ready.front() else { break };
            let Some(stored) = self.stored.get_mut(&sequence) else {
                // Acknowledged by its last holder after it had come back, or cancelled.
                lane.ready.pop_front();
                continue;
            };
            let with_this = tokens + stored.job.estimated_tokens;
            if !taken.is_empty() && with_this > budget.max_tokens {
                break;
            }
            lane.ready.pop_front();
            if stored.is_cancelled {
                self.remove(sequence);
                continue;
            }
            if stored.delivered >= self.options.max_deliver {
                self.bury(
                    sequence,
                    Reason::new(Code::JOB_DEAD, "the job was delivered as often as is allowed"),
                );
                continue;
            }
            tokens = with_this;
            stored.delivered += 1;
            stored.handed_out += 1;
            stored.place = Place::InHands(now + ack_wait);
            lane.due.insert((now + ack_wait, sequence));
            taken.push(Taken {
                ticket: Ticket { sequence, handed_out: stored.handed_out },
                job: Arc::clone(&stored.job),
                delivered: stored.delivered,
                waited: now - stored.stored_at,
                ack_wait,
            });
        }
        taken
    }

    /// Makes everything ready whose time has come. Redeliveries go first: they have waited longest.
    fn bring_back(&mut self, from: &LaneId, now: Instant) {
        let Some(lane) = self.lanes.get_mut(from) else { return };
        let mut back = Vec::new();
        while let Some(&(at, sequence)) = lane.due.first() {
            if at > now {
                break;
            }
            lane.due.pop_first();
            let Some(stored) = self.stored.get_mut(&sequence) else { continue };
            if let Place::InHands(_) = stored.place {
                stored.history.push(format!("delivery {}: no decision in time", stored.delivered));
            }
            stored.place = Place::Ready;
            back.push(sequence);
        }
        for sequence in back.into_iter().rev() {
            lane.ready.push_front(sequence);
        }
    }

    /// Applies a decision, unless the job was given to someone else since.
    pub(super) fn decide(&mut self, ticket: Ticket, decision: Decision, now: Instant) {
        let sequence = ticket.sequence;
        let Some(stored) = self.stored.get_mut(&sequence) else { return };
        if stored.handed_out != ticket.handed_out {
            return;
        }
        let lane = self.lanes.entry(stored.job.lane.clone()).or_default();
        match decision {
            Decision::Ack => {
                self.remove(sequence);
            }
            Decision::Reject(reason) => {
                stored.history.push(format!("delivery {}: rejected", stored.delivered));
                self.bury(sequence, reason);
            }
            Decision::Extend => {
                if let Place::InHands(until) = stored.place {
                    lane.due.remove(&(until, sequence));
                    let until = now + self.options.ack_wait(stored.job.lane.lane);
                    lane.due.insert((until, sequence));
                    stored.place = Place::InHands(until);
                }
            }
            Decision::Retry { after } => {
                if let Place::InHands(until) = stored.place {
                    lane.due.remove(&(until, sequence));
                    lane.due.insert((now + after, sequence));
                    stored.place = Place::Delayed(now + after);
                    stored.history.push(format!("delivery {}: retry", stored.delivered));
                }
            }
            Decision::HandBack => {
                if let Place::InHands(until) = stored.place {
                    lane.due.remove(&(until, sequence));
                    lane.due.insert((now, sequence));
                    stored.place = Place::Delayed(now);
                    stored.delivered -= 1;
                }
            }
        }
    }

    fn remove(&mut self, sequence: u64) -> Option<Stored> {
        let stored = self.stored.remove(&sequence)?;
        self.by_id.remove(&stored.job.id);
        if let (Place::InHands(at) | Place::Delayed(at), Some(lane)) =
            (stored.place, self.lanes.get_mut(&stored.job.lane))
        {
            lane.due.remove(&(at, sequence));
        }
        let tenant = (stored.job.lane.clone(), stored.job.tenant.clone());
        if let Some(waiting) = self.per_tenant.get_mut(&tenant) {
            *waiting -= 1;
            if *waiting == 0 {
                self.per_tenant.remove(&tenant);
            }
        }
        Some(stored)
    }

    fn bury(&mut self, sequence: u64, reason: Reason) {
        let Some(stored) = self.remove(sequence) else { return };
        tracing::warn!(job = %stored.job.id, code = %reason.code, "a job is dead");
        groundline_telemetry::record::job_dead(reason.code);
        let dead = DeadJob {
            sequence: self.next_dead,
            lane: stored.job.lane.clone(),
            tenant: stored.job.tenant.clone(),
            job: Some(stored.job),
            reason,
            history: stored.history,
            died_at_ms: wall_clock_ms(),
        };
        self.next_dead += 1;
        self.dead_bytes += bytes_of(&dead);
        self.dead.insert(dead.sequence, dead);
        while (self.dead.len() > self.options.max_dead_jobs || self.dead_bytes > self.options.max_dead_bytes)
            && let Some(oldest) = self.dead.first_key_value().map(|(sequence, _)| *sequence)
        {
            self.remove_dead(oldest);
        }
    }
}

fn bytes_of(dead: &DeadJob) -> usize {
    dead.job.as_ref().map_or(0, |job| job.size_bytes())
}
