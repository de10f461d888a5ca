//! Sends jobs: whose turn it is, no more than workers can take, and again where no answer comes.

mod fair;

use crate::check::CheckMessage;
use fair::FairQueue;
use groundline_actors::{Credits, TaskKind, spawn_task};
use groundline_bus::{Job, JobBus, JobId, PublishError};
use groundline_types::{Code, Reason};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How often unanswered jobs are looked at.
const RESEND_TICK: Duration = Duration::from_millis(500);

/// A job on its way from its check to the bus.
#[derive(Clone)]
pub(crate) struct Submission {
    /// The job; its attempt and the time left are filled in when it is sent.
    pub(crate) job: Arc<Job>,
    /// When its answer is of no use any more.
    pub(crate) deadline: Instant,
    /// Who is told if it is given up.
    pub(crate) check: ActorRef<CheckMessage>,
}

#[derive(Clone)]
pub(crate) struct DispatchSetup<B> {
    pub(crate) bus: B,
    pub(crate) credit_tokens: usize,
    pub(crate) resend_after: Duration,
    pub(crate) max_attempts: u32,
}

pub(crate) enum DispatchMessage {
    /// Send this job when it is its turn. A job that is known already is left as it is.
    Submit(Submission),
    /// This job is answered.
    Settled(JobId),
    /// Every job of this check is of no use.
    CheckGone(u64),
    /// No check is left.
    AllGone,
    /// The answer to this job may be lost.
    Resend(JobId),
    /// What the bus says of an attempt.
    Published(JobId, Result<(), PublishError>),
    /// Time to look for jobs without an answer.
    Tick,
    /// Fail, as a bug would.
    #[cfg(test)]
    Panic,
}

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
}

pub(crate) struct DispatchState<B> {
    setup: DispatchSetup<B>,
    myself: ActorRef<DispatchMessage>,
    queue: FairQueue<Submission>,
    queued: BTreeSet<JobId>,
    /// The next job, while there is no credit for it.
    next: Option<(usize, Submission)>,
    sent: BTreeMap<JobId, Sent>,
    credits: Credits,
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
        while let Some((cost, submission)) = self.next.take().or_else(|| self.queue.pop()) {
            if !self.credits.try_take(cost) {
                self.next = Some((cost, submission));
                return;
            }
            let id = submission.job.id;
            self.queued.remove(&id);
            self.sent.insert(id, Sent { submission, attempt: 0, sent_at: Instant::now() });
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
            let published = bus.publish(job).await.map(|_| ());
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

    fn give_up(&mut self, id: JobId, reason: Reason) {
        if let Some(sent) = self.settle(id) {
            tracing::warn!(job = %id, code = %reason.code, "a job is given up");
            // A check that just ended needs no word.
            let _ = sent.submission.check.send_message(CheckMessage::JobFailed(id, reason));
        }
    }

    /// Sends a job again under a new attempt, so that the bus does not take it for a duplicate.
    fn resend(&mut self, id: JobId) {
        let Some(sent) = self.sent.get_mut(&id) else { return };
        sent.attempt += 1;
        if sent.attempt >= self.setup.max_attempts {
            let message = format!("the job was sent {} times and never answered", sent.attempt);
            self.give_up(id, Reason::new(Code::JOB_DEAD, message));
        } else {
            tracing::warn!(job = %id, attempt = sent.attempt, "a job is sent again");
            self.publish(id);
        }
    }

    fn resend_unanswered(&mut self) {
        let now = Instant::now();
        let unanswered = self.sent.iter().filter(|(_, sent)| now - sent.sent_at >= self.setup.resend_after);
        for id in unanswered.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.resend(id);
        }
    }

    fn forget(&mut self, is_gone: impl Fn(&JobId) -> bool) {
        self.queue.retain(|submission| !is_gone(&submission.job.id));
        self.queued.retain(|id| !is_gone(id));
        self.next = self.next.take().filter(|(_, submission)| !is_gone(&submission.job.id));
        for id in self.sent.keys().copied().filter(&is_gone).collect::<Vec<_>>() {
            self.settle(id);
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
            setup,
            myself,
            queue: FairQueue::default(),
            queued: BTreeSet::new(),
            next: None,
            sent: BTreeMap::new(),
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
            DispatchMessage::Settled(id) => drop(state.settle(id)),
            DispatchMessage::CheckGone(check) => state.forget(|id| id.check == check),
            DispatchMessage::AllGone => state.forget(|_| true),
            DispatchMessage::Resend(id) => state.resend(id),
            DispatchMessage::Published(_, Ok(())) => {}
            DispatchMessage::Published(id, Err(error)) => state.give_up(id, refusal(&error)),
            DispatchMessage::Tick => state.resend_unanswered(),
            #[cfg(test)]
            DispatchMessage::Panic => panic!("the test asked for it"),
        }
        state.send_what_credits_allow();
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

fn refusal(error: &PublishError) -> Reason {
    let code = match error {
        PublishError::TooLarge { .. } => Code::JOB_TOO_LARGE,
        PublishError::TenantFull { .. } => Code::OVERLOADED,
        PublishError::Closed(_) => Code::BUS_UNAVAILABLE,
    };
    Reason::new(code, error.to_string())
}
