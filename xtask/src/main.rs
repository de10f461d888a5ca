//! Automation of the repository: one command each for testing, tidiness, faults and the CPU benchmark.
//!
//! Invariant of absence: depends on no crate of the product, so that it builds in seconds and runs before they compile.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod bench;
mod bench_check;
mod bench_cluster;
mod chaos;
mod charts;
mod codegen;
mod gpu_check;
mod kernels;
mod nats_matrix;
mod sim;
mod test;
mod tidy;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Automation of the repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Formatting, house rules, lints, tests and doctests, cheapest first.
    Test(test::Options),
    /// House rules: dependency edges, file sizes, banned calls, error pages, dead files.
    Tidy,
    /// The chart and the files for deploying: linted, rendered, validated, and given to the command itself.
    Charts,
    /// Rust from protobuf: written, or compared with what is committed.
    Codegen(codegen::Options),
    /// The GPU kernels with NVIDIA's compiler: every target, resources within limits, kernels/gen as its sources say. No GPU needed.
    Kernels(kernels::GateOptions),
    /// The GPU kernels on the CPU: against double precision under three schedules, whole models against golden logits, planted faults.
    KernelsHost(kernels::HostOptions),
    /// A machine with a GPU: what is right and what is fast, in six minutes; everything is built and packed before.
    GpuCheck(gpu_check::Options),
    /// Tests of the bus on every version of the NATS server that is supported.
    NatsMatrix(nats_matrix::Options),
    /// Whole clusters under faults, on a simulated network and clock; a seed that fails is named and can be replayed.
    Sim(sim::Options),
    /// Real processes under faults: a cluster whose incidents follow from a seed, or one scenario.
    Chaos(chaos::Options),
    /// CPU speed side by side with onnxruntime and transformers, in one run.
    BenchCpu(bench::Options),
    /// `groundline check` beside SummaC's published way of working: responses a second, at equal scores.
    BenchCheck(bench_check::Options),
    /// A whole cluster on this machine: overhead, throughput, scaling, fairness, overload, soak.
    BenchCluster(bench_cluster::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = repository_root().and_then(|root| match &arguments.command {
        Command::Test(options) => test::run(&root, options),
        Command::Tidy => tidy::command(&root),
        Command::NatsMatrix(options) => nats_matrix::run(&root, options),
        Command::Charts => charts::check(&root).map_err(Into::into),
        Command::Kernels(options) => kernels::gate(&root, options).map_err(Into::into),
        Command::KernelsHost(options) => kernels::host(&root, options).map_err(Into::into),
        Command::GpuCheck(options) => gpu_check::run(&root, options),
        Command::Codegen(options) => codegen::run(&root, options),
        Command::Sim(options) => sim::run(&root, options),
        Command::Chaos(options) => chaos::run(&root, options),
        Command::BenchCpu(options) => bench::run(&root, options),
        Command::BenchCheck(options) => bench_check::run(&root, options),
        Command::BenchCluster(options) => bench_cluster::run(&root, options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without the backtrace that `{error:?}` adds: these are findings, not bugs of ours.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// How the variables begin that `cargo run` sets for the package that it runs.
const OF_OUR_PACKAGE: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

/// The folder of the workspace manifest.
fn repository_root() -> anyhow::Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_path_buf).context("xtask lies in no folder")
}

/// A command that runs cargo, the same one that runs us.
fn cargo(root: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    // `cargo run` tells us of our own package. Build scripts that ask for those names, as ring's does, would run again in every
    // build that alternates with one from a shell, and all that depends on them with it.
    for (name, _) in std::env::vars_os() {
        if OF_OUR_PACKAGE.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}
