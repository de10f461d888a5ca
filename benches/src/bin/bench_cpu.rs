//! Our contender of `cargo xtask bench-cpu`: the CPU engine, driven over standard input and output.
//!
//! Each line on standard input is a command, each answer one JSON object on a line: `peak` measures what the machine could
//! do, `run` scores every pair once and says how long it took, `logits` gives the logits of the last run in the pairs'
//! order. `benches/peers/contender.py` answers to the same commands. Batches are cut in the pairs' order by the number of
//! tokens that the engine asks for, as a worker cuts them.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "answers go to standard output")]

use anyhow::{Context as _, anyhow, bail};
use benches::read_pairs;
use clap::Parser;
use groundline_inference::cpu::{Isa, bench::peak_gflops};
use groundline_inference::{Encoded, Engine, LoadOptions, Model, Precision, PrecisionChoice};
use groundline_types::{Problem, Score, Work};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the peak of one core is measured.
const PEAK_TIME: Duration = Duration::from_secs(1);

#[derive(Debug, Parser)]
struct Arguments {
    /// The model's folder.
    #[arg(long)]
    model: PathBuf,
    /// JSONL with `premise` and `claim`.
    #[arg(long)]
    pairs: PathBuf,
    /// Threads that compute.
    #[arg(long)]
    threads: usize,
    /// How exactly to compute, such as f32, bf16 or int8-bf16-output.
    #[arg(long, default_value_t = Precision::F32)]
    precision: Precision,
    /// Take only so many pairs.
    #[arg(long)]
    limit: Option<usize>,
}

struct Contender {
    engine: Model,
    isa: Isa,
    shape: Shape,
    threads: usize,
    work: Vec<Work>,
    logits: Vec<Arc<[f32]>>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let precision = PrecisionChoice::Exactly(arguments.precision);
    let options = LoadOptions { threads: Some(arguments.threads), precision, ..LoadOptions::default() };
    let mut contender = Contender {
        engine: Model::load(&arguments.model, &options).map_err(failed)?,
        isa: Isa::choose(None).map_err(failed)?,
        shape: Shape::read(&arguments.model)?,
        threads: arguments.threads.max(1),
        work: read_pairs(&arguments.pairs, arguments.limit.unwrap_or(usize::MAX))?,
        logits: Vec::new(),
    };
    let version = format!("groundline {} ({})", env!("CARGO_PKG_VERSION"), contender.engine.name());
    println!("{}", json!({ "version": version, "isa": contender.isa.name() }));
    for line in std::io::stdin().lock().lines() {
        let answer = match line?.trim() {
            "peak" => contender.peak(),
            "run" => contender.run()?,
            "logits" => json!({ "logits": contender.logits }),
            other => bail!("unknown command {other:?}"),
        };
        println!("{answer}");
    }
    Ok(())
}

fn failed(problem: Problem) -> anyhow::Error {
    anyhow!("{problem}")
}

impl Contender {
    /// Multiply-adds per second of all threads at once, in GFLOP/s.
    fn peak(&self) -> Value {
        let (isa, count) = (self.isa, self.threads);
        let one = move || peak_gflops(isa, PEAK_TIME);
        let total: f64 = std::thread::scope(|scope| {
            let threads = (0..count).map(|_| scope.spawn(one)).collect::<Vec<_>>();
            threads.into_iter().map(|thread| thread.join().unwrap_or(0.0)).sum()
        });
        json!({ "peak_gflops": total })
    }

    fn run(&mut self) -> anyhow::Result<Value> {
        let started = Instant::now();
        let encoded = self.encode()?;
        let tokenised = Instant::now();
        let mut scores = Vec::with_capacity(encoded.len());
        for batch in batches(&encoded, self.engine.batch_tokens()) {
            scores.extend(self.engine.run(batch));
        }
        let finished = Instant::now();
        self.logits = scores.into_iter().map(logits).collect::<anyhow::Result<_>>()?;
        let tokens: usize = encoded.iter().map(|pair| pair.ids.len()).sum();
        let flop: f64 = encoded.iter().map(|pair| self.shape.gemm_flop(pair.ids.len())).sum();
        Ok(json!({
            "seconds": (finished - tokenised).as_secs_f64(),
            "tokenising_seconds": (tokenised - started).as_secs_f64(),
            "pairs": encoded.len(),
            "tokens": tokens,
            "gemm_gflop": flop / 1e9,
        }))
    }

