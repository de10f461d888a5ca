//! Figures of a run: medians, the table, the result file.

use super::contender::Contender;
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// One pass of a contender over all pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Round {
    pub(super) seconds: f64,
    pub(super) tokenising_seconds: f64,
    pub(super) pairs: u64,
    pub(super) tokens: u64,
    /// Operations of the linear layers; only ours says.
    pub(super) gemm_gflop: Option<f64>,
}

impl Round {
    /// Reads a contender's answer.
    pub(super) fn read(answer: &Value) -> anyhow::Result<Self> {
        let number = |name: &str| answer[name].as_f64().with_context(|| format!("no {name} in {answer}"));
        let count = |name: &str| answer[name].as_u64().with_context(|| format!("no {name} in {answer}"));
        Ok(Self {
            seconds: number("seconds")?,
            tokenising_seconds: number("tokenising_seconds")?,
            pairs: count("pairs")?,
            tokens: count("tokens")?,
            gemm_gflop: answer["gemm_gflop"].as_f64(),
        })
    }

    pub(super) fn pairs_per_second(&self) -> f64 {
        self.pairs as f64 / self.seconds
    }

    fn pairs_per_second_with_tokenising(&self) -> f64 {
        self.pairs as f64 / (self.seconds + self.tokenising_seconds)
    }

    fn tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.seconds
    }
}

/// What was measured of one contender.
#[derive(Debug)]
pub(super) struct Measured {
    name: &'static str,
    version: Value,
    /// The answer to `tune`, of contenders that pad.
    pub(super) batch: Option<Value>,
    pub(super) rounds: Vec<Round>,
    /// Share of the pairs that it decides as single precision does; of contenders in a short format.
    pub(super) agreement: Option<f64>,
}

impl Measured {
    pub(super) fn new(contender: &Contender) -> Self {
        let version = contender.ready()["version"].clone();
        Self { name: contender.name(), version, batch: None, rounds: Vec::new(), agreement: None }
    }

    fn median(&self, value: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(value).collect())
    }

    fn batch_size(&self) -> String {
        self.batch.as_ref().map_or_else(|| "packed".to_owned(), |tuned| tuned["batch"].to_string())
    }
}

/// Everything of a run.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) machine: Value,
    /// The name of the model's folder.
    pub(super) model: String,
    pub(super) threads: usize,
    pub(super) pairs: String,
    pub(super) load: Option<f64>,
    pub(super) measured: Vec<Measured>,
    /// How many of those are ours.
    pub(super) own: usize,
    /// Largest difference between our logits and a peer's, both in single precision.
    pub(super) difference: f64,
    /// Of all threads together.
    pub(super) peak: Option<f64>,
}

impl Report {
    /// Our rate in single precision divided by a contender's.
    fn ratio(&self, other: &Measured) -> f64 {
        of(&self.measured[0], other)
    }

    /// Our contenders in short formats.
    fn short(&self) -> &[Measured] {
        &self.measured[1..self.own]
    }

    /// GFLOP/s of our linear layers over the whole run, attention and everything else included in the time.
    fn gemm_gflops(&self) -> f64 {
        self.measured[0].median(|round| round.gemm_gflop.unwrap_or(0.0) / round.seconds)
    }

