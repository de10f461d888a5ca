//! A worker with a toy engine on a NATS broker, as a process of its own that a test may stop or kill.
//!
//! `toy-worker URL BATCH_DELAY_MS`: prints `ready` once it pulls; a termination signal drains it.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test reads it")]

use groundline_bus::{JobBus, NatsBus};
use groundline_testkit::{ToyEngine, ToyHooks};
use groundline_types::{Code, Problem};
use groundline_worker::{Worker, WorkerOptions};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use system_tests::cluster::{POISON, VICTIM, nats_options};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(problem.code.exit_status())
        }
    }
}

async fn run() -> Result<(), Problem> {
    let usage = || Problem::new(Code::INVALID_CONFIG, "usage: toy-worker URL BATCH_DELAY_MS");
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or_else(usage)?;
    let delay_ms = arguments.next().and_then(|text| text.parse().ok()).ok_or_else(usage)?;
    let bus = NatsBus::connect(nats_options(&url)).await?;
    let hooks = ToyHooks {
        batch_delay: Duration::from_millis(delay_ms),
        abort_words: vec![POISON.to_owned(), VICTIM.to_owned()],
        ..ToyHooks::default()
    };
    let worker =
        Worker::start(bus.clone(), Arc::new(ToyEngine::new(hooks)), WorkerOptions::default()).await?;
    let mut terminate = signal(SignalKind::terminate())
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot hear signals: {error}")))?;
    println!("ready");
    let failed = worker.failed();
    tokio::select! {
        _ = terminate.recv() => {}
        problem = failed => return Err(problem),
    }
    worker.drain().await;
    // A connection that is gone has nothing to send any more.
    let _ = bus.drain().await;
    Ok(())
}
