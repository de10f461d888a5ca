//! `cargo xtask bench-cpu`: pairs per second of our CPU engine, onnxruntime and transformers in one run.
//!
//! Each contender is a process of its own that waits while another computes. Rounds alternate (ours, theirs, theirs, ours,
//! …), so that a machine that slows down slows all of them. Logits of every pair must agree, or nothing is reported.

pub(crate) mod contender;
pub(crate) mod environment;
pub(crate) mod report;

use anyhow::bail;
use contender::Contender;
use report::{Measured, Report, Round};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The largest difference between two contenders' logits that counts as rounding.
const LOGIT_TOLERANCE: f64 = 1e-3;
/// Pairs of `--quick`.
const QUICK_PAIRS: usize = 200;
/// The contenders that pad, by their name in benches/peers/contender.py.
const PEERS: [&str; 2] = ["onnxruntime", "transformers"];
/// What `--candle` adds of them: a program of its own, benches/peers/candle.
const CANDLE: &str = "candle";
/// What `--precisions` adds of them.
const SHORT_PEERS: [&str; 2] = ["onnxruntime-int8", "transformers-bf16"];
/// The precisions of ours that it adds; names of contenders.
const SHORT_OURS: [&str; 3] = ["bf16", "int8-bf16-output", "int8"];
/// The least share of equal decisions that counts as the same computation in a short format. Whether a format is exact enough to be
/// used is another question, which `groundline models precision` answers for each model.
const LEAST_AGREEMENT: f64 = 0.97;

/// The layouts and shapes that benches/peers/layouts.py makes random weights of.
const LAYOUTS: [&str; 4] = ["deberta", "bert", "roberta", "t5"];
const SHAPES: [&str; 3] = ["mini", "base", "large"];

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// JSONL with `premise` and `claim` on each line, or such a file compressed by gzip [default: benches/data/pairs.jsonl.gz].
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// A Hugging Face folder [default: models/groundline-mini].
    #[arg(long, value_name = "DIR", conflicts_with = "layout")]
    model: Option<PathBuf>,
    /// Random weights of this layout, with the tokenizer of groundline-mini: deberta, bert, roberta or t5.
    #[arg(long, value_name = "NAME", value_parser = LAYOUTS)]
    layout: Option<String>,
    /// Size of the random weights: mini (6 layers, 384 wide), base (12, 768) or large (24, 1024).
    #[arg(long, value_name = "NAME", value_parser = SHAPES, default_value = "mini", requires = "layout")]
    shape: String,
    /// Threads of each contender [default: all that this process may use].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Rounds; the median counts.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Also bf16 and int8: of ours, of onnxruntime (int8, its own dynamic quantisation) and of PyTorch (bf16, autocast).
    #[arg(long)]
    precisions: bool,
    /// The first so many pairs only: large shapes take long [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "quick")]
    limit: Option<u32>,
    /// Also candle, for models of the DeBERTa layout; some minutes to build the first time.
    #[arg(long)]
    candle: bool,
    /// 200 pairs and no result file: does it work at all?
    #[arg(long)]
    quick: bool,
}

/// Prepares the contenders, measures, prints a table and writes a result file.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<()> {
    let mut setup = Setup::new(root, options);
    println!("preparing the peers' Python environment");
    let python = environment::ensure(root)?;
    if let Some(layout) = &options.layout {
        setup.model = environment::ensure_random(root, &python, layout, &options.shape)?;
    }
    println!("building our contender");
    build(root)?;
    println!("exporting to ONNX");
    let onnx = environment::ensure_onnx(root, &python, &setup.model)?;
    let load = machine_load();
    if load.is_some_and(|load| load > 0.3) {
        println!(
            "warning: other processes keep this machine busy (load {:.1}); figures will be low",
            load.unwrap_or(0.0)
        );
    }
    let (short_ours, short_peers): (&[_], &[_]) =
        if options.precisions { (&SHORT_OURS, &SHORT_PEERS) } else { (&[], &[]) };
    let mut contenders = vec![Contender::start("groundline", ours(root, &setup, "f32"))?];
    for precision in short_ours {
        contenders.push(Contender::start(precision, ours(root, &setup, precision))?);
    }
    let own = contenders.len();
    for engine in PEERS.iter().chain(short_peers) {
        contenders.push(Contender::start(engine, peer(root, &setup, &python, &onnx, engine))?);
    }
    if options.candle {
        contenders.push(Contender::start(CANDLE, candle(root, &setup)?)?);
    }
    let mut measured = contenders.iter().map(Measured::new).collect::<Vec<_>>();
    for (contender, measured) in contenders.iter_mut().zip(&mut measured).skip(own) {
        println!("{}: looking for the best batch size", contender.name());
        let tuned = contender.ask("tune")?;
        println!("{}: {} pairs a batch, of {}", contender.name(), tuned["batch"], tuned["tokens_per_second"]);
        measured.batch = Some(tuned);
    }
    for round in 1..=options.rounds {
        for (contender, measured) in contenders.iter_mut().zip(&mut measured) {
            let answer = Round::read(&contender.ask("run")?)?;
            println!("round {round}: {:<18}{:>9.1} pairs/s", contender.name(), answer.pairs_per_second());
            measured.rounds.push(answer);
        }
    }
    // Random weights decide by chance: how far short formats move their logits says nothing of a model.
    let judged = options.layout.is_none();
    let difference = agree(&mut contenders, &mut measured, judged)?;
    let peak = contenders[0].ask("peak")?["peak_gflops"].as_f64();
    let machine = environment::machine(&python, contenders[0].ready())?;
    let model = environment::name(&setup.model)?;
    let report = Report {
        machine,
        model,
        threads: setup.threads,
        pairs: setup.pairs_name,
        load,
        measured,
        own,
        difference,
        peak,
    };
    print!("\n{}", report.table());
    if options.quick {
        println!("quick run: too few pairs for a figure, no result file");
        return Ok(());
    }
    println!("written: {}", report.write(root)?);
    Ok(())
}