    /// The figures as text.
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "{}: {} ({}), {} threads, {}\n{:<18}{:>8}{:>12}{:>19}{:>12}{:>18}{:>8}\n",
            self.model,
            self.machine["cpu"].as_str().unwrap_or("unknown"),
            self.machine["isa"].as_str().unwrap_or("unknown"),
            self.threads,
            self.pairs,
            "",
            "batch",
            "pairs/s",
            "(lowest–highest)",
            "tokens/s",
            "with tokenising",
            "ours ÷",
        );
        for one in &self.measured {
            let rates = one.rounds.iter().map(Round::pairs_per_second).collect::<Vec<_>>();
            let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = rates.iter().copied().fold(0.0, f64::max);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{:<18}{:>8}{:>12.1}{:>19}{:>12.0}{:>18.1}{:>8.2}",
                one.name,
                one.batch_size(),
                one.median(Round::pairs_per_second),
                format!("({lowest:.1}–{highest:.1})"),
                one.median(Round::tokens_per_second),
                one.median(Round::pairs_per_second_with_tokenising),
                self.ratio(one),
            );
        }
        for one in self.short() {
            let peers = self.measured[self.own..].iter();
            let ratios = peers.map(|peer| format!("{:.2} × {}", of(one, peer), peer.name));
            let agreement = one.agreement.unwrap_or(f64::NAN) * 100.0;
            let ratios = ratios.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "{}: {ratios}; {agreement:.2} % of the decisions as in f32", one.name);
        }
        let _ = writeln!(text, "logits in f32 agree within {:.1e}", self.difference);
        if let Some(peak) = self.peak {
            let own = self.gemm_gflops();
            let _ = writeln!(
                text,
                "linear layers: {own:.0} of {peak:.0} GFLOP/s ({:.0} % of the measured peak, attention in the time)",
                own / peak * 100.0
            );
        }
        text
    }

    /// Writes benches/results/<date>-<cpu>-<instruction set>-<model>.json; its path from the root.
    pub(super) fn write(&self, root: &Path) -> anyhow::Result<String> {
        let text = |name: &str| self.machine[name].as_str().unwrap_or("unknown");
        let path = format!(
            "benches/results/{}-{}-{}-{}.json",
            text("date"),
            slug(text("cpu")),
            text("isa"),
            slug(&self.model)
        );
        std::fs::create_dir_all(root.join("benches/results"))?;
        let json = serde_json::to_string_pretty(&self.json())? + "\n";
        std::fs::write(root.join(&path), json).with_context(|| format!("cannot write {path}"))?;
        Ok(path)
    }

    fn json(&self) -> Value {
        let contenders = self.measured.iter().map(|one| {
            let rounds = one.rounds.iter().map(
                |round| json!({ "seconds": round.seconds, "tokenising_seconds": round.tokenising_seconds }),
            );
            json!({
                "name": one.name,
                "version": one.version,
                "batch": one.batch,
                "pairs_per_second": one.median(Round::pairs_per_second),
                "pairs_per_second_with_tokenising": one.median(Round::pairs_per_second_with_tokenising),
                "tokens_per_second": one.median(Round::tokens_per_second),
                "ours_divided_by_this": self.ratio(one),
                "same_decisions_as_f32": one.agreement,
                "rounds": rounds.collect::<Vec<_>>(),
            })
        });
        let first = self.measured[0].rounds.first();
        let short = self.short().iter().map(|one| {
            let peers =
                self.measured[self.own..].iter().map(|peer| (peer.name.to_owned(), json!(of(one, peer))));
            (one.name.to_owned(), Value::Object(peers.collect()))
        });
        json!({
            "short_formats_divided_by": Value::Object(short.collect()),
            "schema": "groundline.bench-cpu/1",
            "machine": self.machine,
            "model": self.model,
            "load_before": self.load,
            "threads": self.threads,
            "pairs": { "file": self.pairs, "count": first.map(|round| round.pairs), "tokens": first.map(|round| round.tokens) },
            "contenders": contenders.collect::<Vec<_>>(),
            "largest_logit_difference": self.difference,
            "gemm": { "gflops": self.gemm_gflops(), "peak_gflops": self.peak,
                      "fraction_of_peak": self.peak.map(|peak| self.gemm_gflops() / peak) },
        })
    }
}

/// One rate divided by another.
fn of(one: &Measured, other: &Measured) -> f64 {
    one.median(Round::pairs_per_second) / other.median(Round::pairs_per_second)
}

/// Share of the rows whose largest number has the same place.
pub(super) fn agreement(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> f64 {
    let decision = |row: &[f64]| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]));
    let same = ours.iter().zip(theirs).filter(|(ours, theirs)| decision(ours) == decision(theirs)).count();
    same as f64 / ours.len().max(1) as f64
}

/// The logits that a contender answered, a list for each pair.
pub(super) fn logits(answer: &Value) -> anyhow::Result<Vec<Vec<f64>>> {
    let rows = answer["logits"].as_array().context("no logits")?;
    let row = |row: &Value| {
        let values = row.as_array().context("logits are no list")?;
        values.iter().map(|value| value.as_f64().context("a logit is no number")).collect()
    };
    rows.iter().map(row).collect()
}

/// The largest difference of two contenders' logits.
pub(super) fn largest_difference(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> anyhow::Result<f64> {
    if ours.is_empty() || ours.len() != theirs.len() {
        bail!("{} pairs scored by us, {} by the other", ours.len(), theirs.len());
    }
    let mut worst: f64 = 0.0;
    for (ours, theirs) in ours.iter().zip(theirs) {
        if ours.len() != theirs.len() {
            bail!("{} logits a pair from us, {} from the other", ours.len(), theirs.len());
        }
        for (a, b) in ours.iter().zip(theirs) {
            worst = worst.max((a - b).abs());
        }
    }
    Ok(worst)
}

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Lower-case letters, digits and single dashes.
pub(crate) fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests;
