use super::*;
use crate::cpu::Output;
use crate::cuda::plan::Plan;
use crate::cuda::runner::Runner;
use crate::cuda::steps::Step;
use crate::deberta::LinearWeights;
use crate::deberta::reference::Reference;
use crate::engine::{Encoded, Task};
use crate::golden::{Golden, GoldenCase};
use crate::tensor::Tensor;
use crate::testing::{GOLDEN_CHECKPOINTS, Opened, mini};
use groundline_types::Head;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// How far a logit may be from the golden one, which was computed in f32.
const MOST_DIFFERENCE: f32 = 2e-2;
/// Pairs of groundline-mini; all of them take minutes.
const MINI_PAIRS: usize = 25;
/// 1 takes lengths evenly, more takes more short ones.
const MINI_SPREAD: f64 = 2.0;

/// An H200, and a device with so little shared memory that tables are streamed.
const LARGE: DeviceLimits =
    DeviceLimits { block_shared_bytes: 227 << 10, shared_bytes: 228 << 10, multiprocessors: 132 };
const SMALL: DeviceLimits =
    DeviceLimits { block_shared_bytes: 99 << 10, shared_bytes: 100 << 10, multiprocessors: 12 };

/// Compilers, the first that answers is taken.
const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];

pub(in crate::cuda) fn kernels() -> Arc<HostKernels> {
    static KERNELS: OnceLock<Arc<HostKernels>> = OnceLock::new();
    Arc::clone(KERNELS.get_or_init(|| {
        // Of this process alone: others may be compiling another version. Loaded, it needs its file no more.
        let folder = tempfile::tempdir().unwrap();
        Arc::new(HostKernels::load(&compile(folder.path(), &[])).unwrap())
    }))
}

