//! A small cluster on a real broker: workers are processes, coordinators live in the test.

use groundline_bus::{DeadJobs, NatsBus, NatsOptions};
use groundline_coordinator::{Coordinator, CoordinatorOptions};
use groundline_inference::Engine;
use groundline_testkit::{NatsServer, ToyEngine, ToyHooks, ToyStats};
use groundline_types::{CheckRequest, CheckResult, Problem};
use groundline_worker::{Worker, WorkerOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A claim with this word brings a worker down that scores it against evidence with [`VICTIM`].
pub const POISON: &str = "poison";
/// A word of one sentence of every source.
pub const VICTIM: &str = "item3";
/// How long a delivery may stay undecided: short, so that tests are.
pub const ACK_WAIT: Duration = Duration::from_secs(2);
/// How long a check of a test may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// What every process of a test's cluster is told of the broker.
pub fn nats_options(url: &str) -> NatsOptions {
    NatsOptions {
        ack_wait_online_ms: u64::try_from(ACK_WAIT.as_millis()).unwrap_or(u64::MAX),
        max_job_bytes_total: 64 << 20,
        max_dead_bytes_total: 64 << 20,
        max_check_bytes_total: 64 << 20,
        max_body_bytes_total: 128 << 20,
        max_answer_bytes_total: 64 << 20,
        ..NatsOptions::at(url)
    }
}

/// A worker process. Dropping it kills it.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
}

impl WorkerProcess {
    /// Starts one and waits until it pulls.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start(server: &NatsServer, batch_delay: Duration) -> Self {
        Self::start_at(&server.url(), batch_delay, None)
    }

    /// Starts one that connects to a URL, with the model of a folder or a toy, and waits until it pulls.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start_at(url: &str, batch_delay: Duration, model: Option<&Path>) -> Self {
        let mut command = Command::new(binary());
        command.arg(url).arg(batch_delay.as_millis().to_string()).args(model);
        command.env("RUST_LOG", "off").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("cannot start a worker: {error}"),
        };
        let mut line = String::new();
        let read = child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
        assert!(matches!(read, Some(Ok(_))) && line.trim() == "ready", "the worker says {line:?}");
        Self { child }
    }

    /// Sends it a signal, such as `KILL`, `TERM`, `STOP` or `CONT`.
    ///
    /// # Panics
    /// Where it cannot be sent.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "cannot send {name}");
    }

    /// Waits for its end: its exit status, -1 where a signal ended it.
    ///
    /// # Panics
    /// Where it does not end in time.
    pub fn ended(&mut self) -> i32 {
        let give_up = std::time::Instant::now() + DEADLINE;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code().unwrap_or(-1);
            }
            assert!(std::time::Instant::now() < give_up, "the worker does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its number in the system.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn is_dead(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The worker's command lies beside the folder of the test's own.
fn binary() -> PathBuf {
    let profile = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.parent()?.to_owned()));
    let path = profile.unwrap_or_default().join("toy-worker");
    assert!(path.is_file(), "{} is missing; it is built with the tests", path.display());
    path
}

/// A coordinator in this process.
///
/// # Panics
/// Where it does not start.
pub async fn coordinator(server: &NatsServer) -> (NatsBus, Coordinator) {
    coordinator_at(nats_options(&server.url()), coordinator_options()).await
}

/// Settings of the coordinators of tests: no cache, so that every check is work, and resends that do not take long.
pub fn coordinator_options() -> CoordinatorOptions {
    CoordinatorOptions {
        max_checks: 1000,
        cache_bytes: 0,
        resend_after: Duration::from_secs(3),
        max_attempts: 100,
        ..CoordinatorOptions::default()
    }
}

/// A bus of this process.
///
/// # Panics
/// Where it cannot connect.
pub async fn connect(options: NatsOptions) -> NatsBus {
    NatsBus::connect(options).await.unwrap_or_else(|problem| panic!("cannot connect: {problem}"))
}

