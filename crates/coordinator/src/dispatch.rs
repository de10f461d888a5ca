//! Sends jobs: whose turn it is, no more than workers can take, and again where no answer comes.

mod fair;
mod message;

use crate::check::CheckMessage;
use crate::fleet::Fleet;
#[cfg(test)]
use crate::simulation::{Bug, is_planted};
use fair::FairQueue;
use groundline_actors::{Credits, TaskKind, spawn_task};
use groundline_bus::{BusState, CheckId, Incarnation, Job, JobBus, JobId, PublishError, Published};
use groundline_telemetry::{PublishEnd, record};
use groundline_types::{Code, Lane, Reason};
#[cfg(test)]
pub(crate) use message::Leftover;
pub(crate) use message::{DispatchMessage, DispatchSetup, Submission};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often unanswered jobs are looked at.
const RESEND_TICK: Duration = Duration::from_millis(500);

pub(crate) struct Dispatch<B>(PhantomData<fn() -> B>);

impl<B> Dispatch<B> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

struct Sent {
    submission: Submission,
    attempt: u32,
    sent_at: Instant,
    /// Sendings since workers last answered anything.
    silent_sends: u32,
    /// Its answer may be lost, so that answers to other jobs say nothing of this one.
    is_suspect: bool,
}

/// A job that was answered this much earlier than one that was sent before it has overtaken it: queues are nearly in order, so
/// the answer to the earlier one may be lost.
const OVERTAKEN_AFTER: Duration = Duration::from_secs(5);

/// A job that nobody waits for, and that still takes a worker's time.
struct Gone {
    tokens: usize,
    /// When no worker begins it any more.
    deadline: Instant,
}

pub(crate) struct DispatchState<B> {
    setup: DispatchSetup<B>,
    myself: ActorRef<DispatchMessage>,
    queue: FairQueue<Submission>,
    queued: BTreeSet<JobId>,
    sent: BTreeMap<JobId, Sent>,
    gone: BTreeMap<JobId, Gone>,
    credits: Credits,
    /// When workers last answered something.
    progress_at: Instant,
    /// For each lane, when the latest of the jobs was sent that are answered.
    answered_sent_at: BTreeMap<Lane, Instant>,
    bus_state: watch::Receiver<BusState>,
    fleet: Fleet,
}

impl<B: JobBus> DispatchState<B> {
    fn submit(&mut self, submission: Submission) {
        let job = &submission.job;
        if self.sent.contains_key(&job.id) || !self.queued.insert(job.id) {
            return;
        }
        self.queue.push(job.lane.lane, job.tenant.clone(), job.estimated_tokens, submission);
    }

    fn send_what_credits_allow(&mut self) {
        while let Some((cost, submission)) = self.queue.pop() {
            if !self.credits.try_take(cost) {
                // Back to the front, where an online job may still go before one of bulk.
                let (lane, tenant) = (submission.job.lane.lane, submission.job.tenant.clone());
                return self.queue.give_back(lane, tenant, cost, submission);
            }
            let id = submission.job.id;
            self.queued.remove(&id);
            self.sent.insert(
                id,
                Sent { submission, attempt: 0, sent_at: Instant::now(), silent_sends: 1, is_suspect: false },
            );
            self.publish(id);
        }
    }

    fn publish(&mut self, id: JobId) {
        let Some(sent) = self.sent.get_mut(&id) else { return };
        sent.sent_at = Instant::now();
        let job = Job {
            attempt: sent.attempt,
            time_left: sent.submission.deadline.saturating_duration_since(sent.sent_at),
            ..Job::clone(&sent.submission.job)
        };
        let (bus, myself) = (self.setup.bus.clone(), self.myself.clone());
        let task = async move {
            let (lane, sent_at) = (job.lane.lane, Instant::now());
            let published = bus.publish(job).await;
            record::job_published(lane, publish_end(&published), sent_at.elapsed());
            // A dispatcher that ended meanwhile is followed by one that is told everything again.
            let _ = myself.send_message(DispatchMessage::Published(id, published));
        };
        spawn_task(TaskKind::Publish, task).detach();
    }

    fn settle(&mut self, id: JobId) -> Option<Sent> {
        let sent = self.sent.remove(&id)?;
        self.credits.give_back(sent.submission.job.estimated_tokens);
        Some(sent)
    }

    fn note_progress(&mut self, answered: &Sent) {
        self.progress_at = Instant::now();
        let lane = answered.submission.job.lane.lane;
        let latest = self.answered_sent_at.entry(lane).or_insert(answered.sent_at);
        *latest = answered.sent_at.max(*latest);
    }

    /// A job is answered: workers make progress, whoever the answer is for.
    fn on_settled(&mut self, id: JobId) {
        if let Some(gone) = self.gone.remove(&id) {
            #[cfg(test)]
            if is_planted(Bug::LeakCredits) {
                return;
            }
            self.credits.give_back(gone.tokens);
            self.progress_at = Instant::now();
        } else if let Some(sent) = self.settle(id) {
            self.note_progress(&sent);
        } else if self.queued.contains(&id) {
            // Sent by an earlier dispatcher, and answered before it was its turn again.
            self.unqueue(|queued| *queued == id);
        }
    }

