//! Where the CPU engine's time goes: one thread, by phase, beside the products that the core could do.
//!
//! `cargo run --release -p benches --bin profile-cpu -- --model models/groundline-mini --pairs benches/data/pairs.jsonl.gz`
//!
//! Each group of sequences is computed several times and each stretch of work counts with its shortest time, so that other
//! load on the machine shows little. With `--lengths` there is one row for each length instead of one for each phase.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the table goes to standard output")]

use anyhow::{Context as _, anyhow, ensure};
use benches::read_pairs;
use clap::Parser;
use groundline_inference::cpu::bench::{Peaks, gemm_gflops};
use groundline_inference::cpu::{Isa, Phase, PhaseTimes};
use groundline_inference::{Encoded, Engine as _, LoadOptions, Model, Precision, PrecisionChoice};
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
    /// Sequences of so many tokens each, made of the pairs' words, in place of the pairs themselves: a row for each length.
    #[arg(long, value_delimiter = ',', value_name = "N,...")]
    lengths: Vec<usize>,
    /// Tokens of all sequences of one length.
    #[arg(long, default_value_t = 2048, requires = "lengths")]
    tokens: usize,
}

/// What of a model's shape decides how many operations its matrix products take.
#[derive(Debug, Deserialize)]
struct Shape {
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
}

impl Shape {
    /// Operations of a phase's products for `tokens` tokens in `pairs` pairs; 0 where it has none. Of the last layer only keys
    /// and values are needed for all tokens, the rest for one token of each pair.
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

/// One batch's times beside what its products would take at the core's peak.
struct Profile {
    tokens: usize,
    sequences: usize,
    /// Seconds, products and the least seconds for them, by phase.
    phases: Vec<(Phase, f64, f64, f64)>,
}

impl Profile {
    fn new(shape: &Shape, batch: &[Encoded], times: PhaseTimes, peak: impl Fn(Phase) -> f64) -> Self {
        let tokens = batch.iter().map(|sequence| sequence.ids.len()).sum();
        let phase = |(phase, time): (Phase, Duration)| {
            let flop = shape.flop(phase, tokens, batch.len());
            let least = if flop > 0.0 { flop / peak(phase) / 1e9 } else { 0.0 };
            (phase, time.as_secs_f64(), flop, least)
        };
        let phases = Phase::ALL.into_iter().zip(times).map(phase).collect();
        Self { tokens, sequences: batch.len(), phases }
    }

    fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.1).sum()
    }

    /// The share of the time in which the products alone could be done.
    fn of_peak(&self) -> f64 {
        self.phases.iter().map(|phase| phase.3).sum::<f64>() / self.seconds()
    }

    /// The same of the phases that are made of products.
    fn products_of_peak(&self) -> f64 {
        let products = || self.phases.iter().filter(|phase| phase.2 > 0.0);
        products().map(|phase| phase.3).sum::<f64>() / products().map(|phase| phase.1).sum::<f64>()
    }

    /// The share of the time that goes into some phases.
    fn share(&self, wanted: &[Phase]) -> f64 {
        let seconds = self.phases.iter().filter(|phase| wanted.contains(&phase.0)).map(|phase| phase.1);
        seconds.sum::<f64>() / self.seconds()
    }

    fn print_phases(&self) {
        for &(phase, seconds, flop, least) in &self.phases {
            println!(
                "{:18} {:8.3} us/token {:5.1} % of time {:6.1} GFLOP/s {:5.1} % of peak",
                phase.name(),
                seconds * 1e6 / self.tokens as f64,
                seconds / self.seconds() * 100.0,
                flop / seconds / 1e9,
                least / seconds * 100.0,
            );
        }
        println!(
            "{:18} {:8.3} us/token, {:.1} pairs/s; products at their peaks would take {:.1} % of the time",
            "all",
            self.seconds() * 1e6 / self.tokens as f64,
            self.sequences as f64 / self.seconds(),
            self.of_peak() * 100.0
        );
    }

    fn print_row(&self, length: usize) {
        println!(
            "| {length} | {:.2} | {:.1} | {:.0} % | {:.0} % | {:.0} % | {:.0} % |",
            self.seconds() * 1e6 / self.tokens as f64,
            self.sequences as f64 / self.seconds(),
            self.share(&[Phase::Attention]) * 100.0,
            self.share(&[Phase::Embedding, Phase::Norms, Phase::Heads]) * 100.0,
            self.products_of_peak() * 100.0,
            self.of_peak() * 100.0,
        );
    }
}

