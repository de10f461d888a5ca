//! The driver of `cargo xtask chaos`.

#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "a command line tool")]

use clap::Parser;
use std::process::ExitCode;
use std::time::Duration;
use system_tests::chaos;

/// Runs a cluster of real processes under faults that follow from a seed.
#[derive(Debug, Parser)]
struct Arguments {
    /// What everything follows from
    #[arg(long)]
    seed: u64,
    /// How long callers ask
    #[arg(long)]
    seconds: u64,
    /// A network namespace for each process; needs root
    #[arg(long)]
    netns: bool,
    /// The process that has made the hub that this one runs in
    #[arg(long, hide = true)]
    inside: Option<u32>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let options = chaos::Options {
        seed: arguments.seed,
        storm: Duration::from_secs(arguments.seconds),
        namespaces: arguments.netns,
        inside: arguments.inside,
    };
    match chaos::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
