//! `cargo xtask bench-check`: responses a second of `groundline check` beside SummaC's published way of working, at equal scores.
//!
//! Both read the same responses, with the same weights in single precision and the same number of threads, and rounds alternate. Where
//! any score differs, nothing is reported.

mod ours;
mod report;
mod requests;
mod scores;

use crate::bench::contender::Contender;
use crate::bench::{environment, machine_load};
use anyhow::{Context as _, bail};
use ours::{OTHERS, Ours, PARITY, SENTENCES, Way};
use report::{Measured, Report};
use scores::{Agreement, Answer};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// From this load on, others disturb a measurement.
const DISTURBING_LOAD: f64 = 0.3;
/// Responses of `--quick`.
const QUICK_RESPONSES: usize = 8;
/// The published function for a list of documents and summaries, and the one for one of each.
const PEERS: [&str; 2] = ["score", "score_one"];

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// JSONL with requests as `groundline check` takes them (`source` or `sources`, and `response`), or with `premise` and `claim`; `.gz`
    /// is read too [default: benches/data/pairs.jsonl.gz].
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
    /// Responses to check, evenly spaced in the file.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = at_least_one)]
    limit: usize,
    /// Responses of those, evenly spaced, that the peer and every other contender check in each round. The rest is checked by
    /// ours alone, once.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one)]
    peer_limit: usize,
    /// A Hugging Face folder with a DeBERTa model [default: models/groundline-mini].
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Threads of each contender [default: all that this process may use].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Rounds; the median counts.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Leave out the peer's batches within one response, which are measured in the first round.
    #[arg(long)]
    skip_score_one: bool,
    /// 8 responses, one round and no result file: does it work at all?
    #[arg(long)]
    quick: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "give a number from 1".to_owned())
}

/// Prepares both sides, measures, prints a table and writes a result file.
///
/// # Errors
///
/// Where any score differs, and where the figure is missed.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let load = machine_load();
    if load.is_some_and(|load| load > DISTURBING_LOAD) {
        println!("warning: other processes keep this machine busy (load {:.1})", load.unwrap_or(0.0));
    }
    println!("preparing the peer's Python environment");
    let python = environment::ensure(root)?;
    println!("building groundline");
    build(root)?;
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let bench = Bench::prepare(root, &python, folder.path(), options)?;
    let report = bench.measure(options, load)?;
    print!("\n{}", report.table());
    if options.quick {
        println!("quick run: too few responses for a figure, no result file");
        return Ok(());
    }
    println!("written: {}", report.write(root)?);
    if !report.holds() {
        bail!("below what is wanted");
    }
    Ok(())
}

fn build(root: &Path) -> anyhow::Result<()> {
    let arguments = ["build", "--release", "--package", "groundline-cli"];
    if !crate::cargo(root).args(arguments).status()?.success() {
        bail!("groundline does not build");
    }
    Ok(())
}

/// Everything that a measurement needs.
struct Bench<'a> {
    root: &'a Path,
    python: &'a Path,
    ours: Ours,
    name: String,
    /// All requests, and those of them that every contender checks.
    all: Vec<Value>,
    sample: Vec<Value>,
}

impl<'a> Bench<'a> {
    fn prepare(root: &'a Path, python: &'a Path, folder: &Path, options: &Options) -> anyhow::Result<Self> {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let ours = Ours {
            program: environment::target(root).join("release/groundline"),
            model: options.model.clone().unwrap_or_else(|| root.join("models/groundline-mini")),
            threads: options.threads.unwrap_or_else(available).max(1),
            folder: folder.to_owned(),
        };
        let file = options.requests.clone().unwrap_or_else(|| root.join("benches/data/pairs.jsonl.gz"));
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let limit = if options.quick { QUICK_RESPONSES } else { options.limit };
        let all = requests::spaced(&requests::read(python, &file)?, limit);
        let mut bench = Self { root, python, ours, name, all, sample: Vec::new() };
        bench.take_sample(options.peer_limit)?;
        Ok(bench)
    }

    /// Takes the sample, without what is refused, and writes the sentences of its texts for the peer.
    fn take_sample(&mut self, most: usize) -> anyhow::Result<()> {
        let sample = requests::spaced(&self.all, most);
        requests::write(&self.path("sample.jsonl"), &sample)?;
        let listed = self.ours.check(SENTENCES, &self.path("sample.jsonl"))?.results;
        let texts = sample.into_iter().zip(listed.iter().map(requests::sentences));
        let (kept, texts): (Vec<_>, Vec<_>) =
            texts.filter_map(|(request, texts)| Some((request, texts?))).unzip();
        if kept.is_empty() {
            bail!("none of the requests can be checked");
        }
        if kept.len() < listed.len() {
            println!("{} requests of the sample are refused and left out", listed.len() - kept.len());
        }
        requests::write(&self.path("sample.jsonl"), &kept)?;
        requests::write(&self.path("sentences.jsonl"), &texts)?;
        requests::write(&self.path("all.jsonl"), &self.all)?;
        let short = json!({ "id": "start", "source": "The bridge opened in 1937.", "response": "It opened in 1936." });
        requests::write(&self.path("start.jsonl"), &[short])?;
        self.sample = kept;
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.ours.folder.join(name)
    }

    fn start_peer(&self) -> anyhow::Result<(Contender, f64)> {
        let mut command = Command::new(self.python);
        command.arg(self.root.join("benches/peers/summac.py")).arg("--model").arg(&self.ours.model);
        let threads = self.ours.threads.to_string();
        command.arg("--sentences").arg(self.path("sentences.jsonl")).args(["--threads", &threads]);
        // Read by OpenMP and rayon when they are loaded, so they must be there from the start.
        command.env("OMP_NUM_THREADS", &threads).env("RAYON_NUM_THREADS", &threads);
        let started = Instant::now();
        let peer = Contender::start("summac", command)?;
        Ok((peer, started.elapsed().as_secs_f64()))
    }

