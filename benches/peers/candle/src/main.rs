//! candle as a contender of `cargo xtask bench-cpu --candle`, driven over standard input and output as `peers/contender.py` is.
//!
//! `tune` tries batch sizes and keeps the fastest, `run` scores every pair once, `logits` gives the logits of the last run in the
//! pairs' order. Pairs are sorted by length before they are cut into batches. candle and the tokenizer take their number of threads
//! from `RAYON_NUM_THREADS`.

#![forbid(unsafe_code)]

use anyhow::{Context as _, anyhow, bail};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::debertav2::{Config, DebertaV2SeqClassificationModel};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::time::Instant;
use tokenizers::Tokenizer;

const VERSION: &str = "candle 0.11.1";
const BATCH_SIZES: [usize; 6] = [1, 4, 8, 16, 32, 64];
/// While tuning, every n-th batch of the sorted pairs is run: all lengths, an eighth of the time.
const TUNE_STRIDE: usize = 8;

/// Ids and token types of a pair.
struct Pair {
    ids: Vec<u32>,
    types: Vec<u32>,
}

struct Contender {
    texts: Vec<(String, String)>,
    tokenizer: Tokenizer,
    model: DebertaV2SeqClassificationModel,
    batch_size: usize,
    logits: Vec<Vec<f32>>,
}

fn main() -> anyhow::Result<()> {
    let mut contender = Contender::load(&arguments()?)?;
    println!("{}", json!({ "version": VERSION }));
    for line in std::io::stdin().lock().lines() {
        let answer = match line?.trim() {
            "tune" => contender.tune()?,
            "run" => contender.run()?,
            "logits" => json!({ "logits": contender.logits }),
            other => bail!("unknown command {other:?}"),
        };
        println!("{answer}");
    }
    Ok(())
}

/// Options by name, each with a value.
fn arguments() -> anyhow::Result<BTreeMap<String, String>> {
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let pairs = words.chunks(2).map(|pair| match pair {
        [name, value] => Ok((name.trim_start_matches("--").to_owned(), value.clone())),
        _ => bail!("an option has no value"),
    });
    pairs.collect()
}

fn failed(error: tokenizers::Error) -> anyhow::Error {
    anyhow!("{error}")
}

impl Contender {
    fn load(options: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        let folder = Path::new(options.get("model").context("no --model")?);
        let limit = options.get("limit").map(|limit| limit.parse()).transpose()?;
        let texts = read_pairs(Path::new(options.get("pairs").context("no --pairs")?))?;
        let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json")).map_err(failed)?;
        tokenizer.with_padding(None).with_truncation(None).map_err(failed)?;
        let config: Config = serde_json::from_str(&std::fs::read_to_string(folder.join("config.json"))?)?;
        let weights = std::fs::read(folder.join("model.safetensors"))?;
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        Ok(Self {
            texts: texts.into_iter().take(limit.unwrap_or(usize::MAX)).collect(),
            tokenizer,
            model: DebertaV2SeqClassificationModel::load(weights.pp("deberta"), &config, None)?,
            batch_size: 1,
            logits: Vec::new(),
        })
    }

    /// Every pair, and the order of their lengths.
    fn encode(&self) -> anyhow::Result<(Vec<Pair>, Vec<usize>)> {
        let encoded = self.tokenizer.encode_batch_fast(self.texts.clone(), true).map_err(failed)?;
        let pair = |item: &tokenizers::Encoding| Pair {
            ids: item.get_ids().to_vec(),
            types: item.get_type_ids().to_vec(),
        };
        let pairs = encoded.iter().map(pair).collect::<Vec<_>>();
        let mut order = (0..pairs.len()).collect::<Vec<_>>();
        order.sort_by_key(|&index| pairs[index].ids.len());
        Ok((pairs, order))
    }

    fn run_batch(&self, pairs: &[Pair], members: &[usize]) -> anyhow::Result<Vec<Vec<f32>>> {
        let longest = members.iter().map(|&index| pairs[index].ids.len()).max().unwrap_or(0);
        let (mut ids, mut types, mut mask) = (Vec::new(), Vec::new(), Vec::new());
        for &index in members {
            let pair = &pairs[index];
            let padding = || std::iter::repeat_n(0, longest - pair.ids.len());
            ids.extend(pair.ids.iter().copied().chain(padding()));
            types.extend(pair.types.iter().copied().chain(padding()));
            mask.extend(pair.ids.iter().map(|_| 1_u32).chain(padding()));
        }
        let tensor = |values| Tensor::from_vec(values, (members.len(), longest), &Device::Cpu);
        let logits = self.model.forward(&tensor(ids)?, Some(tensor(types)?), Some(tensor(mask)?))?;
        Ok(logits.to_vec2()?)
    }

    /// A batch size that candle refuses is left out: it adds positions to a batch of one only, where a checkpoint has them.
    fn tune(&mut self) -> anyhow::Result<Value> {
        let (pairs, order) = self.encode()?;
        let mut tried = BTreeMap::new();
        for size in BATCH_SIZES {
            let batches = order.chunks(size).collect::<Vec<_>>();
            let first = (TUNE_STRIDE / 2).min(batches.len().saturating_sub(1));
            let chosen = batches[first..].iter().step_by(TUNE_STRIDE).collect::<Vec<_>>();
            if let Err(refusal) = self.run_batch(&pairs, chosen[0]) {
                eprintln!(
                    "candle: no batches of {size}: {}",
                    refusal.to_string().lines().next().unwrap_or("")
                );
                continue;
            }
            let started = Instant::now();
            for members in &chosen {
                self.run_batch(&pairs, members)?;
            }
            let seconds = started.elapsed().as_secs_f64();
            let tokens: usize =
                chosen.iter().copied().copied().flatten().map(|&index| pairs[index].ids.len()).sum();
            tried.insert(size, (tokens as f64 / seconds).round());
        }
        let best = tried.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        self.batch_size = *best.context("candle takes no batch size")?.0;
        Ok(json!({ "batch": self.batch_size, "tokens_per_second": tried }))
    }

    fn run(&mut self) -> anyhow::Result<Value> {
        let started = Instant::now();
        let (pairs, order) = self.encode()?;
        let encoded = Instant::now();
        let mut logits = vec![Vec::new(); pairs.len()];
        for members in order.chunks(self.batch_size) {
            for (&index, row) in members.iter().zip(self.run_batch(&pairs, members)?) {
                logits[index] = row;
            }
        }
        let finished = Instant::now();
        self.logits = logits;
        Ok(json!({
            "seconds": (finished - encoded).as_secs_f64(),
            "tokenising_seconds": (encoded - started).as_secs_f64(),
            "pairs": pairs.len(),
            "tokens": pairs.iter().map(|pair| pair.ids.len()).sum::<usize>(),
        }))
    }
}

/// JSONL with `premise` and `claim`, compressed by gzip where the name ends in `.gz`.
fn read_pairs(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let file = File::open(path).context("cannot read the pairs")?;
    let compressed = path.extension().is_some_and(|ending| ending == "gz");
    let file: Box<dyn Read> = if compressed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
    let pair = |line: std::io::Result<String>| {
        let row: Value = serde_json::from_str(&line?)?;
        let text = |name: &str| row[name].as_str().map(str::to_owned).context("a row is no pair");
        Ok((text("premise")?, text("claim")?))
    };
    BufReader::new(file).lines().map(pair).collect()
}
