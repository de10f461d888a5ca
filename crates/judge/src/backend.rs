//! One backend with all that stands between a question and its being sent: places, breaker, rate, budget, retries.

mod answer;

#[cfg(test)]
mod tests;

use crate::breaker::{Breaker, CallEnd, Leave};
use crate::budget::{Budget, NotReserved, Reservation};
use crate::judge::too_late;
use crate::random::Randomness;
use crate::rate::RateLimiter;
use crate::retry::backoff;
use crate::transport::{Outgoing, Transport, TransportError};
use crate::wire::{ChatReply, ChatRequest};
use crate::{Capabilities, JudgeOptions, JudgeUsage};
use answer::{Judgement, Next, Used, judge_answer};
use bytes::Bytes;
use groundline_types::{Code, Problem};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout_at};

/// A call that had this part of `call_timeout_ms` without an answer speaks against its backend, whoever then had no more time: one
/// in so many. A check's deadline is often shorter than a call may take, and a backend that hangs must not cost all of them theirs.
const FAIR_SHARE: u32 = 4;

/// A call that brought no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallFailure {
    pub(crate) problem: Problem,
    /// Whether the backend does not accept the request as it is: without a feature it may.
    pub(crate) is_rejection: bool,
}

impl CallFailure {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { problem: Problem::new(code, message), is_rejection: false }
    }
}

impl From<Problem> for CallFailure {
    fn from(problem: Problem) -> Self {
        Self { problem, is_rejection: false }
    }
}

/// State of a backend for those who watch it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgeHealth {
    /// Whether calls go through; false while the breaker is open or tries.
    pub is_available: bool,
    /// HTTP calls under way or about to be sent.
    pub calls_under_way: usize,
    /// HTTP calls that wait for a place.
    pub calls_waiting: usize,
    /// Tokens that may still be spent in this window; `None` without a limit.
    pub tokens_left: Option<u64>,
    /// Money that may still be spent in this window; `None` without a limit.
    pub cost_left: Option<f64>,
}

#[derive(Debug)]
struct Machines {
    breaker: Breaker,
    rate: RateLimiter,
    budget: Budget,
    totals: JudgeUsage,
}

#[derive(Debug)]
pub(crate) struct Backend {
    options: Arc<JudgeOptions>,
    transport: Arc<dyn Transport>,
    pub(crate) random: Randomness,
    places: Semaphore,
    waiting: AtomicUsize,
    machines: Mutex<Machines>,
    /// Told whenever a call under way has settled what it took.
    settled: Notify,
}

impl Backend {
    pub(crate) fn new(options: Arc<JudgeOptions>, transport: Arc<dyn Transport>, random: Randomness) -> Self {
        let now = Instant::now();
        let open_for = Duration::from_millis(options.breaker.open_ms);
        let machines = Machines {
            breaker: Breaker::new(options.breaker.failures, open_for),
            rate: RateLimiter::new(options.requests_per_minute, options.tokens_per_minute, now),
            budget: Budget::new(&options.budget, &options.price, now),
            totals: JudgeUsage::default(),
        };
        Self {
            places: Semaphore::new(options.max_concurrent_calls),
            waiting: AtomicUsize::new(0),
            machines: Mutex::new(machines),
            settled: Notify::new(),
            options,
            transport,
            random,
        }
    }

