//! The parts of the check, in the order that they are run: what is right, then what is fast.

use super::models::{SIZES, Size, mixed_lengths, pairs};
use super::peers::peers;
use super::roofline::{flops, rate};
use anyhow::{Context as _, anyhow, bail};
use benches::read_pairs;
use groundline_inference::cpu::Output;
use groundline_inference::cuda::check::{
    Subject, compare_kernels, compare_steps, compare_wrappers, gelu_form, kernel_names, time_steps,
};
use groundline_inference::cuda::{CudaEncoder, HALF_TOLERANCE, HostKernels};
use groundline_inference::{DeviceChoice, Encoded, Engine as _, LoadOptions, Model};
use groundline_types::{Problem, Score};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What every part is given.
pub(crate) struct Setup {
    pub(crate) folder: PathBuf,
    pub(crate) ordinal: usize,
    /// What the GPU is called, such as `NVIDIA H200`; empty where the part does not touch it.
    pub(crate) device: String,
    pub(crate) kernels: Arc<HostKernels>,
    pub(crate) scale: Scale,
    /// What the part has, from the start of its process.
    pub(crate) time: Duration,
}

/// How large everything is.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    /// The kernels' lengths.
    kernels: &'static [usize],
    steps: &'static [usize],
    model_pairs: usize,
    attention: &'static [usize],
    /// Tokens of a batch that is measured.
    batch_tokens: usize,
    /// How long each shape is measured.
    measured: Duration,
    /// Makes of a shape what is computed.
    shape: fn(Size) -> Size,
}

impl Scale {
    pub(crate) fn full() -> Self {
        Self {
            kernels: &[700, 300, 130, 65, 64, 17, 1],
            steps: &[300, 130, 64, 17, 1],
            model_pairs: 500,
            attention: &[64, 128, 256, 384, 512],
            batch_tokens: 16_384,
            measured: Duration::from_secs(3),
            shape: |size| size,
        }
    }

    /// The same parts where a processor stands in for the GPU.
    pub(crate) fn rehearsal() -> Self {
        Self {
            kernels: &[65, 20],
            steps: &[20, 3],
            model_pairs: 4,
            attention: &[64],
            batch_tokens: 128,
            measured: Duration::ZERO,
            shape: Size::tiny,
        }
    }
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
    /// What it may take; then it is ended.
    pub(crate) seconds: u64,
    /// Computes on the GPU in its own process, with CUDA's libraries from the folders that they were found in; PyTorch has its own.
    pub(crate) on_gpu: bool,
    pub(crate) run: fn(&Setup) -> anyhow::Result<Found>,
}

/// All of them.
pub(crate) const PARTS: [Part; 8] = [
    Part {
        name: "conformance",
        about: "each wrapper of an instruction, alone, against its host twin: special numbers, every half, layouts, copies",
        seconds: 20,
        on_gpu: true,
        run: conformance,
    },
    Part {
        name: "kernels",
        about: "every kernel of the module, alone, in every variant and layout of shared memory, against f64",
        seconds: 40,
        on_gpu: true,
        run: kernels,
    },
    Part {
        name: "steps",
        about: "every kernel and product in a pass, each alone, against the kernels' host twins: head widths 32 and 64, \
                convolution, positions, f32 variant",
        seconds: 60,
        on_gpu: true,
        run: steps,
    },
    Part {
        name: "gelu",
        about: "which GELU the epilogue of cublasLt computes, the exact one or that with tanh",
        seconds: 20,
        on_gpu: true,
        run: gelu,
    },
    Part {
        name: "model",
        about: "groundline-mini on the GPU against the CPU engine: logits and decisions of 500 pairs",
        seconds: 70,
        on_gpu: true,
        run: model,
    },
    Part {
        name: "attention",
        about: "time of fused attention and of each other kind of step, v3-large, 64 to 512 tokens",
        seconds: 30,
        on_gpu: true,
        run: attention,
    },
    Part {
        name: "throughput",
        about: "pairs a second of v3-large, base, small, xsmall and groundline-mini shapes, and their share of the roofline",
        seconds: 80,
        on_gpu: true,
        run: throughput,
    },
    Part {
        name: "peers",
        about: "the same shapes and lengths in this machine's PyTorch with transformers, fp16, where it is there",
        seconds: 130,
        on_gpu: false,
        run: peers,
    },
];

/// How far a step may be from its twin: both sum in f32, in another order, and round to halves.
const MOST_STEP_DIFFERENCE: f64 = 2e-3;

fn conformance(setup: &Setup) -> anyhow::Result<Found> {
    let (mut value, mut is_right) = (json!({}), true);
    for it in compare_wrappers(setup.ordinal, &setup.kernels)? {
        is_right &= it.different == 0;
        value[it.wrapper] = json!({
            "allowed": it.allowed, "words": it.words, "different": it.different, "largest": it.largest,
            "first": it.first,
        });
    }
    Ok(Found { value, is_right })
}

