//! Tasks with a name and an owner.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use tokio::task::JoinHandle;
use tracing::Instrument;

/// What a task is for. Every task of a process is one of these, so that a list of tasks explains itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// Waits for jobs of a queue.
    Pull,
    /// Turns the texts of a job into tokens.
    Encode,
    /// Scores a batch.
    Score,
    /// Tells the cluster what a worker is and can do.
    Presence,
    /// Sends the answer to a job.
    Answer,
    /// Sends a job.
    Publish,
    /// Reads results from the bus.
    Results,
    /// Reads from the bus which checks are cancelled.
    Cancellations,
    /// Splits the texts of a check.
    Prepare,
    /// Runs the detectors of a check for one round.
    Detect,
    /// Makes the verdict of a check.
    Decide,
    /// Waits for the deadline of a check.
    Deadline,
    /// Waits for a role to be given to a new actor.
    Generations,
    /// Takes checks from their queue.
    CheckQueue,
    /// Runs a check of the queue and stores its answer.
    QueuedCheck,
    /// Loads a model.
    LoadModel,
    /// Listens to signals.
    Signals,
    /// Keeps a broker as it should be.
    Keep,
    /// Sends a decision on a delivery.
    Settle,
    /// Moves a job to the dead.
    Bury,
    /// Looks for messages that the broker has given up.
    Janitor,
    /// Reads from the bus which workers live.
    Presences,
    /// Serves a port.
    Serve,
    /// Reads files again when they change.
    Reload,
    /// Reads a large document.
    Parse,
    /// Checks a response that is still being written.
    Stream,
    /// Asks a judge.
    Judge,
}

impl TaskKind {
    fn name(self) -> &'static str {
        match self {
            TaskKind::Pull => "pull",
            TaskKind::Encode => "encode",
            TaskKind::Score => "score",
            TaskKind::Presence => "presence",
            TaskKind::Answer => "answer",
            TaskKind::Publish => "publish",
            TaskKind::Results => "results",
            TaskKind::Cancellations => "cancellations",
            TaskKind::Prepare => "prepare",
            TaskKind::Detect => "detect",
            TaskKind::Decide => "decide",
            TaskKind::Deadline => "deadline",
            TaskKind::Generations => "generations",
            TaskKind::CheckQueue => "check_queue",
            TaskKind::QueuedCheck => "queued_check",
            TaskKind::LoadModel => "load_model",
            TaskKind::Signals => "signals",
            TaskKind::Keep => "keep",
            TaskKind::Settle => "settle",
            TaskKind::Bury => "bury",
            TaskKind::Janitor => "janitor",
            TaskKind::Presences => "presences",
            TaskKind::Serve => "serve",
            TaskKind::Reload => "reload",
            TaskKind::Parse => "parse",
            TaskKind::Stream => "stream",
            TaskKind::Judge => "judge",
        }
    }
}

/// A task that ends with its owner.
#[derive(Debug)]
pub struct OwnedTask {
    handle: Option<JoinHandle<()>>,
}

impl OwnedTask {
    /// Whether the task has come to its own end.
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Lets the task run to its own end.
    pub fn detach(mut self) {
        self.handle = None;
    }
}

impl Drop for OwnedTask {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.abort();
        }
    }
}

/// Starts a task. It ends when the returned value is dropped, unless [detached](OwnedTask::detach).
#[must_use = "dropping the task ends it"]
pub fn spawn_task(kind: TaskKind, future: impl Future<Output = ()> + Send + 'static) -> OwnedTask {
    let future = future.instrument(tracing::debug_span!("task", kind = kind.name()));
    #[expect(clippy::disallowed_methods, reason = "the one place that gives every task a kind and an owner")]
    let handle = tokio::spawn(future);
    OwnedTask { handle: Some(handle) }
}

/// Runs something that computes or blocks on a thread made for that. `None` where it panicked, which is logged.
///
/// Dropping the future does not stop it: it runs to its end, and its value is dropped.
pub async fn run_blocking<T: Send + 'static>(
    kind: TaskKind,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let run = move || run_guarded(work);
    #[cfg(feature = "sim")]
    if let Some(takes) = crate::simulate::pace(kind) {
        // As on a thread, the end comes later than the start.
        if takes.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(takes).await;
        }
        return run();
    }
    let value = tokio::task::spawn_blocking(run).await.ok().flatten();
    if value.is_none() {
        tracing::error!(kind = kind.name(), "a blocking task panicked");
    }
    value
}

/// Runs something that computes: right here where it `is_short`, well below a millisecond, because handing such work to a thread and
/// waiting for it costs as much as the work itself; else as [`run_blocking`]. `None` where it panicked, which is logged.
pub async fn run_computing<T: Send + 'static>(
    kind: TaskKind,
    is_short: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    #[cfg(feature = "sim")]
    let is_short = is_short && !crate::is_simulated();
    if !is_short {
        return run_blocking(kind, work).await;
    }
    let value = run_guarded(work);
    if value.is_none() {
        tracing::error!(kind = kind.name(), "a computation panicked");
    }
    value
}

fn run_guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::oneshot;

    #[tokio::test(start_paused = true)]
    async fn a_task_ends_with_its_owner_unless_detached() {
        let (kept, mut kept_end) = oneshot::channel::<()>();
        let (dropped, dropped_end) = oneshot::channel::<()>();
        let wait = |sender: oneshot::Sender<()>| async move {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            let _ = sender.send(());
        };
        spawn_task(TaskKind::Pull, wait(kept)).detach();
        drop(spawn_task(TaskKind::Pull, wait(dropped)));
        assert!(dropped_end.await.is_err());
        assert!(kept_end.try_recv().is_err());
        assert_eq!(kept_end.await, Ok(()));
    }

    #[tokio::test]
    async fn a_panic_in_blocking_work_is_a_value() {
        assert_eq!(run_blocking(TaskKind::Encode, || 7).await, Some(7));
        let bomb = || -> u8 { panic!("test") };
        assert_eq!(run_blocking(TaskKind::Encode, bomb).await, None);
        for is_short in [true, false] {
            assert_eq!(run_computing(TaskKind::Encode, is_short, || 7).await, Some(7));
            assert_eq!(run_computing(TaskKind::Encode, is_short, bomb).await, None);
        }
    }
}
