//! Holding a GPU against what is known: each wrapper of an instruction against its twin, each kernel against f64, each step of a pass
//! against the kernels' host twins, time by kind of step, and which GELU the library of products computes. For `cargo xtask gpu-check`;
//! nothing of the engine needs it.

mod attention;
mod case;
mod conformance;
mod rows;

pub use conformance::WrapperDifference;

use super::arguments::{Access, Arguments, Ptr};
use super::batch::{Ask, OutputLayout, Packed, pack};
use super::device::{BareDevice, CudaDevice, gelu_differences};
use super::host::{HostDevice, HostKernels, singles};
use super::plan::Plan;
use super::runner::Fault;
use super::steps::{Launch, Step};
use crate::deberta::{DebertaConfig, Weights};
use crate::engine::Encoded;
use groundline_types::{Code, Problem};
use std::sync::Arc;

/// A model and the GPU that computes it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The number of the GPU.
    pub ordinal: usize,
    /// Shape of the model.
    pub config: &'a DebertaConfig,
    /// Its weights.
    pub weights: &'a Weights,
}

/// How one step of a plan differs from the host's.
#[derive(Debug, Clone, PartialEq)]
pub struct StepDifference {
    /// Its place in the plan.
    pub step: usize,
    /// A kernel's name, or `product`.
    pub what: &'static str,
    /// Relative L2 difference of everything that it wrote; infinite where one has a number that is not finite and the other
    /// has not.
    pub relative: f64,
}

/// Something that runs one launch without a model: its argument points into `input` and `output`, and `output` is what it left.
pub(super) trait Alone {
    fn run_alone(&self, launch: &Launch, input: &[u8], output: &mut [u8]) -> Result<(), Fault>;
}

/// How one launch of one kernel differs from its definition in f64.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelDifference {
    /// Its name in the module.
    pub kernel: &'static str,
    /// The setting: widths, lengths, how it lies in shared memory.
    pub what: String,
    /// Relative L2 difference; infinite where one is finite and the other is not.
    pub relative: f64,
    /// The most that it may be.
    pub tolerance: f64,
}

impl KernelDifference {
    /// Whether the kernel is as near as it must be.
    pub fn is_right(&self) -> bool {
        self.relative <= self.tolerance
    }
}

/// Time of all steps of one kind in one pass.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTime {
    /// A kernel's name, or `product`.
    pub what: &'static str,
    /// How many there are.
    pub steps: usize,
    /// The shortest of all rounds.
    pub milliseconds: f64,
}

/// Which GELU the library's epilogue computes: the largest difference from each form, over -6 to 6.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GeluForm {
    /// From the exact one, with the error function.
    pub from_erf: f64,
    /// From the approximation with tanh.
    pub from_tanh: f64,
}

fn problem(fault: Fault) -> Problem {
    match fault {
        Fault::OutOfMemory => Problem::new(Code::DEVICE_MEMORY, "the device has not enough memory"),
        Fault::Refused(why) | Fault::Lost(why) => Problem::new(Code::DEVICE_LOST, why),
    }
}

fn name_of(step: &Step) -> &'static str {
    match step {
        Step::Clear { .. } => "clear",
        Step::Launch(launch) => launch.kernel,
        Step::Product(_) => "product",
    }
}

/// What NVIDIA's compiler made of the kernels, with a line for each and target.
const RESOURCES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/gen/resources.txt"));

/// Every kernel of the module, by name, in order.
pub fn kernel_names() -> Vec<&'static str> {
    let mut names: Vec<_> =
        RESOURCES.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Runs each wrapper of an instruction on a GPU, and compares it with its twin.
///
/// # Errors
/// As [`super::CudaEncoder::open`]; [`Code::DEVICE_LOST`] where one cannot be run.
pub fn compare_wrappers(ordinal: usize, kernels: &HostKernels) -> Result<Vec<WrapperDifference>, Problem> {
    let device = BareDevice::open(ordinal)?;
    conformance::compare(&device, kernels).map_err(problem)
}

/// Launches every kernel of the module on a GPU, in every variant that its blocks have room for, over sequences of these lengths (not
/// none, none of them 0), and compares it with its definition in f64.
///
/// # Errors
/// As [`compare_wrappers`].
pub fn compare_kernels(ordinal: usize, lengths: &[usize]) -> Result<Vec<KernelDifference>, Problem> {
    let device = BareDevice::open(ordinal)?;
    let mut cases = rows::cases();
    cases.extend(attention::cases(device.limits().block_shared_bytes, lengths));
    cases.iter().map(|case| case.run(&device)).collect::<Result<_, _>>().map_err(problem)
}