/// The kernels by name, and `more` sources of kernels/, as a library.
pub(in crate::cuda) fn compile(folder: &Path, more: &[&str]) -> PathBuf {
    let kernels = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels"));
    let answers =
        |name: &str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
    let compiler = COMPILERS.iter().find(|name| answers(name)).expect("a C++ compiler; install one");
    let library = folder.join("kernels.so");
    let mut command = Command::new(compiler);
    command.args(["-std=c++20", "-O2", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared"]);
    if cfg!(target_arch = "x86_64") {
        command.arg("-march=native");
    }
    let sources = ["host/dispatch.cpp", "host/shim.cpp"].iter().chain(more);
    command.args(sources.map(|source| kernels.join(source)));
    let output = command.arg("-o").arg(&library).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

fn device(opened: &Opened, limits: DeviceLimits) -> HostDevice {
    HostDevice::new(&opened.config, &opened.weights, limits, kernels()).unwrap()
}

fn runner(opened: &Opened, limits: DeviceLimits) -> Runner<HostDevice> {
    let device = device(opened, limits);
    let shape = device.shape.clone();
    Runner::new(device, shape, 512)
}

pub(in crate::cuda) fn pairs(opened: &Opened, cases: &[GoldenCase], head: Head) -> Vec<Encoded> {
    let encode = |case: &GoldenCase| opened.tokenizer.encode_pair_cut(&case.premise, &case.hypothesis, head);
    cases.iter().map(|case| encode(case).unwrap()).collect()
}

fn largest(values: &[f32]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap()
}

/// How far the largest is above the next.
fn margin(values: &[f32]) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted[0] - sorted[1]
}

/// Compares logits with golden ones; how many decisions differ, which they may only where the golden one is as near to another as logits
/// may be off.
pub(in crate::cuda) fn compare<'a>(
    outputs: Vec<Output>,
    expected: impl Iterator<Item = &'a Vec<f32>>,
) -> usize {
    let mut flipped = 0;
    for (output, expected) in outputs.into_iter().zip(expected) {
        let Output::Logits(logits) = output else { panic!("{output:?}") };
        assert_eq!(logits.len(), expected.len());
        for (found, wanted) in logits.iter().zip(expected) {
            assert!((found - wanted).abs() <= MOST_DIFFERENCE, "{logits:?} for {expected:?}");
        }
        let is_flipped = largest(&logits) != largest(expected);
        assert!(!is_flipped || margin(expected) < MOST_DIFFERENCE, "{logits:?} for {expected:?}");
        flipped += usize::from(is_flipped);
    }
    flipped
}

#[test]
fn the_planned_launches_give_the_golden_logits_and_means_of_every_checkpoint() {
    for name in GOLDEN_CHECKPOINTS {
        let opened = Opened::golden(name);
        let golden = Golden::parse(&opened.golden).unwrap();
        let batch = pairs(&opened, &golden.cases, Head::Nli);
        for limits in [LARGE, SMALL] {
            let outputs = runner(&opened, limits).run(&batch);
            compare(outputs, golden.cases.iter().map(|case| &case.logits));
        }
        let some = golden.cases.iter().zip(&batch).filter(|(case, _)| case.mean_hidden.is_some()).take(4);
        let (cases, embeds): (Vec<_>, Vec<_>) =
            some.map(|(case, pair)| (case, Encoded { task: Task::Embed, ..pair.clone() })).unzip();
        assert!(!embeds.is_empty(), "{name}");
        for (output, case) in runner(&opened, LARGE).run(&embeds).into_iter().zip(cases) {
            let Output::Mean(mean) = output else { panic!("{name}: {output:?}") };
            let close = |(found, wanted): (&f32, &f32)| (found - wanted).abs() <= MOST_DIFFERENCE;
            assert!(mean.iter().zip(case.mean_hidden.as_ref().unwrap()).all(close), "{name}");
        }
    }
}

#[test]
fn the_f32_variant_gives_the_golden_logits_too() {
    use crate::cuda::batch::{Ask, pack};
    for name in GOLDEN_CHECKPOINTS {
        let opened = Opened::golden(name);
        let golden = Golden::parse(&opened.golden).unwrap();
        let mut batch = pairs(&opened, &golden.cases[..4], Head::Nli);
        batch.sort_by_key(|pair| std::cmp::Reverse(pair.ids.len()));
        let mut device = device(&opened, LARGE);
        let packed = pack(&batch.iter().collect::<Vec<_>>(), Ask::Logits, true);
        device.submit(&packed).unwrap();
        let answer = device.collect().unwrap();
        assert_eq!(answer[..4], [0; 4], "{name}: every logit is finite");
        let at = packed.bucket.output(&device.shape).numbers[0];
        let numbers: Vec<f32> =
            answer[at..].chunks_exact(4).map(|raw| f32::from_ne_bytes(raw.try_into().unwrap())).collect();
        let labels = device.shape.classifiers[0].labels;
        for (pair, logits) in batch.iter().zip(numbers.chunks_exact(labels)) {
            let of_pair =
                |case: &&GoldenCase| pairs(&opened, std::slice::from_ref(case), Head::Nli)[0].ids == pair.ids;
            let case = golden.cases.iter().find(of_pair).unwrap();
            compare(vec![Output::Logits(logits.to_vec())], [&case.logits].into_iter());
        }
    }
}

#[test]
fn groundline_mini_gives_its_golden_logits_and_decisions() {
    let opened = mini();
    let golden = Golden::parse(&opened.golden).unwrap();
    let mut cases: Vec<&GoldenCase> = golden.cases.iter().collect();
    // Of every length, the longest among them; more of the short ones, as time grows with the square of the length.
    cases.sort_by_key(|case| case.premise.len() + case.hypothesis.len());
    let (last, mut next) = ((cases.len() - 1) as f64, 0);
    let spread = (0..MINI_PAIRS).map(|index| {
        let place = (index as f64 / (MINI_PAIRS - 1) as f64).powf(MINI_SPREAD) * last;
        let place = next.max(place.round() as usize);
        next = place + 1;
        cases[place]
    });
    cases = spread.collect();
    let mut batch = Vec::new();
    let mut expected = Vec::new();
    for case in &cases {
        batch.extend(pairs(&opened, std::slice::from_ref(*case), Head::Nli));
        expected.push(&case.logits);
    }
    for (case, support) in cases.iter().filter_map(|case| Some((case, case.support_logits.as_ref()?))).take(3)
    {
        batch.extend(pairs(&opened, std::slice::from_ref(*case), Head::Support));
        expected.push(support);
    }
    let flipped = compare(runner(&opened, LARGE).run(&batch), expected.into_iter());
    assert!(flipped <= 1, "{flipped} decisions differ");
}

/// Weights times `factor`.
fn scaled(linear: &LinearWeights, factor: f32) -> LinearWeights {
    let scale = |tensor: &Tensor| {
        let values: Vec<f32> = tensor.to_f32().iter().map(|value| value * factor).collect();
        Tensor::from_f32(&values, tensor.shape().to_vec()).unwrap()
    };
    LinearWeights { weight: scale(&linear.weight), bias: linear.bias.as_ref().map(scale) }
}

/// The largest difference of what was answered from the model's definition in f64.
fn from_definition(opened: &Opened, batch: &[Encoded], outputs: &[Output]) -> f64 {
    let mut largest: f64 = 0.0;
    for (pair, output) in batch.iter().zip(outputs) {
        let right = Reference::new(&opened.config, &opened.weights).run(&pair.ids, &pair.type_ids);
        let (found, right) = match output {
            Output::Logits(logits) => (logits, right.logits_of(Head::Nli).to_vec()),
            Output::Mean(mean) => (mean, right.mean_hidden()),
            other => panic!("{other:?}"),
        };
        assert_eq!(found.len(), right.len());
        largest = found.iter().zip(right).fold(largest, |most, (a, b)| most.max((f64::from(*a) - b).abs()));
    }
    largest
}

#[test]
fn sums_that_leave_the_range_of_halves_are_counted_computed_again_in_f32_and_right() {
    let mut opened = Opened::golden("deberta-v3-like");
    let golden = Golden::parse(&opened.golden).unwrap();
    let mut batch = pairs(&opened, &golden.cases[..3], Head::Nli);
    batch.push(Encoded { task: Task::Embed, ..batch[0].clone() });
    let tally = |opened: &Opened| {
        let mut runner = runner(opened, LARGE);
        let outputs = runner.run(&batch);
        (outputs, runner.tally().repeated)
    };
    assert_eq!(tally(&opened).1, 0, "as it is, halves hold every sum");
    // Weights that halves hold, with sums that they do not: the LayerNorm after them makes ordinary numbers of them again.
    let layer = &mut opened.weights.layers[0];
    layer.output = scaled(&layer.output, 125_000.0);
    let largest = layer.output.weight.to_f32().iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
    assert!(largest < 65_504.0, "{largest}");
    let (outputs, repeated) = tally(&opened);
    assert_eq!(repeated, batch.len() as u64);
    let difference = from_definition(&opened, &batch, &outputs);
    assert!(difference <= f64::from(MOST_DIFFERENCE), "{difference}");
    // Nothing is answered that no variant can compute.
    let layer = &mut opened.weights.layers[0];
    layer.intermediate = scaled(&layer.intermediate, 1e7);
    assert_eq!(tally(&opened).0, vec![Output::NonFinite; batch.len()]);
}

#[test]
fn a_model_without_relative_attention_is_computed_by_the_plain_kernels_and_right() {
    for (name, width) in [("deberta-v3-like", 32), ("deberta-v2-conv", 64)] {
        let mut opened = Opened::golden(name);
        let inner = opened.config.heads * opened.config.head_size;
        opened.config = DebertaConfig {
            relative_attention: false,
            c2p: false,
            p2c: false,
            heads: inner / width,
            head_size: width,
            ..opened.config
        };
        let golden = Golden::parse(&opened.golden).unwrap();
        let mut batch = pairs(&opened, &golden.cases, Head::Nli);
        batch.sort_by_key(|pair| std::cmp::Reverse(pair.ids.len()));
        let embeds: Vec<_> =
            batch[..2].iter().map(|pair| Encoded { task: Task::Embed, ..pair.clone() }).collect();
        batch.extend(embeds);
        for limits in [LARGE, SMALL] {
            let mut device = device(&opened, limits);
            device.tamper = |plan| {
                let names = [
                    launches(plan, "attention_plain").count(),
                    launches(plan, "attention_cls_plain").count(),
                ];
                assert!(names.iter().sum::<usize>() > 0 && launches(plan, "attention_dis").count() == 0);
            };
            let shape = device.shape.clone();
            let outputs = Runner::new(device, shape, 512).run(&batch);
            let difference = from_definition(&opened, &batch, &outputs);
            assert!(difference <= f64::from(MOST_DIFFERENCE), "{name}: {difference}");
        }
    }
}

#[test]
fn an_answer_does_not_depend_on_the_batch_to_the_last_bit() {
    let opened = Opened::golden("deberta-v2-conv");
    let golden = Golden::parse(&opened.golden).unwrap();
    let batch = pairs(&opened, &golden.cases, Head::Nli);
    let together = runner(&opened, LARGE).run(&batch);
    let mut alone = runner(&opened, LARGE);
    for (pair, output) in batch.iter().zip(together).take(3) {
        assert_eq!(alone.run(std::slice::from_ref(pair)), [output]);
    }
}

/// The launches of a plan of this kernel.
fn launches<'a>(plan: &'a mut Plan, kernel: &'a str) -> impl Iterator<Item = &'a mut Launch> {
    plan.steps.iter_mut().filter_map(move |step| match step {
        Step::Launch(launch) if launch.kernel.starts_with(kernel) => Some(launch),
        _ => None,
    })
}

fn products(plan: &mut Plan) -> impl Iterator<Item = &mut Product> {
    plan.steps.iter_mut().filter_map(|step| match step {
        Step::Product(product) => Some(product),
        _ => None,
    })
}

type Mistake = fn(&mut Plan);

/// Mistakes that a planner could make.
const MISTAKES: [(&str, Mistake); 8] = [
    ("all buffers at one place", |plan| plan.placement.offsets.fill(0)),
    ("a product without its bias", |plan| products(plan).take(1).for_each(|it| it.bias = Ptr::Null)),
    ("weights of the wrong rows", |plan| {
        products(plan).take(1).for_each(|it| it.weight = it.weight.after(256))
    }),
    ("the residual is what is added to it", |plan| {
        launches(plan, "add_norm")
            .take(1)
            .for_each(|it| it.arguments.pointers[1].1 = it.arguments.pointers[0].1);
    }),
    ("positions of queries for those of keys", |plan| {
        launches(plan, "attention_dis")
            .for_each(|it| it.arguments.pointers[1].1 = it.arguments.pointers[2].1);
    }),
    ("slots off by one distance", |plan| {
        launches(plan, "attention_dis")
            .for_each(|it| it.arguments.pointers[3].1 = it.arguments.pointers[3].1.after(2));
    }),
    ("values that are keys", |plan| {
        launches(plan, "attention_cls")
            .for_each(|it| it.arguments.pointers[2].1 = it.arguments.pointers[1].1);
    }),
    ("rows left out", |plan| launches(plan, "bias_gelu").take(1).for_each(|it| it.grid.0 = 1)),
];

#[test]
fn a_mistake_in_a_plan_shows_in_the_logits() {
    let opened = Opened::golden("deberta-v3-like");
    let golden = Golden::parse(&opened.golden).unwrap();
    let batch = pairs(&opened, &golden.cases[..1], Head::Nli);
    let right = runner(&opened, LARGE).run(&batch);
    for (name, tamper) in MISTAKES {
        let mut device = device(&opened, LARGE);
        device.tamper = tamper;
        let shape = device.shape.clone();
        let wrong = Runner::new(device, shape, 512).run(&batch);
        let (Output::Logits(right), wrong) = (&right[0], &wrong[0]) else { panic!("{right:?}") };
        let differs = match wrong {
            Output::Logits(wrong) => right.iter().zip(wrong).any(|(a, b)| (a - b).abs() > 1e-3),
            Output::NonFinite => true,
            other => panic!("{name}: {other:?}"),
        };
        assert!(differs, "{name}: {right:?} and {wrong:?}");
    }
}