/// The matrix products alone, of a strip of 96 tokens in the model's sizes, beside the core's peaks.
fn print_products(shape: &Shape, isa: Isa, peaks: &Peaks) {
    let (hidden, wide) = (shape.hidden_size, shape.intermediate_size);
    for (depth, columns) in [(hidden, hidden), (hidden, wide), (wide, hidden)] {
        let of_peak = |precision, peak: f64| {
            gemm_gflops(isa, precision, (96, depth, columns), Duration::from_millis(200)) / peak * 100.0
        };
        println!(
            "product 96 x {depth} x {columns}: {:.0} % of the peak in f32, {:.0} % in bf16, {:.0} % in int8",
            of_peak(Precision::F32, peaks.f32),
            of_peak(Precision::Bf16, peaks.bf16),
            of_peak(Precision::Int8, peaks.int8),
        );
    }
}

/// `count` sequences of `length` tokens: the tokens of real pairs one after another.
fn of_length(batch: &[Encoded], length: usize, count: usize) -> anyhow::Result<Vec<Encoded>> {
    let first = batch.first().context("there are no pairs")?;
    let mut ids = batch.iter().flat_map(|pair| pair.ids.iter().copied()).cycle();
    let sequence =
        |_| Encoded { ids: ids.by_ref().take(length).collect(), type_ids: vec![0; length], ..first.clone() };
    Ok((0..count).map(sequence).collect())
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    ensure!(!arguments.lengths.contains(&0), "a sequence has at least one token");
    let precision = PrecisionChoice::Exactly(arguments.precision);
    let options = LoadOptions { threads: Some(1), precision, ..LoadOptions::default() };
    let model = Model::load(&arguments.model, &options).map_err(failed)?;
    let config = std::fs::read_to_string(arguments.model.join("config.json"))?;
    let shape: Shape = serde_json::from_str(&config).context("config.json lacks a size")?;
    let pairs = read_pairs(&arguments.pairs, arguments.limit)?;
    let encode = |work: &Work| model.encode(work).map_err(failed);
    let batch = pairs.iter().map(encode).collect::<anyhow::Result<Vec<_>>>()?;
    let isa = Isa::choose(None).map_err(failed)?;
    let peaks = Peaks::measure(isa, Duration::from_millis(500));
    let peak = |phase| peaks.of(arguments.precision, phase);
    let profile =
        |batch: &[Encoded]| Profile::new(&shape, batch, model.profile(batch, arguments.rounds), peak);
    println!(
        "{}, one core; at most {:.0} f32, {:.0} bf16, {:.0} int8 GFLOP/s, {:.1} GB/s from memory",
        model.name(),
        peaks.f32,
        peaks.bf16,
        peaks.int8,
        peaks.memory
    );
    print_products(&shape, isa, &peaks);
    if arguments.lengths.is_empty() {
        let profile = profile(&batch);
        println!("{} pairs, {} tokens", profile.sequences, profile.tokens);
        profile.print_phases();
        return Ok(());
    }
    println!(
        "| tokens | us/token | sequences/s | attention | embedding, norms, heads | products, of peak | all, of peak |"
    );
    println!("|---|---|---|---|---|---|---|");
    for &length in &arguments.lengths {
        let batch = of_length(&batch, length, (arguments.tokens / length).max(1))?;
        profile(&batch).print_row(length);
    }
    Ok(())
}

fn failed(problem: Problem) -> anyhow::Error {
    anyhow!("{problem}")
}