    /// Tokenises on all threads, as the peers' tokenizer does.
    fn encode(&self) -> anyhow::Result<Vec<Encoded>> {
        let share = self.work.len().div_ceil(self.threads).max(1);
        let encode = |part: &[Work]| part.iter().map(|work| self.engine.encode(work)).collect::<Vec<_>>();
        let parts = std::thread::scope(|scope| {
            let threads = self.work.chunks(share).map(|part| scope.spawn(move || encode(part)));
            let threads = threads.collect::<Vec<_>>();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let mut encoded = Vec::with_capacity(self.work.len());
        for part in parts {
            for item in part.map_err(|_| anyhow!("a tokenising thread panicked"))? {
                encoded.push(item.map_err(failed)?);
            }
        }
        Ok(encoded)
    }
}

fn logits(score: Result<Score, Problem>) -> anyhow::Result<Arc<[f32]>> {
    match score.map_err(failed)? {
        Score::Logits(logits) => Ok(logits),
        Score::Embedding(_) | Score::Similarity(_) | Score::Tokens(_) => {
            bail!("the engine answered a pair with no logits")
        }
    }
}

/// Cuts `work` in order into batches of at most `tokens` tokens, or of one item where that alone has more.
fn batches(work: &[Encoded], tokens: usize) -> Vec<&[Encoded]> {
    let mut batches = Vec::new();
    let (mut start, mut held) = (0, 0);
    for (index, item) in work.iter().enumerate() {
        if index > start && held + item.ids.len() > tokens {
            batches.push(&work[start..index]);
            (start, held) = (index, 0);
        }
        held += item.ids.len();
    }
    if start < work.len() {
        batches.push(&work[start..]);
    }
    batches
}

/// What of a model's shape decides how many operations its matrix products take.
#[derive(Debug, Deserialize)]
struct Shape {
    #[serde(alias = "d_model")]
    hidden_size: usize,
    #[serde(alias = "d_ff")]
    intermediate_size: usize,
    #[serde(alias = "num_layers")]
    num_hidden_layers: usize,
    /// T5's, as in `gated-gelu`.
    #[serde(default)]
    feed_forward_proj: String,
}

impl Shape {
    fn read(model: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(model.join("config.json")).context("cannot read config.json")?;
        serde_json::from_str(&text).context("config.json lacks a size")
    }

    /// Floating-point operations of the linear layers for one pair of `tokens` tokens: those that a classification needs.
    /// The last layer's query, output and feed-forward are needed for token 0 only. Attention itself is not counted.
    fn gemm_flop(&self, tokens: usize) -> f64 {
        let (hidden, inner) = (self.hidden_size as f64, self.intermediate_size as f64);
        let (tokens, layers) = (tokens as f64, self.num_hidden_layers as f64);
        let square = 2.0 * hidden * hidden;
        let products = if self.feed_forward_proj.starts_with("gated-") { 3.0 } else { 2.0 };
        let feed_forward = 2.0 * products * hidden * inner;
        let full = tokens * (4.0 * square + feed_forward);
        let last = tokens * 2.0 * square + 2.0 * square + feed_forward;
        // T5 of this layout has none.
        let pooler = if self.feed_forward_proj.is_empty() { square } else { 0.0 };
        (layers - 1.0) * full + last + pooler
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_inference::Task;
    use groundline_types::Head;

    fn of_lengths(lengths: &[usize]) -> Vec<Encoded> {
        let item = |&length: &usize| Encoded {
            ids: vec![1; length],
            type_ids: vec![0; length],
            task: Task::Classify(Head::Nli),
            asked: Vec::new(),
        };
        lengths.iter().map(item).collect()
    }

    #[test]
    fn batches_hold_every_item_once_in_order_and_stay_within_their_tokens() {
        let work = of_lengths(&[3, 4, 9, 1, 1]);
        let lengths = |tokens| batches(&work, tokens).iter().map(|batch| batch.len()).collect::<Vec<_>>();
        assert_eq!(lengths(8), [2, 1, 2]);
        assert_eq!(lengths(1), [1, 1, 1, 1, 1]);
        assert_eq!(lengths(100), [5]);
        assert!(batches(&[], 8).is_empty());
    }

    #[test]
    fn one_layer_needs_keys_and_values_of_all_tokens_and_the_rest_of_one() {
        let shape: Shape =
            serde_json::from_str(r#"{"hidden_size": 2, "intermediate_size": 3, "num_hidden_layers": 1}"#)
                .unwrap();
        // Keys and values 2·2·4 a token; query and output 2·2·4, feed-forward 4·2·3, pooler 2·4 for token 0.
        assert_eq!(shape.gemm_flop(5), f64::from(5 * 16 + 16 + 24 + 8));
        // T5's gate is a third matrix of the feed-forward part; it has no pooler.
        let shape = r#"{"d_model": 2, "d_ff": 3, "num_layers": 1, "feed_forward_proj": "gated-gelu"}"#;
        let shape: Shape = serde_json::from_str(shape).unwrap();
        assert_eq!(shape.gemm_flop(5), f64::from(5 * 16 + 16 + 36));
    }
}