/// Runs a batch on a GPU and through the host's kernels, for logits and for means, one step at a time, and compares what each step
/// wrote. Before the next step the GPU gets the host's numbers, so that each is seen alone.
///
/// # Errors
/// As [`super::CudaEncoder::open`]; [`Code::DEVICE_LOST`] where a step cannot be run.
pub fn compare_steps(
    subject: Subject<'_>,
    kernels: Arc<HostKernels>,
    batch: &[Encoded],
    wide: bool,
) -> Result<Vec<StepDifference>, Problem> {
    let mut device = CudaDevice::start(subject.ordinal, subject.config, subject.weights)?.device;
    let mut host = HostDevice::new(subject.config, subject.weights, device.limits(), kernels)?;
    let mut sequences: Vec<&Encoded> = batch.iter().collect();
    sequences.sort_by_key(|sequence| std::cmp::Reverse(sequence.ids.len()));
    let mut differences = Vec::new();
    for ask in [Ask::Logits, Ask::Mean] {
        let packed = pack(&sequences, ask, wide);
        differences.extend(compare_pass(&mut device, &mut host, &packed).map_err(problem)?);
    }
    Ok(differences)
}

fn compare_pass(
    device: &mut CudaDevice,
    host: &mut HostDevice,
    packed: &Packed,
) -> Result<Vec<StepDifference>, Fault> {
    let plan = device.plan(packed.bucket)?;
    let output = packed.bucket.output(host.shape());
    device.stage(packed)?;
    let mut twin = host.begin(packed, &plan)?;
    let mut differences = Vec::new();
    for (number, step) in plan.steps.iter().enumerate() {
        twin.step(step)?;
        device.run_one(&plan, step)?;
        let mut relative: f64 = 0.0;
        for (pointer, bytes, is_wide) in written(step, &plan, &output) {
            let right = twin.load(pointer, bytes)?;
            let found = device.read(&plan, pointer, bytes)?;
            relative = relative.max(difference(&found, right, is_wide));
            device.write(&plan, pointer, right)?;
        }
        differences.push(StepDifference { step: number, what: name_of(step), relative });
    }
    Ok(differences)
}

/// What a step writes: where, how many bytes, and whether they are f32. Not the number of logits that are not finite.
fn written(step: &Step, plan: &Plan, output: &OutputLayout) -> Vec<(Ptr, usize, bool)> {
    let of_output = |at: usize| {
        let section = output.numbers.iter().position(|&start| start == at)?;
        Some(output.numbers.get(section + 1).copied().unwrap_or(output.bytes) - at)
    };
    let whole = |pointer: Ptr, is_wide: bool| match pointer {
        Ptr::Work(buffer, 0) => Some((pointer, plan.buffers[buffer], is_wide)),
        Ptr::Output(at) => of_output(at).map(|bytes| (pointer, bytes, true)),
        _ => None,
    };
    match step {
        Step::Clear { .. } => Vec::new(),
        Step::Product(it) => whole(it.out, it.wide).into_iter().collect(),
        Step::Launch(launch) => {
            let Arguments { fields, pointers, .. } = &launch.arguments;
            let is_wide = |field: &str| field == "wide" || launch.kernel == "pooler";
            let places = fields.iter().zip(pointers).filter(|(_, (access, _))| *access != Access::Read);
            places.filter_map(|(field, (_, pointer))| whole(*pointer, is_wide(field))).collect()
        }
    }
}

/// Relative L2 difference. What the host has left as it was (not a number) is a row of padding, which nobody reads.
fn difference(found: &[u8], right: &[u8], is_wide: bool) -> f64 {
    let numbers = |bytes: &[u8]| -> Vec<f32> {
        if !is_wide {
            return singles(bytes);
        }
        bytes.chunks_exact(4).map(|raw| f32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]])).collect()
    };
    let (mut sum, mut norm) = (0.0, 0.0);
    for (found, right) in numbers(found).into_iter().zip(numbers(right)).filter(|(_, right)| !right.is_nan())
    {
        if found.is_finite() != right.is_finite() {
            return f64::INFINITY;
        }
        if right.is_finite() {
            sum += f64::from(found - right).powi(2);
            norm += f64::from(right).powi(2);
        }
    }
    if sum == 0.0 { 0.0 } else { (sum / norm.max(f64::MIN_POSITIVE)).sqrt() }
}

