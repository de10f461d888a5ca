//! Where the CPU engine's time goes: one thread, by phase, beside the multiply-adds that the core could do.
//!
//! `cargo run --release -p benches --bin profile-cpu -- --model models/groundline-mini --pairs benches/data/pairs.jsonl.gz`
//!
//! Each group of sequences is computed several times and each stretch of work counts with its shortest time, so that other
//! load on the machine shows little.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the table goes to standard output")]

use anyhow::{Context as _, anyhow};
use benches::read_pairs;
use clap::Parser;
use groundline_inference::cpu::{Isa, Phase, bench::peak_gflops};
use groundline_inference::{Engine as _, LoadOptions, Model, Precision, PrecisionChoice};
use groundline_types::{Problem, Work};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Parser)]
struct Arguments {
    /// The model's folder.
    #[arg(long)]
    model: PathBuf,
    /// JSONL with `premise` and `claim`.
    #[arg(long)]
    pairs: PathBuf,
    /// How exactly to compute, such as f32, bf16 or int8-bf16-output.
    #[arg(long, default_value_t = Precision::F32)]
    precision: Precision,
    /// How many pairs.
    #[arg(long, default_value_t = 200)]
    limit: usize,
    /// How often each group is computed.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// What of a model's shape decides how many operations its matrix products take.
#[derive(Debug, Deserialize)]
struct Shape {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
}

impl Shape {
    /// Floating-point operations of a phase's products for `tokens` tokens in `pairs` pairs; 0 where it has none. Of the last
    /// layer only keys and values are needed for all tokens, the rest for one token of each pair.
    fn flop(&self, phase: Phase, tokens: usize, pairs: usize) -> f64 {
        let all = tokens * self.num_hidden_layers;
        let needed = tokens * (self.num_hidden_layers - 1) + pairs;
        let square = 2 * self.hidden_size * self.hidden_size;
        let feed_forward = 2 * self.hidden_size * self.intermediate_size;
        let flop = match phase {
            Phase::Projections => (2 * all + needed) * square,
            Phase::AttentionOutput => needed * square,
            Phase::Intermediate | Phase::Output => needed * feed_forward,
            Phase::Embedding | Phase::Attention | Phase::Norms | Phase::Heads => 0,
        };
        flop as f64
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let precision = PrecisionChoice::Exactly(arguments.precision);
    let options = LoadOptions { threads: Some(1), precision, ..LoadOptions::default() };
    let model = Model::load(&arguments.model, &options).map_err(failed)?;
    let config = std::fs::read_to_string(arguments.model.join("config.json"))?;
    let shape: Shape = serde_json::from_str(&config).context("config.json lacks a size")?;
    let pairs = read_pairs(&arguments.pairs, arguments.limit)?;
    let encode = |work: &Work| model.encode(work).map_err(failed);
    let batch = pairs.iter().map(encode).collect::<anyhow::Result<Vec<_>>>()?;
    let tokens: usize = batch.iter().map(|pair| pair.ids.len()).sum();
    let peak = peak_gflops(Isa::choose(None).map_err(failed)?, Duration::from_millis(500));
    let times = model.profile(&batch, arguments.rounds);
    let total: f64 = times.iter().map(Duration::as_secs_f64).sum();
    println!("{}, {} pairs, {tokens} tokens, peak {peak:.1} GFLOP/s", model.name(), batch.len());
    for (phase, time) in Phase::ALL.into_iter().zip(times) {
        let seconds = time.as_secs_f64();
        let rate = shape.flop(phase, tokens, batch.len()) / seconds / 1e9;
        println!(
            "{:18} {:8.3} us/token {:5.1} % of time {rate:6.1} GFLOP/s {:5.1} % of peak",
            phase.name(),
            seconds * 1e6 / tokens as f64,
            seconds / total * 100.0,
            rate / peak * 100.0,
        );
    }
    let flop: f64 = Phase::ALL.into_iter().map(|phase| shape.flop(phase, tokens, batch.len())).sum();
    println!(
        "{:18} {:8.3} us/token, {:.1} pairs/s; products alone would reach {:.1} % of peak",
        "all",
        total * 1e6 / tokens as f64,
        batch.len() as f64 / total,
        flop / total / 1e9 / peak * 100.0
    );
    Ok(())
}

fn failed(problem: Problem) -> anyhow::Error {
    anyhow!("{problem}")
}