    fn measure(&self, options: &Options, load: Option<f64>) -> anyhow::Result<Report> {
        let (mut peer, start) = self.start_peer()?;
        let version = peer.ready()["version"].as_str().unwrap_or("unknown").to_owned();
        let mut ways = vec![self.measured(PARITY.name)];
        ways.extend(OTHERS.iter().map(|way| self.measured(way.name)));
        let taken = if options.skip_score_one { &PEERS[..1] } else { &PEERS };
        let peer_measured = |name: &&'static str| Measured {
            peer: true,
            version: version.clone(),
            starts: vec![start],
            ..self.measured(name)
        };
        let mut peers = taken.iter().map(peer_measured).collect::<Vec<_>>();
        let mut agreement = None;
        for round in 1..=if options.quick { 1 } else { options.rounds } {
            let scored = self.our_round(round, &mut ways)?;
            for (name, measured) in taken.iter().zip(&mut peers) {
                // The slower way needs no median.
                if round == 1 || *name == PEERS[0] {
                    let theirs = peer_round(round, &mut peer, name, measured)?;
                    let found = scores::compare(&self.sample, &scored, &theirs).context(*name)?;
                    agreement = Some(worse(agreement, found));
                }
            }
        }
        drop(peer);
        let all = self.all_requests(&ways[0])?;
        let isa = ways[0].version.split(['(', ')']).nth(1).map_or("unknown", ours::instruction_set);
        let machine = environment::machine(self.python, &json!({ "isa": isa }))?;
        Ok(Report {
            machine,
            model: environment::name(&self.ours.model)?,
            threads: self.ours.threads,
            requests: self.name.clone(),
            load,
            measured: ways.into_iter().chain(peers).collect(),
            all,
            agreement: agreement.context("there was no round")?,
        })
    }

    fn measured(&self, name: &'static str) -> Measured {
        Measured { name, responses: self.sample.len(), ..Measured::default() }
    }

    /// One run of each of our ways, each after a start alone; the scores of the one that is compared.
    fn our_round(&self, round: u32, ways: &mut [Measured]) -> anyhow::Result<Vec<Answer>> {
        let mut scored = Vec::new();
        for (way, measured) in [PARITY].iter().chain(&OTHERS).zip(ways) {
            let results = self.our_run(round, *way, measured)?;
            if way.name == PARITY.name {
                scored = scores::ours(&results)?;
                measured.pairs = Some(scores::pairs(&scored));
            }
        }
        Ok(scored)
    }

    fn our_run(&self, round: u32, way: Way, measured: &mut Measured) -> anyhow::Result<Vec<Value>> {
        measured.starts.push(self.ours.check(way, &self.path("start.jsonl"))?.seconds);
        let run = self.ours.check(way, &self.path("sample.jsonl"))?;
        measured.seconds.push(run.seconds);
        measured.version = format!("{} ({})", self.ours.version()?, ours::engine(&run.results));
        measured.further = usage(&run.results);
        shown(round, measured);
        Ok(run.results)
    }

    /// Ours over everything, where that is more than the sample.
    fn all_requests(&self, first: &Measured) -> anyhow::Result<Option<Measured>> {
        if self.all.len() <= self.sample.len() {
            return Ok(None);
        }
        let run = self.ours.check(PARITY, &self.path("all.jsonl"))?;
        let results = run.results.into_iter().filter(|result| result["code"].is_null()).collect::<Vec<_>>();
        let refused = self.all.len() - results.len();
        if refused > 0 {
            println!("{refused} of all requests are refused");
        }
        Ok(Some(Measured {
            version: first.version.clone(),
            seconds: vec![run.seconds],
            starts: first.starts.clone(),
            responses: results.len(),
            pairs: Some(scores::pairs(&scores::ours(&results)?)),
            ..self.measured(PARITY.name)
        }))
    }
}

/// One run of the peer; its scores.
fn peer_round(
    round: u32,
    peer: &mut Contender,
    command: &str,
    measured: &mut Measured,
) -> anyhow::Result<Vec<Answer>> {
    let answer = peer.ask(command)?;
    measured.seconds.push(answer["seconds"].as_f64().context("the peer says no time")?);
    let scored = scores::theirs(&answer)?;
    measured.pairs = Some(scores::pairs(&scored));
    measured.further = json!({ "tokens": answer["tokens"], "padded_tokens": answer["padded_tokens"] });
    shown(round, measured);
    Ok(scored)
}

fn shown(round: u32, measured: &Measured) {
    let seconds = measured.seconds.last().copied().unwrap_or(f64::NAN);
    let rate = measured.responses as f64 / seconds;
    println!("round {round}: {:<22}{rate:>9.2} responses/s", measured.name);
}

/// Distinct pairs and texts that were needed, and how many were remembered.
fn usage(results: &[Value]) -> Value {
    let sum = |name: &str| results.iter().filter_map(|result| result["usage"][name].as_u64()).sum::<u64>();
    json!({ "distinct_pairs": sum("pairs"), "embeddings": sum("embeddings"), "cache_hits": sum("cache_hits") })
}

fn worse(so_far: Option<Agreement>, found: Agreement) -> Agreement {
    match so_far {
        Some(so_far) if so_far.largest_difference > found.largest_difference => so_far,
        _ => found,
    }
}
