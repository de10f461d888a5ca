//! A worker that fails on purpose, on a NATS broker, as a process of its own that a test may stop or kill.
//!
//! `toy-worker URL BATCH_DELAY_MS [MODEL_FOLDER]`: prints `ready` once it pulls; a termination signal drains it. Without a folder its
//! engine is a toy.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test reads it")]

use groundline::Engine;
use groundline_bus::{JobBus, NatsBus};
use groundline_telemetry::{Telemetry, TelemetryOptions};
use groundline_testkit::{ToyEngine, ToyHooks};
use groundline_types::{Code, Problem};
use groundline_worker::{Worker, WorkerOptions};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use system_tests::cluster::{POISON, VICTIM, nats_options};
use system_tests::hooked::HookedModel;
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
    let usage = || Problem::new(Code::INVALID_CONFIG, "usage: toy-worker URL BATCH_DELAY_MS [MODEL_FOLDER]");
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or_else(usage)?;
    let delay_ms = arguments.next().and_then(|text| text.parse().ok()).ok_or_else(usage)?;
    let (batch_delay, abort_words) =
        (Duration::from_millis(delay_ms), vec![POISON.to_owned(), VICTIM.to_owned()]);
    let model = arguments.next();
    // With a model it stands for the real thing, and is read like it.
    let log_filter = if model.is_some() { "info" } else { "off" }.to_owned();
    let options = TelemetryOptions { log_filter, ..TelemetryOptions::default() };
    let _telemetry = Telemetry::start(&options, "worker")?;
    let engine: Arc<dyn Engine> = match model {
        Some(folder) => Arc::new(HookedModel::load(folder.as_ref(), batch_delay, abort_words)?),
        None => Arc::new(ToyEngine::new(ToyHooks { batch_delay, abort_words, ..ToyHooks::default() })),
    };
    let bus = NatsBus::connect(nats_options(&url)).await?;
    let worker = Worker::start(bus.clone(), engine, WorkerOptions::default()).await?;
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
