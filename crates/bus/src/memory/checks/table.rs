//! Checks and their answers: pure, time comes in with each call.

use super::MemoryCheckQueueOptions;
use crate::{Answer, CheckTicket, Decision, MAX_CHECK_BYTES, Published, SubjectToken};
use groundline_types::{Code, Lane, Problem};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// A check given to a coordinator.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) sequence: u64,
    pub(super) ticket: CheckTicket,
    pub(super) body: Vec<u8>,
    pub(super) delivered: u32,
}

/// A check that waits or runs.
#[derive(Debug)]
struct Stored {
    ticket: CheckTicket,
    body: Vec<u8>,
    delivered: u32,
    /// When it may be given to somebody: the past where it waits, the end of the ack wait where it is in hands.
    ready_at: Instant,
}

#[derive(Debug)]
struct Answered {
    answer: Answer,
    set_at: Instant,
    /// Names its place in the order of expiry.
    serial: u64,
}

type Name = (SubjectToken, String);

#[derive(Debug)]
pub(super) struct Table {
    options: MemoryCheckQueueOptions,
    next_sequence: u64,
    next_serial: u64,
    stored: BTreeMap<u64, Stored>,
    /// Order of delivery: lane, then time, then age.
    order: BTreeSet<(Lane, Instant, u64)>,
    per_tenant: BTreeMap<SubjectToken, usize>,
    answers: BTreeMap<Name, Answered>,
    expiry: BTreeMap<(Instant, u64), Name>,
    bytes: usize,
}

impl Table {
    pub(super) fn new(options: MemoryCheckQueueOptions) -> Self {
        Self {
            options,
            next_sequence: 0,
            next_serial: 0,
            stored: BTreeMap::new(),
            order: BTreeSet::new(),
            per_tenant: BTreeMap::new(),
            answers: BTreeMap::new(),
            expiry: BTreeMap::new(),
            bytes: 0,
        }
    }

    pub(super) fn submit(
        &mut self,
        ticket: CheckTicket,
        body: Vec<u8>,
        now: Instant,
    ) -> Result<Published, Problem> {
        self.forget_answers(now);
        refuse_large(body.len())?;
        let name = (ticket.tenant.clone(), ticket.id.clone());
        if self.answers.contains_key(&name) {
            return Ok(Published::Duplicate);
        }
        let waiting = self.per_tenant.get(&ticket.tenant).copied().unwrap_or_default();
        if waiting >= self.options.max_checks_per_tenant {
            let message = format!("the tenant has {waiting} checks waiting, which is the limit");
            return Err(Problem::new(Code::OVERLOADED, message));
        }
        self.make_room(body.len())?;
        self.bytes += body.len();
        *self.per_tenant.entry(ticket.tenant.clone()).or_default() += 1;
        self.set_answer(name, Answer::Waiting, now);
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.order.insert((ticket.lane, now, sequence));
        self.stored.insert(sequence, Stored { ticket, body, delivered: 0, ready_at: now });
        Ok(Published::Stored)
    }

    fn make_room(&self, bytes: usize) -> Result<(), Problem> {
        if self.bytes + bytes > self.options.max_bytes {
            return Err(Problem::new(Code::OVERLOADED, "the queue of checks is full"));
        }
        Ok(())
    }

