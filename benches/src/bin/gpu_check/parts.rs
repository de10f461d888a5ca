//! The parts of the check, in the order that they are run: what is right, then what is fast.

use super::models::{SIZES, Size, mixed_lengths, pairs};
use super::roofline::{flops, rate};
use anyhow::{Context as _, anyhow, bail};
use benches::read_pairs;
use groundline_inference::cpu::Output;
use groundline_inference::cuda::check::{Subject, compare_steps, gelu_form, time_steps};
use groundline_inference::cuda::{CudaEncoder, DeviceInfo, HALF_TOLERANCE, HostKernels};
use groundline_inference::{DeviceChoice, Encoded, Engine as _, LoadOptions, Model};
use groundline_types::{Problem, Score};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What every part is given.
pub(crate) struct Setup {
    pub(crate) folder: PathBuf,
    pub(crate) ordinal: usize,
    pub(crate) kernels: Arc<HostKernels>,
}

/// What a part found.
pub(crate) struct Found {
    pub(crate) value: Value,
    pub(crate) is_right: bool,
}

/// One part.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Setup, &DeviceInfo) -> anyhow::Result<Found>,
}

/// All of them.
pub(crate) const PARTS: [Part; 6] = [
    Part {
        name: "steps",
        about: "every kernel and product in a pass, each alone, against the kernels' host twins: head widths 32 and 64, \
                convolution, positions, f32 variant",
        run: steps,
    },
    Part {
        name: "gelu",
        about: "which GELU the epilogue of cublasLt computes, the exact one or that with tanh",
        run: gelu,
    },
    Part {
        name: "model",
        about: "groundline-mini on the GPU against the CPU engine: logits and decisions of 500 pairs",
        run: model,
    },
    Part {
        name: "attention",
        about: "time of fused attention and of each other kind of step, v3-large, 64 to 512 tokens",
        run: attention,
    },
    Part {
        name: "throughput",
        about: "pairs a second of v3-large, base, small, xsmall and groundline-mini shapes, and their share of the roofline",
        run: throughput,
    },
    Part {
        name: "peers",
        about: "the same shapes and lengths in this machine's PyTorch with transformers, fp16, where it is there",
        run: peers,
    },
];

/// How far a step may be from its twin: both sum in f32, in another order, and round to halves.
const MOST_STEP_DIFFERENCE: f64 = 2e-3;
const MODEL_PAIRS: usize = 500;
/// How long each shape is measured.
const MEASURED: Duration = Duration::from_secs(4);
/// Tokens of a batch that is measured.
const BATCH_TOKENS: usize = 16_384;

fn steps(setup: &Setup, _device: &DeviceInfo) -> anyhow::Result<Found> {
    let base = Size { name: "d64", hidden: 256, heads: 4, layers: 2, has_positions: false, has_conv: false };
    let sizes = [
        base,
        Size { name: "d64 with convolution", has_conv: true, ..base },
        Size { name: "d32 with positions", heads: 8, has_positions: true, ..base },
        Size { name: "1024 wide", hidden: 1024, heads: 16, layers: 1, ..base },
    ];
    let batch = pairs(&[300, 130, 64, 17, 1]);
    let (mut worst, mut value) = (0.0_f64, json!({}));
    for size in sizes {
        let (config, weights) = (size.config(), size.weights());
        for wide in [false, true] {
            let subject = Subject { ordinal: setup.ordinal, config: &config, weights: &weights };
            let differences = compare_steps(subject, Arc::clone(&setup.kernels), &batch, wide)?;
            let largest = differences.iter().max_by(|a, b| a.relative.total_cmp(&b.relative));
            let largest = largest.context("a plan without steps")?;
            worst = worst.max(largest.relative);
            let name = format!("{}{}", size.name, if wide { ", f32 residual" } else { "" });
            value[name] =
                json!({ "steps": differences.len(), "worst": largest.what, "relative": largest.relative });
        }
    }
    Ok(Found { value, is_right: worst <= MOST_STEP_DIFFERENCE })
}

fn gelu(setup: &Setup, _device: &DeviceInfo) -> anyhow::Result<Found> {
    let form = gelu_form(setup.ordinal)?;
    let is_exact = form.from_erf < form.from_tanh;
    let value = json!({ "from_erf": form.from_erf, "from_tanh": form.from_tanh, "is_exact": is_exact });
    // Either is right: the engine uses neither. It is worth knowing.
    Ok(Found { value, is_right: true })
}