/// A coordinator in this process, with settings.
///
/// # Panics
/// Where it does not start.
pub async fn coordinator_at(nats: NatsOptions, options: CoordinatorOptions) -> (NatsBus, Coordinator) {
    let bus = connect(nats).await;
    let facts = ToyEngine::default().facts().clone();
    let coordinator = Coordinator::start(bus.clone(), facts, options).await;
    (bus, coordinator.unwrap_or_else(|problem| panic!("cannot start a coordinator: {problem}")))
}

/// A worker in this process, on an engine with hooks, and what the engine has seen.
///
/// # Panics
/// Where it does not start.
pub async fn worker(nats: NatsOptions, hooks: ToyHooks) -> (NatsBus, Worker, Arc<ToyStats>) {
    let bus = connect(nats).await;
    let batch_delay = hooks.batch_delay;
    let engine = ToyEngine::new(hooks);
    let stats = engine.stats();
    // A device whose batches take as long however small they are needs larger ones: see decision 7.
    let batch_target = WorkerOptions::default().batch_target.max(4 * batch_delay);
    let options = WorkerOptions { batch_target, ..WorkerOptions::default() };
    let worker = Worker::start(bus.clone(), Arc::new(engine), options).await;
    (bus, worker.unwrap_or_else(|problem| panic!("cannot start a worker: {problem}")), stats)
}

/// Waits until something holds.
///
/// # Panics
/// Where it does not for a minute.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < give_up, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Expects that nothing was given up.
///
/// # Panics
/// Where a job is dead.
pub async fn expect_no_dead(bus: &NatsBus) {
    match DeadJobs::list(bus, 100, 0).await {
        Ok(dead) => assert!(dead.is_empty(), "{dead:?}"),
        Err(error) => panic!("the dead cannot be listed: {error}"),
    }
}

/// A request that no other of its cluster is equal to.
pub fn request(number: usize) -> CheckRequest {
    let sentence = |index: usize| format!("Crate number{number} holds the item{index} of the list. ");
    let source = (0..8).map(sentence).collect::<String>();
    let response = (0..4).map(sentence).collect::<String>();
    let mut request = CheckRequest::new(response.as_str(), source.as_str());
    request.deadline_ms = u64::try_from(DEADLINE.as_millis()).ok();
    request
}

/// Callers that ask without pause, some at a time, until they are told to stop.
#[derive(Debug)]
pub struct Load {
    callers: JoinSet<Vec<Result<CheckResult, Problem>>>,
    stop: tokio::sync::watch::Sender<bool>,
    began: Instant,
}

impl Load {
    /// Starts so many callers of one coordinator.
    pub fn start(coordinator: &Coordinator, callers: usize) -> Self {
        let (mut set, stop) = (JoinSet::new(), tokio::sync::watch::Sender::new(false));
        for caller in 0..callers {
            let (coordinator, stopped) = (coordinator.clone(), stop.subscribe());
            set.spawn(async move {
                let mut answers = Vec::new();
                for round in 0.. {
                    if *stopped.borrow() {
                        break;
                    }
                    answers.push(coordinator.check(request(caller + round * callers)).await);
                }
                answers
            });
        }
        Self { callers: set, stop, began: Instant::now() }
    }

    /// Lets every caller have its last answer, and expects that each of all is whole. Returns how many there were, and the time.
    ///
    /// # Panics
    /// Where a request failed, or was not answered in full.
    pub async fn expect_all_whole(mut self) -> (usize, Duration) {
        self.stop.send_replace(true);
        let mut count = 0;
        while let Some(answers) = self.callers.join_next().await {
            for answer in answers.unwrap_or_else(|error| panic!("a caller failed: {error}")) {
                match answer {
                    Ok(result) => assert_eq!(result.coverage, Some(1.0), "{:?}", result.notes),
                    Err(problem) => panic!("a request failed: {problem}"),
                }
                count += 1;
            }
        }
        (count, self.began.elapsed())
    }
}
