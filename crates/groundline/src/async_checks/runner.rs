//! Works through the queue of checks.

use super::AsyncChecks;
use crate::Checker;
use groundline_actors::{OwnedTask, TaskKind, spawn_task};
use groundline_bus::{Answer, CheckDelivery};
use groundline_coordinator::CheckObserver;
use groundline_types::{CheckRequest, CheckResult, Code, Lane, Problem};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How long one pull waits for a check.
const PULL_WAIT: Duration = Duration::from_secs(5);
/// How long to wait after a queue that failed before asking it again.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(1);
/// How often a check is begun before a failure that might pass counts as its answer.
const MAX_TRIES: u32 = 4;
/// How long a check that failed for a reason that might pass rests, times the number of tries.
const REST: Duration = Duration::from_secs(2);

/// Takes checks from the queue, some at once, and stores their answers. Dropping it gives what it works on back to the queue.
#[derive(Debug)]
pub struct AsyncRunner {
    stop: watch::Sender<bool>,
    slots: Arc<Semaphore>,
    concurrency: u32,
    _pulls: OwnedTask,
}

impl AsyncRunner {
    /// Starts working with this checker on up to `concurrency` checks at once (at least 1). Needs a tokio runtime.
    pub fn start(checker: Checker, checks: AsyncChecks, concurrency: u32) -> Self {
        let concurrency = concurrency.clamp(1, 10_000);
        let slots = Arc::new(Semaphore::new(concurrency as usize));
        let (stop, stopped) = watch::channel(false);
        let pulls = pull_checks(checker, checks, Arc::clone(&slots), stopped);
        Self { stop, slots, concurrency, _pulls: spawn_task(TaskKind::CheckQueue, pulls) }
    }

    /// Stops in good order: takes no further check, and waits up to `timeout` for those that run. What is not done by then goes
    /// back to the queue, for someone else.
    pub async fn drain(self, timeout: Duration) {
        self.stop.send_replace(true);
        if tokio::time::timeout(timeout, self.slots.acquire_many(self.concurrency)).await.is_err() {
            tracing::warn!("the drain timeout passed before every check of the queue was answered");
        }
    }
}

async fn pull_checks(
    checker: Checker,
    checks: AsyncChecks,
    slots: Arc<Semaphore>,
    mut stopped: watch::Receiver<bool>,
) {
    // Owned here, so that they end with this task.
    let mut running: Vec<OwnedTask> = Vec::new();
    while !*stopped.borrow() {
        running.retain(|task| !task.is_finished());
        let Ok(first) = Arc::clone(&slots).acquire_owned().await else { return };
        let free = slots.available_permits() + 1;
        let pulled = tokio::select! {
            pulled = checks.pull(free, PULL_WAIT) => pulled,
            // Dropping a pull takes no check.
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        let deliveries = match pulled {
            Ok(deliveries) => deliveries,
            Err(problem) => {
                tracing::warn!(code = %problem.code, "the queue of checks gives none");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
                continue;
            }
        };
        let mut slot = Some(first);
        for delivery in deliveries {
            // Only this task takes slots, so that those counted above are still free.
            let taken = slot.take().or_else(|| Arc::clone(&slots).try_acquire_owned().ok());
            let work = work_on(checker.clone(), checks.clone(), delivery, taken);
            running.push(spawn_task(TaskKind::QueuedCheck, work));
        }
    }
    // The checks that run belong to this task, which ends when the runner is dropped.
    std::future::pending::<()>().await;
}

/// Runs one check to its answer.
async fn work_on(
    checker: Checker,
    checks: AsyncChecks,
    delivery: CheckDelivery,
    _slot: Option<OwnedSemaphorePermit>,
) {
    let (tenant, id) = (delivery.tenant().clone(), delivery.id().to_owned());
    if let Err(problem) = checks.put_answer(&tenant, &id, Answer::Running).await {
        tracing::warn!(code = %problem.code, "the table of answers takes no word of a running check");
    }
    let outcome = run_check(&checker, &delivery).await;
    let answer = match outcome.and_then(|result| written(&result)) {
        Ok(body) => Answer::Done(body),
        Err(problem) if might_pass(problem.code) && delivery.delivered() < MAX_TRIES => {
            tracing::warn!(code = %problem.code, tries = delivery.delivered(), "a check of the queue rests");
            let rest = REST * delivery.delivered();
            return delivery.retry(rest);
        }
        Err(problem) => Answer::Failed { code: problem.code.as_str().to_owned(), message: problem.message },
    };
    match checks.put_answer(&tenant, &id, answer).await {
        Ok(()) => delivery.ack(),
        // Scored once more is better than never answered; the cache of scores makes it cheap.
        Err(problem) => {
            tracing::warn!(code = %problem.code, "an answer could not be stored");
            delivery.retry(REST);
        }
    }
}

/// Runs the check of a delivery, and tells the queue meanwhile that it is worked on.
async fn run_check(checker: &Checker, delivery: &CheckDelivery) -> Result<CheckResult, Problem> {
    let text = std::str::from_utf8(delivery.body())
        .map_err(|_| Problem::new(Code::INVALID_UTF8, "a stored request is not UTF-8"))?;
    let mut request = CheckRequest::from_json(text)?;
    request.id.get_or_insert_with(|| delivery.id().to_owned());
    request.lane.get_or_insert(Lane::Bulk);
    let check = checker.check_for(delivery.tenant().as_str(), request, CheckObserver::default());
    let mut check = std::pin::pin!(check);
    loop {
        tokio::select! {
            result = &mut check => return result,
            () = tokio::time::sleep(delivery.ack_wait() / 3) => delivery.extend(),
        }
    }
}

fn written(result: &CheckResult) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(result)
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot write a result as JSON: {error}")))
}

/// Whether the same check may succeed later: nothing is wrong with the request.
fn might_pass(code: Code) -> bool {
    matches!(code, Code::OVERLOADED | Code::BUS_UNAVAILABLE | Code::INTERNAL | Code::CANCELLED)
}
