//! `groundline check`.

mod plan;
mod run;
mod tally;
mod window;

use crate::args::CheckArgs;
use crate::console::{Console, colored};
use crate::failure::Failure;
use crate::input::{Record, spawn_reader};
use crate::interrupt::Interrupts;
use crate::output::{self, Layout, Palette, Sink};
use groundline::Config;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Checks what the options name and answers with the exit status.
pub(crate) async fn check(
    args: CheckArgs,
    config: Config,
    config_file: Option<&Path>,
    console: &mut Console,
    interrupts: Interrupts,
) -> Result<u8, Failure> {
    if !args.methods.is_empty() {
        groundline::resolve_methods(&args.methods)?;
    }
    if let Some(policy) = &args.policy {
        groundline::resolve_policy(policy, &config.policies)?;
    }
    plan::refuse_overwriting(&args, config_file)?;
    let limits = plan::input_limits(&config);
    let input = plan::input(&args, &limits)?;
    // Opened before any work, so that a path that cannot be written costs nothing.
    let sink = match &args.output {
        Some(path) => Sink::file(path)?,
        None => Sink::stdout(),
    };
    let (records, many, total_bytes) = match input {
        plan::Input::One(record) => (one(*record), false, 0),
        plan::Input::Files(files) => {
            let total_bytes = total_bytes(&files);
            (spawn_reader(files, limits)?, true, total_bytes)
        }
    };
    let layout = layout(&args, &config);
    let options = run::RunOptions { many, total_bytes, layout, args, config };
    let outcome = run::Run::new(options, console, sink, interrupts).finish(records).await;
    console.clear();
    outcome
}

/// A channel that holds one record and then ends.
fn one(record: Record) -> mpsc::Receiver<Record> {
    let (sender, receiver) = mpsc::channel(1);
    // The channel has room for one and its receiver lives: this cannot fail.
    let _ = sender.try_send(record);
    receiver
}

/// Bytes of all files together; 0 where it is not known, as for standard input.
fn total_bytes(files: &[PathBuf]) -> u64 {
    let size = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        metadata.is_file().then_some(metadata.len())
    };
    files.iter().map(size).sum::<Option<u64>>().unwrap_or(0)
}

fn layout(args: &CheckArgs, config: &Config) -> Layout {
    let color = match &args.output {
        Some(_) => config.output.color == groundline::ColorMode::Always,
        None => colored(config.output.color, &std::io::stdout()),
    };
    Layout {
        palette: Palette { colored: color },
        columns: output::columns(config.output.width_columns),
        evidence: config.output.evidence,
        offsets: config.output.offsets,
    }
}
