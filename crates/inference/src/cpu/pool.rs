//! One fixed set of threads for all engines of the process.
//!
//! A batch is a number of independent jobs of some milliseconds each, so one lock around the queue costs nothing. Jobs
//! start in order; a batch never runs on more threads than its caller allows.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A job of a batch, by its number.
pub(super) type Job = dyn Fn(usize) + Send + Sync;

/// The process's threads. They are started when first needed and wait between batches until the process ends.
pub(super) static POOL: Pool =
    Pool { queue: Mutex::new(Queue { threads: 0, batches: VecDeque::new() }), work: Condvar::new() };

/// Threads and the batches they work on.
#[derive(Debug)]
pub(super) struct Pool {
    queue: Mutex<Queue>,
    work: Condvar,
}

#[derive(Debug)]
struct Queue {
    threads: usize,
    /// Batches with jobs that have not started, oldest first.
    batches: VecDeque<Arc<Batch>>,
}

struct Batch {
    job: Arc<Job>,
    jobs: usize,
    threads: usize,
    progress: Mutex<Progress>,
    done: Condvar,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Progress {
    started: usize,
    running: usize,
    finished: usize,
    panicked: usize,
}

/// No code panics while it holds a lock of this file, so a poisoned one is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Makes sure that at least `threads` threads exist.
    pub(super) fn grow(&'static self, threads: usize) -> std::io::Result<()> {
        let mut queue = lock(&self.queue);
        while queue.threads < threads {
            let name = format!("inference-{}", queue.threads);
            std::thread::Builder::new().name(name).spawn(|| self.work())?;
            queue.threads += 1;
        }
        Ok(())
    }

    /// Runs `job` for every number below `jobs` on at most `threads` threads, waits for all of them and returns how many
    /// panicked. The pool must have a thread (see [`Pool::grow`]), and no job may call this.
    pub(super) fn run(&self, threads: usize, jobs: usize, job: Arc<Job>) -> usize {
        if jobs == 0 {
            return 0;
        }
        let batch = Arc::new(Batch {
            job,
            jobs,
            threads: threads.max(1),
            progress: Mutex::new(Progress::default()),
            done: Condvar::new(),
        });
        lock(&self.queue).batches.push_back(Arc::clone(&batch));
        self.work.notify_all();
        let mut progress = lock(&batch.progress);
        while progress.finished < jobs {
            progress = batch.done.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        progress.panicked
    }

    /// What a thread does for ever.
    fn work(&self) {
        loop {
            let (batch, number) = self.next_job();
            let panicked = catch_unwind(AssertUnwindSafe(|| (batch.job)(number))).is_err();
            let mut progress = lock(&batch.progress);
            progress.running -= 1;
            progress.finished += 1;
            progress.panicked += usize::from(panicked);
            if progress.finished == batch.jobs {
                batch.done.notify_all();
            }
        }
    }

    fn next_job(&self) -> (Arc<Batch>, usize) {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(found) = queue.claim() {
                return found;
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Queue {
    /// The next job of the oldest batch that may run on one more thread. A batch at its limit needs no wake-up later: the
    /// thread that ends one of its jobs comes here next.
    fn claim(&mut self) -> Option<(Arc<Batch>, usize)> {
        for (place, batch) in self.batches.iter().enumerate() {
            let mut progress = lock(&batch.progress);
            if progress.running < batch.threads {
                let number = progress.started;
                progress.started += 1;
                progress.running += 1;
                let all_started = progress.started == batch.jobs;
                drop(progress);
                let batch = Arc::clone(batch);
                if all_started {
                    self.batches.remove(place);
                }
                return Some((batch, number));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
