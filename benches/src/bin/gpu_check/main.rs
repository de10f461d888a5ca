//! Everything there is to know of a GPU, in under six minutes: `cargo xtask gpu-check` builds and packs this, and a machine with a GPU runs it.
//!
//! What is right comes first (each step against the kernels' host twins, a whole model against the CPU engine), then what is fast.
//! The findings are one JSON object, written to a file and told as they come. Status 4: there is no GPU; 1: something is wrong.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod models;
mod parts;
mod roofline;

use anyhow::Context as _;
use clap::Parser;
use groundline_inference::cuda::{DeviceInfo, HostKernels, look};
use parts::{PARTS, Setup};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All of it; what would begin later is left out, and said to be: then not all is known to be right.
const TIME: Duration = Duration::from_secs(330);
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
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.plan {
        println!(
            "the GPU cuda:{}, if there is one; then, as far as {} s allow:",
            arguments.device,
            TIME.as_secs()
        );
        PARTS.iter().for_each(|part| println!("  {:<12} {}", part.name, part.about));
        return ExitCode::SUCCESS;
    }
    // Why a pass was refused, or launches not captured, is only logged.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let device = look().map(|devices| devices.into_iter().find(|info| info.ordinal == arguments.device));
    let device = match device {
        Ok(Some(device)) => device,
        Ok(None) => {
            eprintln!("error: there is no GPU cuda:{}", arguments.device);
            return ExitCode::from(EXIT_NO_GPU);
        }
        Err(problem) => {
            eprintln!("error: this machine has no GPU that can be checked: {problem}");
            return ExitCode::from(EXIT_NO_GPU);
        }
    };
    match check(&arguments, &device) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn check(arguments: &Arguments, device: &DeviceInfo) -> anyhow::Result<bool> {
    println!("{device}");
    let kernels = HostKernels::load(&arguments.folder.join("kernels.so"))?;
    let setup =
        Setup { folder: arguments.folder.clone(), ordinal: device.ordinal, kernels: Arc::new(kernels) };
    let (started, mut all_right) = (Instant::now(), true);
    let mut findings = json!({ "schema": "groundline.gpu-check/1", "device": device.to_string() });
    for part in PARTS {
        let began = Instant::now();
        if started.elapsed() > TIME {
            println!("{}: left out, the time is up", part.name);
            findings[part.name] = json!({ "left_out": true });
            all_right = false;
            continue;
        }
        let (found, is_right) = match (part.run)(&setup, device) {
            Ok(found) => (found.value, found.is_right),
            Err(error) => (json!({ "error": format!("{error:#}") }), false),
        };
        let took = began.elapsed().as_secs_f64();
        println!("{} ({took:.1} s, {}): {found}", part.name, if is_right { "right" } else { "WRONG" });
        all_right &= is_right;
        findings[part.name] = found;
        write(&arguments.output, &findings)?;
    }
    findings["all_right"] = all_right.into();
    findings["seconds"] = started.elapsed().as_secs_f64().round().into();
    write(&arguments.output, &findings)?;
    Ok(all_right)
}

/// After each part, so that what was found stays where a later part ends the process.
fn write(path: &Path, findings: &Value) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(findings)? + "\n";
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