fn model(setup: &Setup, _device: &DeviceInfo) -> anyhow::Result<Found> {
    let load = |device| {
        let options = LoadOptions { device, ..LoadOptions::default() };
        Model::load(&setup.folder.join("model"), &options)
    };
    let (cpu, gpu) = (load(DeviceChoice::Cpu)?, load(DeviceChoice::Cuda(setup.ordinal))?);
    let pairs = read_pairs(&setup.folder.join("pairs.jsonl.gz"), MODEL_PAIRS)?;
    let batch: Vec<Encoded> = pairs.iter().filter_map(|work| cpu.encode(work).ok()).collect();
    let right: Vec<Vec<f32>> = cpu.run(&batch).into_iter().map(logits).collect::<anyhow::Result<_>>()?;
    let (mut worst, mut flipped, mut clearly) = (0.0_f32, 0, 0);
    // A batch's launches are sent one by one, then captured, then replayed.
    for _ in 0..3 {
        let mut differ = 0;
        for (right, found) in right.iter().zip(gpu.run(&batch)) {
            let found = logits(found)?;
            worst = right.iter().zip(&found).fold(worst, |worst, (a, b)| worst.max((a - b).abs()));
            let (decided, margin) = decision(right);
            let differs = decided != decision(&found).0;
            differ += usize::from(differs);
            clearly += usize::from(differs && margin >= HALF_TOLERANCE);
        }
        flipped = flipped.max(differ);
    }
    let report = gpu.verify()?;
    let is_whole = batch.len() * 10 >= MODEL_PAIRS * 9 && report.has_golden;
    let is_right = is_whole && worst <= HALF_TOLERANCE && flipped <= 1 && clearly == 0 && report.has_passed();
    let value = json!({
        "engine": gpu.name(), "pairs": batch.len(), "largest_difference": worst, "flipped": flipped,
        "flipped_clearly": clearly, "golden": report,
    });
    Ok(Found { value, is_right })
}

fn logits(score: Result<Score, Problem>) -> anyhow::Result<Vec<f32>> {
    match score? {
        Score::Logits(logits) => Ok(logits.to_vec()),
        other => Err(anyhow!("not logits: {other:?}")),
    }
}

/// The largest logit, and how far it is above the next.
fn decision(logits: &[f32]) -> (usize, f32) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    (order[0], logits[order[0]] - logits[order[1]])
}

fn attention(setup: &Setup, _device: &DeviceInfo) -> anyhow::Result<Found> {
    let size = Size { layers: 2, ..SIZES[0] };
    let (config, weights) = (size.config(), size.weights());
    let mut value = json!({ "tokens": BATCH_TOKENS / 2, "unit": "milliseconds a step" });
    for length in [64, 128, 256, 384, 512] {
        let batch = pairs(&vec![length; BATCH_TOKENS / 2 / length]);
        let subject = Subject { ordinal: setup.ordinal, config: &config, weights: &weights };
        let mut kinds = json!({});
        for kind in time_steps(subject, &batch, 10)? {
            kinds[kind.what] = (kind.milliseconds / kind.steps as f64).into();
        }
        value[length.to_string()] = kinds;
    }
    Ok(Found { value, is_right: true })
}

fn throughput(setup: &Setup, device: &DeviceInfo) -> anyhow::Result<Found> {
    let mut value = json!({});
    for size in SIZES {
        let encoder = CudaEncoder::open(setup.ordinal, &size.config(), &size.weights())?;
        let mut lengths = vec![("128", vec![128; BATCH_TOKENS / 128])];
        lengths.push(("mixed", mixed_lengths(BATCH_TOKENS / 100)));
        for (name, lengths) in lengths {
            let batch = pairs(&lengths);
            // The first times load, capture and instantiate.
            for _ in 0..3 {
                let outputs = encoder.run(&batch);
                if let Some(other) = outputs.iter().find(|output| !matches!(output, Output::Logits(_))) {
                    bail!("{} {name}: {other:?} in place of logits", size.name);
                }
            }
            let (began, mut rounds) = (Instant::now(), 0);
            while began.elapsed() < MEASURED {
                encoder.run(&batch);
                rounds += 1;
            }
            let seconds = began.elapsed().as_secs_f64();
            let pairs_a_second = f64::from(rounds) * batch.len() as f64 / seconds;
            let work: f64 = lengths.iter().map(|&length| flops(&size, length)).sum();
            let flops_a_second = f64::from(rounds) * work / seconds;
            let share = rate(&device.name).map(|rate| flops_a_second / rate);
            value[format!("{} {name}", size.name)] = json!({
                "pairs_per_second": pairs_a_second.round(), "teraflops": flops_a_second / 1e12, "of_roofline": share,
            });
        }
    }
    Ok(Found { value, is_right: true })
}

fn peers(setup: &Setup, _device: &DeviceInfo) -> anyhow::Result<Found> {
    let script = setup.folder.join("gpu_torch.py");
    let output = Command::new("python3").arg(script).arg(setup.ordinal.to_string()).output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            let told = String::from_utf8_lossy(&output.stderr);
            let why = told.lines().last().unwrap_or("python3 failed").to_owned();
            return Ok(Found { value: json!({ "not_measured": why }), is_right: true });
        }
        Err(error) => {
            let why = format!("python3: {error}");
            return Ok(Found { value: json!({ "not_measured": why }), is_right: true });
        }
    };
    Ok(Found { value: serde_json::from_slice(&output.stdout)?, is_right: true })
}