/// Times the steps of one pass over sequences of these lengths, by kind; each is timed by itself, so that their sum is more than a
/// pass takes.
///
/// # Errors
/// As [`compare_steps`].
pub fn time_steps(
    subject: Subject<'_>,
    sequences: &[Encoded],
    rounds: usize,
) -> Result<Vec<StepTime>, Problem> {
    let mut device = CudaDevice::start(subject.ordinal, subject.config, subject.weights)?.device;
    let mut sorted: Vec<&Encoded> = sequences.iter().collect();
    sorted.sort_by_key(|sequence| std::cmp::Reverse(sequence.ids.len()));
    let packed = pack(&sorted, Ask::Logits, false);
    let plan = device.plan(packed.bucket).map_err(problem)?;
    device.stage(&packed).map_err(problem)?;
    let mut shortest = vec![f64::INFINITY; plan.steps.len()];
    for _ in 0..=rounds {
        let times = device.time_each(&plan).map_err(problem)?;
        shortest.iter_mut().zip(times).for_each(|(least, time)| *least = least.min(time));
    }
    let mut kinds: Vec<StepTime> = Vec::new();
    for (step, milliseconds) in plan.steps.iter().zip(shortest) {
        let what = name_of(step);
        match kinds.iter_mut().find(|kind| kind.what == what) {
            Some(kind) => {
                kind.steps += 1;
                kind.milliseconds += milliseconds;
            }
            None => kinds.push(StepTime { what, steps: 1, milliseconds }),
        }
    }
    Ok(kinds)
}

/// Asks the library of products for its GELU.
///
/// # Errors
/// As [`compare_steps`].
pub fn gelu_form(ordinal: usize) -> Result<GeluForm, Problem> {
    let (from_erf, from_tanh) = gelu_differences(ordinal)?;
    Ok(GeluForm { from_erf, from_tanh })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::batch::{Bucket, NOT_FINITE};
    use crate::cuda::host::tests::kernels;
    use crate::cuda::plan::tests::for_each;
    use half::f16;
    use std::collections::BTreeSet;

    /// An H200's.
    const BLOCK_SHARED_BYTES: usize = 227 << 10;

    #[test]
    fn every_kernel_of_the_module_has_a_case_and_its_host_twin_is_right_in_each() {
        let kernels = kernels();
        let mut cases = rows::cases();
        cases.extend(attention::cases(BLOCK_SHARED_BYTES, &[1, 130, 64, 17]));
        let mut seen = BTreeSet::from(["conformance"]);
        for case in &cases {
            let found = case.run(&*kernels).unwrap();
            assert!(found.is_right(), "{found:?}");
            seen.insert(found.kernel);
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), kernel_names());
    }

    #[test]
    fn a_kernel_that_is_given_one_wrong_number_is_seen() {
        let kernels = kernels();
        for mut case in rows::cases().into_iter().filter(|case| case.launch.kernel != "bias_relu") {
            // The last number that says how much there is.
            let numbers = &mut case.launch.arguments.numbers;
            let width = numbers.iter().position(|raw| i32::from_ne_bytes(*raw) >= 16).unwrap();
            numbers[width] = (i32::from_ne_bytes(numbers[width]) - 8).to_ne_bytes();
            let found = case.run(&*kernels).unwrap();
            assert!(!found.is_right(), "{found:?}");
        }
    }

    fn halves(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|&value| f16::from_f32(value).to_ne_bytes()).collect()
    }

    #[test]
    fn all_that_a_plan_writes_is_compared_but_the_count_of_what_is_not_finite() {
        for_each(|name, shape, bucket: Bucket, plan| {
            let output = bucket.output(shape);
            for step in &plan.steps {
                let places = step.uses().into_iter().filter(|(access, pointer)| {
                    *access != Access::Read && *pointer != Ptr::Null && *pointer != NOT_FINITE
                });
                let compared = written(step, plan, &output);
                let found: Vec<Ptr> = compared.iter().map(|(pointer, ..)| *pointer).collect();
                assert_eq!(found, places.map(|(_, pointer)| pointer).collect::<Vec<_>>(), "{name}: {step:?}");
                let past = |(pointer, bytes, _): &(Ptr, usize, bool)| match pointer {
                    Ptr::Output(at) => at + bytes > output.bytes,
                    _ => false,
                };
                assert!(!compared.iter().any(past), "{name}: {step:?}");
            }
        });
    }

    #[test]
    fn a_difference_is_relative_and_padding_does_not_count() {
        let right = halves(&[3.0, 4.0, f32::NAN]);
        assert_eq!(difference(&halves(&[3.0, 4.0, 7.0]), &right, false), 0.0);
        let off = difference(&halves(&[3.0, 4.5, 0.0]), &right, false);
        assert!((off - 0.1).abs() < 1e-6, "{off}");
        assert_eq!(difference(&halves(&[3.0, f32::INFINITY, 0.0]), &right, false), f64::INFINITY);
        let wide: Vec<u8> = [1.0_f32, 2.0].iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(difference(&wide, &wide, true), 0.0);
    }
}