    fn on_published(&mut self, id: JobId, published: Result<Published, PublishError>) {
        match (published, self.sent.get_mut(&id)) {
            (Ok(Published::Stored), Some(sent)) => sent.is_suspect = false,
            // Its check went while the job was on its way. A job that is known no more was answered before this word of its
            // publishing came: fast engines do that.
            (Ok(_), None) if self.gone.contains_key(&id) => self.cancel(id.check_id()),
            (Ok(Published::Stored | Published::Duplicate), _) => {}
            (Err(error), _) => {
                self.forget_gone(id);
                self.give_up(id, refusal(&error));
            }
        }
    }

    fn cancel(&self, check: CheckId) {
        let (bus, model, myself) = (self.setup.bus.clone(), self.setup.model.clone(), self.myself.clone());
        let task = async move {
            let purged = bus.cancel(&model, check).await;
            // A dispatcher that ended meanwhile counts anew.
            let _ = myself.send_message(DispatchMessage::Cancelled(purged));
        };
        spawn_task(TaskKind::Publish, task).detach();
    }

    fn forget_gone(&mut self, id: JobId) {
        if let Some(gone) = self.gone.remove(&id) {
            self.credits.give_back(gone.tokens);
        }
    }

    fn give_up(&mut self, id: JobId, reason: Reason) {
        if let Some(sent) = self.settle(id) {
            tracing::warn!(job = %id, code = %reason.code, "a job is given up");
            record::job_given_up(reason.code);
            // A check that just ended needs no word.
            let _ = sent.submission.check.send_message(CheckMessage::JobFailed(id, reason));
        }
    }

    /// Sends a job again under a new attempt. Where the bus still holds it, that changes nothing.
    fn resend(&mut self, id: JobId) {
        #[cfg(test)]
        if is_planted(Bug::NeverResend) {
            return;
        }
        let Some(sent) = self.sent.get_mut(&id) else { return };
        sent.attempt += 1;
        tracing::warn!(job = %id, attempt = sent.attempt, "a job is sent again");
        record::job_resent();
        self.publish(id);
    }

    /// Sends again what has waited while nothing at all was answered, and gives it up where that went on for too long; and what
    /// younger jobs have overtaken. A slow worker with a long queue is not a lost job: as long as anything is answered in its
    /// turn, the deadline alone ends the wait.
    fn resend_unanswered(&mut self) {
        if !self.bus_state.borrow().connected {
            // Nothing can be answered now; with the next connection, everything is sent again.
            return;
        }
        let (now, progress_at) = (Instant::now(), self.progress_at);
        let (mut unanswered, mut hopeless) = (Vec::new(), Vec::new());
        for (id, sent) in &mut self.sent {
            if sent.sent_at < progress_at {
                sent.silent_sends = 1;
            }
            let since = if sent.is_suspect { sent.sent_at } else { sent.sent_at.max(progress_at) };
            let latest = self.answered_sent_at.get(&sent.submission.job.lane.lane);
            if now.saturating_duration_since(since) >= self.setup.resend_after {
                sent.silent_sends += 1;
                let is_hopeless = sent.silent_sends > self.setup.max_attempts;
                if is_hopeless { hopeless.push(*id) } else { unanswered.push(*id) }
            } else if latest.is_some_and(|latest| *latest >= sent.sent_at + OVERTAKEN_AFTER) {
                unanswered.push(*id);
            }
        }
        for id in hopeless {
            let sends = self.setup.max_attempts;
            let message = format!("the job was sent {sends} times, and nothing was answered in between");
            self.give_up(id, Reason::new(Code::JOB_DEAD, message));
        }
        unanswered.into_iter().for_each(|id| self.resend(id));
    }

    /// Workers begin nothing after its deadline: credits of what is lost without a word are free by then.
    fn forget_expired(&mut self) {
        let now = Instant::now();
        let expired = self.gone.iter().filter(|(_, gone)| gone.deadline <= now).map(|(id, _)| *id);
        for id in expired.collect::<Vec<_>>() {
            self.forget_gone(id);
        }
    }

    fn on_fleet(&mut self, fleet: Fleet) {
        self.credits.set_limit(fleet.credit_tokens.unwrap_or(self.setup.credit_tokens));
        self.fleet = fleet;
        self.give_up_without_workers();
    }

    /// Fails every job where that is wanted and no worker is there to score it.
    fn give_up_without_workers(&mut self) {
        let (Some(patience), Some(since)) = (self.setup.no_worker_timeout, self.fleet.no_worker_since) else {
            return;
        };
        if since.elapsed() < patience {
            return;
        }
        let reason = || Reason::new(Code::NO_WORKER, "no live worker serves the model");
        for id in self.sent.keys().copied().collect::<Vec<_>>() {
            self.give_up(id, reason());
        }
        while let Some((_, submission)) = self.queue.pop() {
            self.queued.remove(&submission.job.id);
            let _ = submission.check.send_message(CheckMessage::JobFailed(submission.job.id, reason()));
        }
    }

