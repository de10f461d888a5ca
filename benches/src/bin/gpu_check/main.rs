//! Everything there is to know of a GPU, in under six minutes: `cargo xtask gpu-check` builds and packs this, and a machine with a GPU runs it.
//!
//! What is right comes first (each wrapper of an instruction against its twin, each kernel against f64, each step of a pass against the
//! kernels' host twins, a whole model against the CPU engine), then what is fast. Each part is a process of its own with a time of its
//! own, so one that hangs or ends in a signal takes nothing else along. The findings are one JSON object, written to a file and told as
//! they come. Status 4: there is no GPU; 1: something is wrong.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod conduct;
mod libraries;
mod limited;
mod models;
mod parts;
mod peers;
mod roofline;
mod verdict;

use clap::Parser;
use conduct::TIME;
use parts::PARTS;
use std::path::PathBuf;
use std::process::ExitCode;

const EXIT_NO_GPU: u8 = 4;

#[derive(Debug, Parser)]
struct Arguments {
    /// The folder that `cargo xtask gpu-check --pack` made: program, kernels.so, model, pairs
    #[arg(long)]
    folder: PathBuf,
    /// The number of the GPU
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Where the findings go
    #[arg(long, default_value = "gpu-check.json")]
    output: PathBuf,
    /// Say what would be run, and run nothing
    #[arg(long)]
    plan: bool,
    /// Every part in sizes so small that a stand-in for the driver computes them: figures mean nothing
    #[arg(long)]
    rehearsal: bool,
    /// Run this part alone and write what it found; for the program itself
    #[arg(long, value_name = "NAME", hide = true)]
    part: Option<String>,
    /// Seconds that the part has
    #[arg(long, value_name = "N", default_value_t = 60, hide = true)]
    seconds: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.plan {
        println!(
            "the GPU cuda:{}, if there is one; then, as far as {} s allow:",
            arguments.device,
            TIME.as_secs()
        );
        PARTS.iter().for_each(|part| {
            println!("  {:<12} {}, {} s at most", part.name, part.about, part.seconds);
        });
        return ExitCode::SUCCESS;
    }
    // Why a pass was refused, or launches not captured, is only logged.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let done = match &arguments.part {
        Some(name) => conduct::run_part(&arguments, name),
        None => conduct::check(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