/// The worst launch of each kernel; and no kernel of the module may be without one.
fn kernels(setup: &Setup) -> anyhow::Result<Found> {
    let differences = compare_kernels(setup.ordinal, setup.scale.kernels)?;
    let (mut value, mut is_right) = (json!({ "lengths": setup.scale.kernels }), true);
    for name in kernel_names().into_iter().filter(|name| *name != "conformance") {
        let of_kernel = || differences.iter().filter(|it| it.kernel == name);
        let Some(worst) = of_kernel().max_by(|a, b| a.relative.total_cmp(&b.relative)) else {
            (value[name], is_right) = (json!({ "launches": 0 }), false);
            continue;
        };
        let wrong: Vec<_> = of_kernel().filter(|it| !it.is_right()).map(|it| &it.what).collect();
        is_right &= wrong.is_empty();
        // JSON has no infinity.
        let relative = if worst.relative.is_finite() {
            worst.relative.into()
        } else {
            json!("not finite, or out of place")
        };
        value[name] = json!({
            "launches": of_kernel().count(), "worst": worst.what, "relative": relative, "wrong": wrong,
        });
    }
    Ok(Found { value, is_right })
}

fn steps(setup: &Setup) -> anyhow::Result<Found> {
    let base = Size { name: "d64", hidden: 256, heads: 4, layers: 2, has_positions: false, has_conv: false };
    let sizes = [
        base,
        Size { name: "d64 with convolution", has_conv: true, ..base },
        Size { name: "d32 with positions", heads: 8, has_positions: true, ..base },
        Size { name: "1024 wide", hidden: 1024, heads: 16, layers: 1, ..base },
    ];
    let batch = pairs(setup.scale.steps);
    let (mut worst, mut value) = (0.0_f64, json!({}));
    for size in sizes.map(setup.scale.shape) {
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

fn gelu(setup: &Setup) -> anyhow::Result<Found> {
    let form = gelu_form(setup.ordinal)?;
    let is_exact = form.from_erf < form.from_tanh;
    let value = json!({ "from_erf": form.from_erf, "from_tanh": form.from_tanh, "is_exact": is_exact });
    // Either is right: the engine uses neither. It is worth knowing.
    Ok(Found { value, is_right: true })
}

fn model(setup: &Setup) -> anyhow::Result<Found> {
    let load = |device| {
        let options = LoadOptions { device, ..LoadOptions::default() };
        Model::load(&setup.folder.join("model"), &options)
    };
    let (cpu, gpu) = (load(DeviceChoice::Cpu)?, load(DeviceChoice::Cuda(setup.ordinal))?);
    let pairs = read_pairs(&setup.folder.join("pairs.jsonl.gz"), setup.scale.model_pairs)?;
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
    let is_whole = batch.len() * 10 >= setup.scale.model_pairs * 9 && report.has_golden;
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

fn attention(setup: &Setup) -> anyhow::Result<Found> {
    let size = (setup.scale.shape)(Size { layers: 2, ..SIZES[0] });
    let batch_tokens = setup.scale.batch_tokens;
    let (config, weights) = (size.config(), size.weights());
    let mut value = json!({ "tokens": batch_tokens / 2, "unit": "milliseconds a step" });
    for &length in setup.scale.attention {
        let batch = pairs(&vec![length; batch_tokens / 2 / length]);
        let subject = Subject { ordinal: setup.ordinal, config: &config, weights: &weights };
        let mut kinds = json!({});
        for kind in time_steps(subject, &batch, 10)? {
            kinds[kind.what] = (kind.milliseconds / kind.steps as f64).into();
        }
        value[length.to_string()] = kinds;
    }
    Ok(Found { value, is_right: true })
}

fn throughput(setup: &Setup) -> anyhow::Result<Found> {
    let mut value = json!({});
    let Scale { batch_tokens, measured, .. } = setup.scale;
    for size in SIZES.map(setup.scale.shape) {
        let encoder = CudaEncoder::open(setup.ordinal, &size.config(), &size.weights())?;
        let mut lengths = vec![("128", vec![128; batch_tokens / 128])];
        lengths.push(("mixed", mixed_lengths((batch_tokens / 100).max(1))));
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
            while rounds == 0 || began.elapsed() < measured {
                encoder.run(&batch);
                rounds += 1;
            }
            let seconds = began.elapsed().as_secs_f64();
            let pairs_a_second = f64::from(rounds) * batch.len() as f64 / seconds;
            let work: f64 = lengths.iter().map(|&length| flops(&size, length)).sum();
            let flops_a_second = f64::from(rounds) * work / seconds;
            let share = rate(&setup.device).map(|rate| flops_a_second / rate);
            value[format!("{} {name}", size.name)] = json!({
                "pairs_per_second": pairs_a_second.round(), "teraflops": flops_a_second / 1e12, "of_roofline": share,
            });
        }
    }
    Ok(Found { value, is_right: true })
}