    fn unqueue(&mut self, is_gone: impl Fn(&JobId) -> bool) {
        self.queue.retain(|submission| !is_gone(&submission.job.id));
        self.queued.retain(|id| !is_gone(id));
    }

    /// Drops what nobody waits for. Credits of what is sent come back when the bus or a worker says that it is really gone.
    fn forget(&mut self, gone: RangeInclusive<JobId>) {
        // Said at the end of every check, and most have nothing left then: what others wait for is not walked through.
        if self.queued.range(gone.clone()).next().is_some() {
            self.unqueue(|id| gone.contains(id));
        }
        let ids = self.sent.range(gone).map(|(id, _)| *id).collect::<Vec<_>>();
        let checks = ids.iter().map(JobId::check_id).collect::<BTreeSet<_>>();
        for id in ids {
            if let Some(Sent { submission, .. }) = self.sent.remove(&id) {
                let gone = Gone { tokens: submission.job.estimated_tokens, deadline: submission.deadline };
                self.gone.insert(id, gone);
            }
        }
        for check in checks {
            self.cancel(check);
        }
    }
}

impl<B: JobBus> Actor for Dispatch<B> {
    type Msg = DispatchMessage;
    type State = DispatchState<B>;
    type Arguments = DispatchSetup<B>;

    async fn pre_start(
        &self,
        myself: ActorRef<DispatchMessage>,
        setup: DispatchSetup<B>,
    ) -> Result<DispatchState<B>, ActorProcessingErr> {
        myself.send_interval(RESEND_TICK, || DispatchMessage::Tick);
        Ok(DispatchState {
            credits: Credits::new(setup.credit_tokens),
            bus_state: setup.bus.state(),
            answered_sent_at: BTreeMap::new(),
            fleet: Fleet::unknown(Instant::now()),
            setup,
            myself,
            queue: FairQueue::default(),
            queued: BTreeSet::new(),
            sent: BTreeMap::new(),
            gone: BTreeMap::new(),
            progress_at: Instant::now(),
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<DispatchMessage>,
        message: DispatchMessage,
        state: &mut DispatchState<B>,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            DispatchMessage::Submit(submission) => state.submit(submission),
            DispatchMessage::Settled(id) => state.on_settled(id),
            DispatchMessage::CheckGone(check) => state.forget(jobs_of(state.setup.me, check..=check)),
            DispatchMessage::AllGone => state.forget(jobs_of(state.setup.me, 0..=u64::MAX)),
            DispatchMessage::Resend(id) => {
                if let Some(sent) = state.sent.get_mut(&id) {
                    sent.is_suspect = true;
                }
                state.resend(id);
            }
            DispatchMessage::Published(id, published) => state.on_published(id, published),
            DispatchMessage::Cancelled(purged) => {
                purged.unwrap_or_default().into_iter().for_each(|id| state.forget_gone(id));
            }
            DispatchMessage::Tick => {
                state.resend_unanswered();
                state.forget_expired();
                state.give_up_without_workers();
            }
            DispatchMessage::Fleet(fleet) => state.on_fleet(fleet),
            #[cfg(test)]
            DispatchMessage::Probe(reply) => {
                let left = Leftover {
                    queued: state.queued.len(),
                    sent: state.sent.len(),
                    gone: state.gone.len(),
                    credits: state.credits.used(),
                };
                let _ = reply.send(left);
            }
            #[cfg(test)]
            DispatchMessage::Panic => panic!("the test asked for it"),
        }
        state.send_what_credits_allow();
        record::dispatch_load(state.queued.len(), state.sent.len());
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<DispatchMessage>,
        _event: SupervisionEvent,
        _state: &mut DispatchState<B>,
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}

/// Every job of some checks.
fn jobs_of(me: Incarnation, checks: RangeInclusive<u64>) -> RangeInclusive<JobId> {
    let first = JobId { reply_to: me, check: *checks.start(), serial: 0 };
    first..=JobId { reply_to: me, check: *checks.end(), serial: u32::MAX }
}

fn publish_end(published: &Result<Published, PublishError>) -> PublishEnd {
    match published {
        Ok(Published::Stored) => PublishEnd::Stored,
        Ok(Published::Duplicate) => PublishEnd::Duplicate,
        Err(_) => PublishEnd::Refused,
    }
}

fn refusal(error: &PublishError) -> Reason {
    let code = match error {
        PublishError::TooLarge { .. } => Code::JOB_TOO_LARGE,
        PublishError::TenantFull { .. } | PublishError::BusFull => Code::OVERLOADED,
        PublishError::Unavailable { .. } | PublishError::Closed(_) => Code::BUS_UNAVAILABLE,
    };
    Reason::new(code, error.to_string())
}

#[cfg(test)]
mod tests;