struct Setup {
    model: PathBuf,
    pairs: PathBuf,
    /// The pairs' file name, without its folder: a result file names no path of a machine.
    pairs_name: String,
    threads: usize,
    limit: Option<usize>,
}

impl Setup {
    fn new(root: &Path, options: &Options) -> Self {
        let pairs = options.pairs.clone().unwrap_or_else(|| root.join("benches/data/pairs.jsonl.gz"));
        let pairs_name = pairs.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            model: options.model.clone().unwrap_or_else(|| root.join("models/groundline-mini")),
            pairs,
            pairs_name,
            threads: options.threads.unwrap_or_else(available).max(1),
            limit: options.limit.map(|limit| limit as usize).or(options.quick.then_some(QUICK_PAIRS)),
        }
    }

    /// The options that every contender takes.
    fn apply(&self, command: &mut Command) {
        command.arg("--model").arg(&self.model).arg("--pairs").arg(&self.pairs);
        command.arg("--threads").arg(self.threads.to_string());
        if let Some(limit) = self.limit {
            command.arg("--limit").arg(limit.to_string());
        }
    }
}

fn build(root: &Path) -> anyhow::Result<()> {
    let arguments = ["build", "--release", "--package", "benches", "--bin", "bench-cpu"];
    if !crate::cargo(root).args(arguments).status()?.success() {
        bail!("our contender does not build");
    }
    Ok(())
}

fn ours(root: &Path, setup: &Setup, precision: &str) -> Command {
    let mut command = Command::new(environment::target(root).join("release/bench-cpu"));
    setup.apply(&mut command);
    command.args(["--precision", precision]);
    command
}

fn peer(root: &Path, setup: &Setup, python: &Path, onnx: &Path, engine: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(root.join("benches/peers/contender.py")).arg(engine);
    setup.apply(&mut command);
    // Read by OpenMP and rayon when they are loaded, so they must be there from the start.
    let threads = setup.threads.to_string();
    command.env("OMP_NUM_THREADS", &threads).env("RAYON_NUM_THREADS", &threads);
    command.arg("--onnx").arg(onnx);
    command
}

/// Builds candle's program and gives the command that starts it.
fn candle(root: &Path, setup: &Setup) -> anyhow::Result<Command> {
    let config: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(setup.model.join("config.json"))?)?;
    if config["model_type"] != "deberta-v2" {
        bail!("candle is measured with models of the DeBERTa layout alone");
    }
    println!("building candle");
    let folder = environment::target(root).join("bench-candle");
    let arguments = ["build", "--release", "--manifest-path", "benches/peers/candle/Cargo.toml"];
    let mut build = crate::cargo(root);
    // As candle's own examples are built: it has code for wider registers that is chosen when it is compiled.
    build.args(arguments).arg("--target-dir").arg(&folder).env("RUSTFLAGS", "-C target-cpu=native");
    if !build.status()?.success() {
        bail!("candle does not build");
    }
    let mut command = Command::new(folder.join("release/bench-cpu-candle"));
    setup.apply(&mut command);
    command.env("RAYON_NUM_THREADS", setup.threads.to_string());
    Ok(command)
}

/// Load average of the last minute; `None` where the system does not say.
pub(crate) fn machine_load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// The largest difference between logits of the first contender and any other in single precision, over every pair. Of the others it
/// notes how often they decide alike, which for ours must be nearly always where it is judged.
fn agree(contenders: &mut [Contender], measured: &mut [Measured], judged: bool) -> anyhow::Result<f64> {
    let tokens = measured.iter().filter_map(|one| one.rounds.first()).map(|round| round.tokens);
    if tokens.clone().any(|count| Some(count) != tokens.clone().next()) {
        bail!("contenders do not see the same tokens: {:?}", tokens.collect::<Vec<_>>());
    }
    let mut all = Vec::new();
    for contender in contenders.iter_mut() {
        all.push(report::logits(&contender.ask("logits")?)?);
    }
    let mut worst: f64 = 0.0;
    for ((contender, theirs), measured) in contenders.iter().zip(&all).zip(measured).skip(1) {
        let difference = report::largest_difference(&all[0], theirs)?;
        println!("{}: logits differ by at most {difference:.1e}", contender.name());
        if !PEERS.contains(&contender.name()) && contender.name() != CANDLE {
            let agreement = report::agreement(&all[0], theirs);
            println!("{}: {:.2} % of the decisions are the same", contender.name(), agreement * 100.0);
            if judged && SHORT_OURS.contains(&contender.name()) && agreement < LEAST_AGREEMENT {
                bail!("{} is too far from single precision; its speed means nothing", contender.name());
            }
            measured.agreement = Some(agreement);
            continue;
        }
        if difference > LOGIT_TOLERANCE {
            bail!("{} computes something else than we do; nothing to compare", contender.name());
        }
        worst = worst.max(difference);
    }
    Ok(worst)
}