    /// When a check comes back by itself next.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.order.iter().map(|(_, at, _)| *at).min()
    }

    pub(super) fn take(&mut self, max: usize, now: Instant) -> Vec<Taken> {
        let ready = self.order.iter().filter(|(_, at, _)| *at <= now).copied().collect::<Vec<_>>();
        let mut taken = Vec::new();
        for place in ready {
            if taken.len() == max {
                break;
            }
            let (lane, _, sequence) = place;
            let Some(stored) = self.stored.get_mut(&sequence) else { continue };
            if stored.delivered >= self.options.max_deliver {
                let name = (stored.ticket.tenant.clone(), stored.ticket.id.clone());
                self.remove(sequence);
                let message = "the check was delivered as often as is allowed";
                self.end(
                    name,
                    Answer::Failed { code: Code::JOB_DEAD.to_string(), message: message.into() },
                    now,
                );
                continue;
            }
            self.order.remove(&place);
            stored.delivered += 1;
            stored.ready_at = now + self.options.ack_wait;
            self.order.insert((lane, stored.ready_at, sequence));
            let (ticket, body) = (stored.ticket.clone(), stored.body.clone());
            taken.push(Taken { sequence, ticket, body, delivered: stored.delivered });
        }
        taken
    }

    /// Applies a decision, unless the check was given to someone else since.
    pub(super) fn decide(&mut self, sequence: u64, delivered: u32, decision: Decision, now: Instant) {
        let Some(stored) = self.stored.get_mut(&sequence) else { return };
        if stored.delivered != delivered {
            return;
        }
        match decision {
            Decision::Ack => self.remove(sequence),
            Decision::Reject(reason) => {
                let name = (stored.ticket.tenant.clone(), stored.ticket.id.clone());
                self.remove(sequence);
                self.end(
                    name,
                    Answer::Failed { code: reason.code.to_string(), message: reason.message },
                    now,
                );
            }
            Decision::Extend => self.move_to(sequence, now + self.options.ack_wait),
            Decision::Retry { after } => self.move_to(sequence, now + after),
            Decision::HandBack => self.move_to(sequence, now),
        }
    }

    fn move_to(&mut self, sequence: u64, at: Instant) {
        let Some(stored) = self.stored.get_mut(&sequence) else { return };
        self.order.remove(&(stored.ticket.lane, stored.ready_at, sequence));
        stored.ready_at = at;
        self.order.insert((stored.ticket.lane, at, sequence));
    }

    fn remove(&mut self, sequence: u64) {
        let Some(stored) = self.stored.remove(&sequence) else { return };
        self.order.remove(&(stored.ticket.lane, stored.ready_at, sequence));
        self.bytes -= stored.body.len();
        if let Some(waiting) = self.per_tenant.get_mut(&stored.ticket.tenant) {
            *waiting -= 1;
            if *waiting == 0 {
                self.per_tenant.remove(&stored.ticket.tenant);
            }
        }
    }

    pub(super) fn put_answer(
        &mut self,
        tenant: &SubjectToken,
        id: &str,
        answer: Answer,
        now: Instant,
    ) -> Result<(), Problem> {
        self.forget_answers(now);
        if let Answer::Done(body) = &answer {
            refuse_large(body.len())?;
            self.make_room(body.len())?;
        }
        self.end((tenant.clone(), id.to_owned()), answer, now);
        Ok(())
    }

    /// Sets an answer where there is no final one.
    fn end(&mut self, name: Name, answer: Answer, now: Instant) {
        if self.answers.get(&name).is_none_or(|known| !known.answer.is_final()) {
            self.set_answer(name, answer, now);
        }
    }

    fn set_answer(&mut self, name: Name, answer: Answer, now: Instant) {
        self.forget(&name);
        let serial = self.next_serial;
        self.next_serial += 1;
        self.bytes += answer_bytes(&answer);
        self.expiry.insert((now, serial), name.clone());
        self.answers.insert(name, Answered { answer, set_at: now, serial });
    }

    fn forget(&mut self, name: &Name) {
        if let Some(old) = self.answers.remove(name) {
            self.bytes -= answer_bytes(&old.answer);
            self.expiry.remove(&(old.set_at, old.serial));
        }
    }

    fn forget_answers(&mut self, now: Instant) {
        while let Some(((set_at, _), name)) = self.expiry.first_key_value()
            && has_passed(*set_at, self.options.answer_ttl, now)
        {
            let name = name.clone();
            self.forget(&name);
        }
    }

    pub(super) fn answer(&mut self, tenant: &SubjectToken, id: &str, now: Instant) -> Option<Answer> {
        self.forget_answers(now);
        self.answers.get(&(tenant.clone(), id.to_owned())).map(|known| known.answer.clone())
    }
}

fn has_passed(since: Instant, time: Duration, now: Instant) -> bool {
    now.saturating_duration_since(since) >= time
}

fn answer_bytes(answer: &Answer) -> usize {
    if let Answer::Done(body) = answer { body.len() } else { 0 }
}

fn refuse_large(size_bytes: usize) -> Result<(), Problem> {
    if size_bytes > MAX_CHECK_BYTES {
        let message = format!("the check has {size_bytes} bytes, the limit is {MAX_CHECK_BYTES}");
        return Err(Problem::new(Code::JOB_TOO_LARGE, message));
    }
    Ok(())
}
