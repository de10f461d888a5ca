//! Figures of a run: rates, the table, the result file.

use super::scores::Agreement;
use crate::bench::report::{median, slug};
use anyhow::Context as _;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Layout of a result file.
const SCHEMA: &str = "groundline.bench-check/1";
/// How much faster than the published way of working ours should be.
const WANTED_RATIO: f64 = 10.0;

/// What was measured of one contender.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) version: String,
    /// Whether it is the peer, whose process starts once, before the rounds.
    pub(super) peer: bool,
    /// Of each round. Of ours from the start of the process to its end, of the peer's scoring alone.
    pub(super) seconds: Vec<f64>,
    /// What starting takes: the process with its model. Of ours a whole check of one short request.
    pub(super) starts: Vec<f64>,
    pub(super) responses: usize,
    /// Pairs that the method asks for; `None` where the rates of pairs would say nothing, as of several methods.
    pub(super) pairs: Option<u64>,
    /// More numbers of it, for the file.
    pub(super) further: Value,
}

impl Measured {
    fn start(&self) -> f64 {
        median(self.starts.clone())
    }

    fn seconds_with_start(&self) -> f64 {
        median(self.seconds.clone()) + if self.peer { self.start() } else { 0.0 }
    }

    /// NaN, `null` in the file, where so little was asked that the start hides the rest.
    fn seconds_without_start(&self) -> f64 {
        let seconds = median(self.seconds.clone()) - if self.peer { 0.0 } else { self.start() };
        if seconds > 0.0 { seconds } else { f64::NAN }
    }

    /// What counts in the ratio: ours pays for its start, the peer does not.
    fn counted_seconds(&self) -> f64 {
        median(self.seconds.clone())
    }

    fn rate(&self, seconds: f64) -> f64 {
        self.responses as f64 / seconds
    }

    fn json(&self, first: &Self) -> Value {
        let round = |value: f64| (value * 1e4).round() / 1e4;
        json!({
            "name": self.name,
            "version": self.version,
            "seconds": self.seconds.iter().copied().map(round).collect::<Vec<_>>(),
            "start_seconds": round(self.start()),
            "responses_per_second": round(self.rate(self.counted_seconds())),
            "responses_per_second_with_start": round(self.rate(self.seconds_with_start())),
            "responses_per_second_without_start": round(self.rate(self.seconds_without_start())),
            "pairs": self.pairs,
            "ours_divided_by_this": round(self.counted_seconds() / first.counted_seconds()),
            "further": self.further,
        })
    }
}

/// Everything of a run.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) machine: Value,
    /// The name of the model's folder.
    pub(super) model: String,
    pub(super) threads: usize,
    /// The requests' file name, without its folder.
    pub(super) requests: String,
    pub(super) load: Option<f64>,
    /// The first is ours as it is compared with the peer.
    pub(super) measured: Vec<Measured>,
    /// Ours over all requests, where the peer gets some of them.
    pub(super) all: Option<Measured>,
    pub(super) agreement: Agreement,
}

impl Report {
    /// Our rate, start included, divided by the best of the peer's without its start.
    pub(super) fn ratio(&self) -> f64 {
        let peers = self.measured.iter().filter(|one| one.peer).map(Measured::counted_seconds);
        peers.fold(f64::INFINITY, f64::min) / self.measured[0].counted_seconds()
    }

    pub(super) fn holds(&self) -> bool {
        self.ratio() >= WANTED_RATIO
    }

    /// The figures as text.
    pub(super) fn table(&self) -> String {
        let text = |name: &str| self.machine[name].as_str().unwrap_or("unknown");
        let first = &self.measured[0];
        let mut table = format!(
            "{}: {} ({}), {} threads, {} responses of {}\n{:<22}{:>12}{:>19}{:>15}{:>10}{:>9}{:>8}\n",
            self.model,
            text("cpu"),
            text("isa"),
            self.threads,
            first.responses,
            self.requests,
            "",
            "responses/s",
            "(lowest–highest)",
            "without start",
            "start, s",
            "pairs/s",
            "ours ÷",
        );
        for one in self.measured.iter().chain(&self.all) {
            let rates = one.seconds.iter().map(|&seconds| one.rate(seconds)).collect::<Vec<_>>();
            let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = rates.iter().copied().fold(0.0, f64::max);
            let pairs = one.pairs.map(|pairs| format!("{:.1}", pairs as f64 / one.seconds_without_start()));
            // The whole file is other work than the sample.
            let same = one.responses == first.responses;
            let ratio = same.then(|| format!("{:.2}", one.counted_seconds() / first.counted_seconds()));
            // Writing to a string cannot fail.
            let _ = writeln!(
                table,
                "{:<22}{:>12.2}{:>19}{:>15.2}{:>10.2}{:>9}{:>8}",
                if same { one.name.to_owned() } else { format!("{}, all {}", one.name, one.responses) },
                one.rate(one.counted_seconds()),
                format!("({lowest:.2}–{highest:.2})"),
                one.rate(one.seconds_without_start()),
                one.start(),
                pairs.unwrap_or_default(),
                ratio.unwrap_or_default(),
            );
        }
        let agreement = &self.agreement;
        let _ = writeln!(
            table,
            "{} scores agree within {:.1e}, {} responses have nothing to score\n{} {:.2} times the published way (wanted: {WANTED_RATIO})",
            agreement.compared,
            agreement.largest_difference,
            agreement.empty,
            if self.holds() { "ok    " } else { "MISSED" },
            self.ratio(),
        );
        table
    }

    /// Writes `benches/results/<date>-<cpu>-<instruction set>-check-<model>.json`; its path from the root.
    pub(super) fn write(&self, root: &Path) -> anyhow::Result<String> {
        let text = |name: &str| self.machine[name].as_str().unwrap_or("unknown");
        let (date, cpu, isa) = (text("date"), slug(text("cpu")), text("isa"));
        let path = format!("benches/results/{date}-{cpu}-{isa}-check-{}.json", slug(&self.model));
        std::fs::create_dir_all(root.join("benches/results"))?;
        let json = serde_json::to_string_pretty(&self.json())? + "\n";
        std::fs::write(root.join(&path), json).with_context(|| format!("cannot write {path}"))?;
        Ok(path)
    }

    fn json(&self) -> Value {
        let first = &self.measured[0];
        json!({
            "schema": SCHEMA,
            "machine": self.machine,
            "model": self.model,
            "load_before": self.load,
            "threads": self.threads,
            "requests": { "file": self.requests, "count": first.responses,
                          "sentences": "as groundline lists them, for both" },
            "contenders": self.measured.iter().map(|one| one.json(first)).collect::<Vec<_>>(),
            "all_requests": self.all.as_ref().map(|all| json!({
                "count": all.responses,
                "seconds": all.counted_seconds(),
                "responses_per_second": all.rate(all.counted_seconds()),
                "pairs": all.pairs,
            })),
            "scores": { "compared": self.agreement.compared, "nothing_to_score": self.agreement.empty,
                        "largest_difference": self.agreement.largest_difference,
                        "tolerance": Agreement::tolerance() },
            "targets": [{
                "name": "responses a second with our start, divided by the published way without its own",
                "reached": self.ratio(),
                "unit": "times",
                "wanted": format!("at least {WANTED_RATIO}"),
                "holds": self.holds(),
            }],
        })
    }
}

#[cfg(test)]
mod tests;
