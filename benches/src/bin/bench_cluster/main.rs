//! Measurements of a whole cluster on one machine: overhead, throughput, scaling, fairness, overload, soak.
//!
//! `cargo xtask bench-cluster` builds this and what it needs, runs it, and keeps what it says. A measurement prints one JSON object on
//! standard output, and how it goes on standard error.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod engine;
mod figures;
mod histogram;
mod http;
mod load;
mod profile;
mod report;
mod stack;
mod system;
mod texts;
mod worker;

use clap::{Args, Parser, Subcommand};
use figures::Scale;
use stack::Tools;
use std::path::PathBuf;

/// The allocator of the command, so that what is measured is what runs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measurements of a whole cluster on one machine.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What everything around an engine adds to the time of a check.
    Overhead(Options),
    /// Checks a second through the memory bus, over NATS, and over HTTP and NATS.
    Throughput(Options),
    /// From 1 to 16 workers of fixed speed, and a second coordinator under load.
    Scaling(Options),
    /// What one tenant notices of another one's flood.
    Fairness(Options),
    /// Three times as much as the cluster can do.
    Overload(Options),
    /// Load for a long time: does anything grow?
    Soak {
        #[command(flatten)]
        options: Options,
        /// How long.
        #[arg(long, default_value_t = 30.0)]
        minutes: f64,
    },
    /// A worker with a simulated device; started by the measurements.
    Worker(worker::Options),
}

#[derive(Debug, Args)]
struct Options {
    /// The `groundline` command.
    #[arg(long, value_name = "FILE")]
    groundline: PathBuf,
    /// A model folder, whose tokenizer and labels are used; its weights are not.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// A few seconds of everything: does it work at all?
    #[arg(long)]
    quick: bool,
}

impl Options {
    fn tools(&self) -> anyhow::Result<Tools> {
        Ok(Tools { groundline: self.groundline.canonicalize()?, model: self.model.canonicalize()? })
    }

    fn scale(&self) -> Scale {
        if self.quick { Scale::Quick } else { Scale::Full }
    }
}

/// Says how it goes.
fn note(line: &str) {
    eprintln!("{line}");
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let report = match Arguments::parse().command {
        Command::Worker(options) => return worker::run(options).await,
        Command::Overhead(options) => figures::overhead(&options.tools()?, options.scale()).await?,
        Command::Throughput(options) => figures::throughput(&options.tools()?, options.scale()).await?,
        Command::Scaling(options) => figures::scaling(&options.tools()?, options.scale()).await?,
        Command::Fairness(options) => figures::fairness(&options.tools()?, options.scale()).await?,
        Command::Overload(options) => figures::overload(&options.tools()?, options.scale()).await?,
        Command::Soak { options, minutes } => figures::soak(&options.tools()?, minutes).await?,
    };
    println!("{}", report.json());
    Ok(())
}