    /// Sends a request, again where that may help, and adds what it took to `usage`.
    pub(crate) async fn call(
        &self,
        request: &ChatRequest,
        can: &Capabilities,
        deadline: Instant,
        usage: &mut JudgeUsage,
    ) -> Result<ChatReply, CallFailure> {
        let body = request.body(&self.options.model, can, &self.options.extra_body);
        let body = Bytes::from(serde_json::Value::Object(body).to_string());
        let mut attempt = 1;
        loop {
            if attempt > 1 {
                usage.retries += 1;
                self.lock().totals.retries += 1;
            }
            let (failure, after) = match self.attempt(request, body.clone(), deadline, usage).await {
                Next::Done(reply) => return Ok(reply),
                Next::Fail(failure) => return Err(failure),
                Next::Retry(failure, after) => (failure, after),
            };
            let longest = Duration::from_millis(self.options.retry.max_retry_after_ms);
            let pause =
                after.unwrap_or_default() + backoff(&self.options.retry, attempt, self.random.fraction());
            let in_vain = after.is_some_and(|after| after > longest) || Instant::now() + pause >= deadline;
            if attempt >= self.options.retry.max_attempts || in_vain {
                return Err(failure);
            }
            tracing::debug!(attempt, pause_ms = pause.as_millis() as u64, code = %failure.problem.code, "judge call is repeated");
            sleep(pause).await;
            attempt += 1;
        }
    }

    /// Makes one HTTP call.
    async fn attempt(
        &self,
        request: &ChatRequest,
        body: Bytes,
        deadline: Instant,
        usage: &mut JudgeUsage,
    ) -> Next {
        let _place = match self.place(deadline).await {
            Ok(place) => place,
            Err(failure) => return Next::Fail(failure),
        };
        let admission = match self.admit(request, deadline).await {
            Ok(admission) => admission,
            Err(failure) => return Next::Fail(failure),
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let call_timeout = Duration::from_millis(self.options.call_timeout_ms);
        let outgoing = Outgoing {
            body,
            timeout: call_timeout.min(left),
            max_answer_bytes: self.options.max_answer_bytes,
        };
        let answer = self.transport.send(outgoing).await;
        let mut judgement = judge_answer(&answer, request);
        if answer.as_ref().err() == Some(&TransportError::TimedOut) && left <= call_timeout {
            // It was our caller who had no more time.
            judgement.end = admission.unanswered();
            judgement.next = Next::Fail(deadline_passed());
        }
        usage.add(&admission.settle(&judgement));
        judgement.next
    }

    /// A place among the calls under way.
    async fn place(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, CallFailure> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let waiting = Waiting::new(&self.waiting);
        if waiting.before >= self.options.max_waiting_calls {
            let message = "as many calls wait for the judge as max_waiting_calls allows";
            return Err(CallFailure::new(Code::JUDGE_LIMITED, message));
        }
        match timeout_at(deadline, self.places.acquire()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(CallFailure::new(Code::INTERNAL, "the judge's places are closed")),
            Err(_) => Err(deadline_passed()),
        }
    }

    /// Waits until rate and budget let a request through, and asks the breaker last: its leave binds others.
    async fn admit(&self, request: &ChatRequest, deadline: Instant) -> Result<Admission<'_>, CallFailure> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // From here on no settling is missed.
            settled.as_mut().enable();
            let now = Instant::now();
            if now >= deadline {
                return Err(deadline_passed());
            }
            match self.try_admit(request, now)? {
                Ok(admission) => return Ok(admission),
                Err(Some(wait)) if now + wait >= deadline => {
                    let message = format!(
                        "the judge takes no more calls for {} ms, which is beyond the deadline",
                        wait.as_millis()
                    );
                    return Err(CallFailure::new(Code::JUDGE_LIMITED, message));
                }
                Err(Some(wait)) => sleep(wait).await,
                Err(None) => timeout_at(deadline, settled).await.map_err(|_| deadline_passed())?,
            }
        }
    }

    /// Admission, or how long to wait for it (`None`: until a call under way settles).
    fn try_admit(
        &self,
        request: &ChatRequest,
        now: Instant,
    ) -> Result<Result<Admission<'_>, Option<Duration>>, CallFailure> {
        let mut machines = self.lock();
        let most = request.most_tokens();
        let reservation = match machines.budget.reserve(most, now) {
            Ok(reservation) => reservation,
            Err(NotReserved::Wait) => return Ok(Err(None)),
            Err(NotReserved::Spent(left)) => {
                let message = format!("the judge's budget is spent; it is renewed in {} s", left.as_secs());
                return Err(CallFailure::new(Code::JUDGE_BUDGET, message));
            }
        };
        let likely = request.likely_tokens();
        let nothing = crate::TokenUsage::default();
        if let Err(wait) = machines.rate.take(likely, now) {
            machines.budget.settle(reservation, &nothing, now);
            return Ok(Err(Some(wait)));
        }
        match machines.breaker.ask(now) {
            Ok(leave) => {
                let sent_at = now;
                Ok(Ok(Admission {
                    backend: self,
                    sent_at,
                    leave,
                    reservation,
                    likely,
                    most,
                    is_settled: false,
                }))
            }
            Err(left) => {
                machines.budget.settle(reservation, &nothing, now);
                machines.rate.settle(likely, 0);
                let message = format!(
                    "the judge failed {} times in a row; it is tried again in {} ms",
                    self.options.breaker.failures,
                    left.as_millis()
                );
                Err(CallFailure::new(Code::JUDGE_BREAKER_OPEN, message))
            }
        }
    }

    /// What all calls took so far.
    pub(crate) fn totals(&self) -> JudgeUsage {
        self.lock().totals
    }

    pub(crate) fn count_cache_hit(&self) {
        self.lock().totals.cache_hits += 1;
    }

    pub(crate) fn health(&self) -> JudgeHealth {
        let now = Instant::now();
        let mut machines = self.lock();
        JudgeHealth {
            is_available: machines.breaker.is_closed(),
            calls_under_way: self.options.max_concurrent_calls - self.places.available_permits(),
            calls_waiting: self.waiting.load(Ordering::Relaxed),
            tokens_left: machines.budget.tokens_left(now),
            cost_left: machines.budget.cost_left(now),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Machines> {
        // Nothing panics while it is held; were that to happen, numbers a little off are better than no judge.
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn deadline_passed() -> CallFailure {
    too_late().into()
}

/// One of those that wait for a place.
struct Waiting<'a> {
    count: &'a AtomicUsize,
    /// How many waited before.
    before: usize,
}

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Leave to make one call. Dropped before its end (its question was given up), it counts as if the backend had done all that
/// was asked: it may bill that.
#[derive(Debug)]
struct Admission<'a> {
    backend: &'a Backend,
    sent_at: Instant,
    leave: Leave,
    reservation: Reservation,
    likely: u64,
    most: crate::TokenUsage,
    is_settled: bool,
}

impl Admission<'_> {
    fn settle(mut self, judgement: &Judgement) -> JudgeUsage {
        self.finish(judgement.end, judgement.used, judgement.pause)
    }

    /// What it says of the backend that there is no answer by now.
    fn unanswered(&self) -> CallEnd {
        let fair = Duration::from_millis(self.backend.options.call_timeout_ms) / FAIR_SHARE;
        if self.sent_at.elapsed() >= fair { CallEnd::Dead } else { CallEnd::Unknown }
    }

    fn finish(&mut self, end: CallEnd, used: Used, pause: Option<Duration>) -> JudgeUsage {
        self.is_settled = true;
        let now = Instant::now();
        let options = &self.backend.options;
        let tokens = used.tokens();
        let usage = JudgeUsage {
            calls: 1,
            tokens,
            guessed_calls: u64::from(matches!(used, Used::Guessed(_))),
            cost: tokens.cost(&options.price),
            ..JudgeUsage::default()
        };
        let mut machines = self.backend.lock();
        if machines.breaker.record(self.leave, end, now) {
            tracing::warn!(open_ms = options.breaker.open_ms, "judge fails in a row and is left alone");
        }
        machines.budget.settle(self.reservation, &tokens, now);
        machines.rate.settle(self.likely, tokens.total_tokens());
        if let Some(pause) = pause {
            let longest = Duration::from_millis(options.retry.max_retry_after_ms);
            machines.rate.pause_until(now + pause.min(longest));
        }
        machines.totals.add(&usage);
        drop(machines);
        self.backend.settled.notify_waiters();
        usage
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.finish(self.unanswered(), Used::Guessed(self.most), None);
        }
    }
}
