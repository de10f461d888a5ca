//! The device's code on a stand-in for NVIDIA's driver and library of products (kernels/host/driver.cpp), which is as late as a device
//! may be and fails on demand.

use super::*;
use crate::cpu::Output;
use crate::cuda::batch::pack;
use crate::cuda::check::{
    KernelDifference, Subject, compare_kernels, compare_steps, compare_wrappers, gelu_form, kernel_names,
};
use crate::cuda::host::HostKernels;
use crate::cuda::host::tests::{compare, compile, pairs};
use crate::cuda::runner::Runner;
use crate::engine::{Encoded, Task};
use crate::golden::Golden;
use crate::testing::Opened as Checkpoint;
use groundline_types::Head;
use libloading::Library;
use std::ffi::{CString, OsStr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Names by which the two libraries are looked for first.
const NAMES: [&str; 2] = ["libcuda.so", "libcublasLt.so"];
/// Tells the test's own child where the stand-in is.
const FOLDER: &str = "GROUNDLINE_TEST_DRIVER";
const TEST: &str =
    "cuda::device::tests::the_devices_code_computes_and_fails_as_it_should_on_a_stand_in_for_the_driver";
const LACKING: &str = "cuda::device::tests::a_library_that_lacks_a_function_is_refused_by_the_functions_name";
/// Tokens of a pass: few, so that a batch makes several.
const BUDGET: usize = 512;

/// Statuses of the driver, and of the library of products.
const MEMORY: i32 = 2;
const INVALID: i32 = 1;
const ILLEGAL_ADDRESS: i32 = 700;
const PRODUCT_MEMORY: i32 = 3;
const PRODUCT_INVALID: i32 = 7;
const PRODUCT_FAILED: i32 = 13;

/// What the stand-in does for tests.
struct StandIn(Library);

impl StandIn {
    fn call<F: Copy, R>(&self, name: &[u8], run: impl FnOnce(F) -> R) -> R {
        // SAFETY: the types are those of kernels/host/driver.cpp.
        run(*unsafe { self.0.get::<F>(name) }.unwrap())
    }

    /// The `after`-th next call of a function answers `status`.
    fn fault(&self, function: &str, after: u64, status: i32) {
        let name = CString::new(function).unwrap();
        type Fault = unsafe extern "C" fn(*const std::ffi::c_char, u64, i32);
        // SAFETY: a text with its end.
        self.call(b"fake_fault", |set: Fault| unsafe { set(name.as_ptr(), after, status) });
    }

    fn calls(&self, function: &str) -> u64 {
        let name = CString::new(function).unwrap();
        type Calls = unsafe extern "C" fn(*const std::ffi::c_char) -> u64;
        // SAFETY: the same.
        self.call(b"fake_calls", |calls: Calls| unsafe { calls(name.as_ptr()) })
    }

    /// Things that were made and not given back.
    fn alive(&self) -> u64 {
        // SAFETY: reads a number.
        self.call(b"fake_alive", |alive: unsafe extern "C" fn() -> u64| unsafe { alive() })
    }

    /// Things that were sent and have not run.
    fn pending(&self) -> u64 {
        // SAFETY: reads numbers.
        self.call(b"fake_pending", |pending: unsafe extern "C" fn() -> u64| unsafe { pending() })
    }

    fn limit_memory(&self, bytes: u64) {
        // SAFETY: sets a number.
        self.call(b"fake_memory", |set: unsafe extern "C" fn(u64)| unsafe { set(bytes) });
    }

    /// No faults, nothing lost, memory enough.
    fn reset(&self) {
        // SAFETY: sets numbers.
        self.call(b"fake_reset", |reset: unsafe extern "C" fn()| unsafe { reset() });
    }
}

/// The dynamic linker reads where libraries are when a process starts: so the test is a process of its own.
#[test]
fn the_devices_code_computes_and_fails_as_it_should_on_a_stand_in_for_the_driver() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return on_the_stand_in(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), &["host/driver.cpp"]);
    for name in NAMES {
        std::fs::hard_link(&library, folder.path().join(name)).unwrap();
    }
    run_again(TEST, folder.path());
}

/// A library that the linker finds by the right name, and that is another one: the kernels' twins, which are no driver.
#[test]
fn a_library_that_lacks_a_function_is_refused_by_the_functions_name() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let problem = look().unwrap_err();
        assert_eq!(problem.code, Code::DEVICE_UNAVAILABLE);
        let lacking = if Path::new(&folder).join("driver").try_exists().unwrap() {
            "cublasLtGetVersion"
        } else {
            "cuInit"
        };
        assert!(problem.message.contains(&format!("lacks the function {lacking}")), "{problem}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = compile(folder.path(), &[]);
    for name in NAMES {
        std::fs::hard_link(&library, folder.path().join(name)).unwrap();
    }
    run_again(LACKING, folder.path());
    let driver = folder.path().join("driver");
    std::fs::create_dir(&driver).unwrap();
    std::fs::rename(compile(&driver, &["host/driver.cpp"]), folder.path().join(NAMES[0])).unwrap();
    run_again(LACKING, folder.path());
}

/// Runs one test in a process whose libraries are looked for in `folder`.
fn run_again(test: &str, folder: &Path) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs([("LD_LIBRARY_PATH", folder.as_os_str()), (FOLDER, folder.as_os_str())])
        .env("RUST_BACKTRACE", OsStr::new("1"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    let complained = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && said.contains("1 passed"), "{said}\n{complained}");
}

fn on_the_stand_in(folder: &Path) {
    // SAFETY: compiled from kernels/host.
    let stand_in = StandIn(unsafe { Library::new(folder.join(NAMES[0])) }.unwrap());
    golden_logits_come_when_sent_one_by_one_when_captured_and_when_replayed(&stand_in);
    every_step_agrees_with_the_hosts(folder);
    every_wrapper_and_every_kernel_is_run_alone(folder, &stand_in);
    a_library_of_products_of_another_version_is_refused(&stand_in);
    what_fails_at_the_start_says_so_and_leaves_nothing_behind(&stand_in);
    what_fails_in_a_batch_fails_as_its_status_says_and_leaves_nothing_behind(&stand_in);
    what_was_sent_of_a_pass_that_failed_is_over_before_its_slot_is_filled_again(&stand_in);
    little_memory_gives_a_small_budget_and_too_little_a_refusal(&stand_in);
}

fn start(checkpoint: &Checkpoint) -> Result<Runner<CudaDevice>, Problem> {
    let Started { device, shape, .. } = CudaDevice::start(0, &checkpoint.config, &checkpoint.weights)?;
    Ok(Runner::new(device, shape, BUDGET))
}

fn golden_logits_come_when_sent_one_by_one_when_captured_and_when_replayed(stand_in: &StandIn) {
    let checkpoint = Checkpoint::golden("deberta-v3-like");
    let golden = Golden::parse(&checkpoint.golden).unwrap();
    let all = pairs(&checkpoint, &golden.cases, Head::Nli);
    // As many passes as use each slot several times.
    let (mut batch, mut right, mut tokens) = (Vec::new(), Vec::new(), 0);
    for (pair, case) in all.iter().zip(&golden.cases).cycle() {
        tokens += pair.ids.len();
        batch.push(pair.clone());
        right.push(&case.logits);
        if tokens > 2 * IN_FLIGHT * BUDGET {
            break;
        }
    }
    stand_in.reset();
    let mut runner = start(&checkpoint).unwrap();
    let mut first = None;
    for _ in 0..3 {
        let outputs = runner.run(&batch);
        compare(outputs.clone(), right.iter().copied());
        assert_eq!(*first.get_or_insert_with(|| outputs.clone()), outputs, "the same bits");
    }
    let passes = stand_in.calls("cuEventRecord") / 3;
    assert!(passes > 2 * IN_FLIGHT as u64, "{passes}");
    assert!(stand_in.calls("cuGraphLaunch") >= 2 * passes, "launches are replayed");
    drop(runner);
    assert_eq!(stand_in.alive(), 0);
}

/// Two pairs and a text: two passes.
fn short_batch(checkpoint: &Checkpoint) -> Vec<Encoded> {
    let golden = Golden::parse(&checkpoint.golden).unwrap();
    let mut batch = pairs(checkpoint, &golden.cases, Head::Nli);
    batch.sort_by_key(|pair| pair.ids.len());
    batch.truncate(2);
    batch.push(Encoded { task: Task::Embed, ..batch[0].clone() });
    batch
}

fn every_step_agrees_with_the_hosts(folder: &Path) {
    let kernels = Arc::new(HostKernels::load(&folder.join(NAMES[0])).unwrap());
    let checkpoint = Checkpoint::golden("deberta-v2-conv");
    let batch = short_batch(&checkpoint);
    let subject = Subject { ordinal: 0, config: &checkpoint.config, weights: &checkpoint.weights };
    for wide in [false, true] {
        let steps = compare_steps(subject, Arc::clone(&kernels), &batch[..2], wide).unwrap();
        assert!(steps.len() > 20);
        assert!(steps.iter().all(|step| step.relative < 1e-3), "{steps:?}");
    }
    let gelu = gelu_form(0).unwrap();
    assert!(gelu.from_tanh < gelu.from_erf && gelu.from_tanh < 1e-3, "{gelu:?}");
}

fn every_wrapper_and_every_kernel_is_run_alone(folder: &Path, stand_in: &StandIn) {
    let kernels = HostKernels::load(&folder.join(NAMES[0])).unwrap();
    let wrappers = compare_wrappers(0, &kernels).unwrap();
    assert!(wrappers.len() > 12 && wrappers.iter().all(|it| it.different == 0), "{wrappers:?}");
    let found = compare_kernels(0, &[65, 20]).unwrap();
    assert!(found.iter().all(KernelDifference::is_right), "{found:?}");
    let mut run: Vec<&str> = found.iter().map(|it| it.kernel).chain(["conformance"]).collect();
    run.sort_unstable();
    run.dedup();
    assert_eq!(run, kernel_names());
    stand_in.fault("cuLaunchKernel", 0, ILLEGAL_ADDRESS);
    assert_eq!(compare_wrappers(0, &kernels).unwrap_err().code, Code::DEVICE_LOST);
    stand_in.reset();
    assert_eq!(stand_in.alive(), 0);
}

fn a_library_of_products_of_another_version_is_refused(stand_in: &StandIn) {
    // SAFETY: sets a number.
    stand_in.call(b"fake_product_version", |set: unsafe extern "C" fn(u64)| unsafe { set(120_900) });
    let problem = look().unwrap_err();
    assert!(problem.code == Code::DEVICE_UNAVAILABLE && problem.message.contains("12.9"), "{problem}");
    stand_in.reset();
    assert!(look().is_ok());
}

fn what_fails_at_the_start_says_so_and_leaves_nothing_behind(stand_in: &StandIn) {
    let checkpoint = Checkpoint::golden("deberta-v3-like");
    let functions = [
        "cuInit",
        "cuDeviceGetCount",
        "cuDevicePrimaryCtxRetain",
        "cuModuleLoadData",
        "cuStreamCreate",
        "cuMemAlloc_v2",
        "cuMemHostAlloc",
        "cuEventCreate",
        "cuMemcpyHtoD_v2",
        "cuCtxSynchronize",
        "cublasLtCreate",
    ];
    for function in functions {
        for after in 0..3 {
            let is_product = function.starts_with("cublasLt");
            let status = if is_product { PRODUCT_INVALID } else { INVALID };
            stand_in.reset();
            stand_in.fault(function, after, status);
            let started = start(&checkpoint);
            let was_reached = stand_in.calls(function) > after;
            let code = started.map(drop).map_err(|problem| problem.code);
            assert_eq!(code.err(), was_reached.then_some(Code::DEVICE_UNAVAILABLE), "{function} {after}");
            assert_eq!(stand_in.alive(), 0, "{function} {after}");
        }
    }
}

fn what_fails_in_a_batch_fails_as_its_status_says_and_leaves_nothing_behind(stand_in: &StandIn) {
    let checkpoint = Checkpoint::golden("deberta-v3-like");
    let batch = short_batch(&checkpoint);
    stand_in.reset();
    let right = start(&checkpoint).unwrap().run(&batch);
    let functions = [
        "cuMemcpyHtoDAsync_v2",
        "cuMemsetD8Async",
        "cuLaunchKernel",
        "cuModuleGetFunction",
        "cuMemcpyDtoHAsync_v2",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
        "cublasLtMatmulAlgoGetHeuristic",
        "cublasLtMatmul",
    ];
    for function in functions {
        let statuses = match function.starts_with("cublasLt") {
            true => [PRODUCT_INVALID, PRODUCT_MEMORY, PRODUCT_FAILED],
            false => [INVALID, MEMORY, ILLEGAL_ADDRESS],
        };
        for (status, is_lost) in statuses.into_iter().zip([false, false, true]) {
            // The first time and later, when launches are captured or replayed.
            for after in [0, 3] {
                stand_in.reset();
                let mut runner = start(&checkpoint).unwrap();
                stand_in.fault(function, after, status);
                let runs: Vec<Vec<Output>> = (0..4).map(|_| runner.run(&batch)).collect();
                let told = format!("{function} {status} after {after}");
                let was_reached = stand_in.calls(function) > after;
                expect_as_the_status_says(&right, &runs, was_reached && is_lost, &told);
                drop(runner);
                assert_eq!(stand_in.alive(), 0, "{told}");
            }
        }
    }
}

/// No answer is wrong; what is lost stays lost, and what is not is computed again.
fn expect_as_the_status_says(right: &[Output], runs: &[Vec<Output>], is_lost: bool, told: &str) {
    for (output, right) in runs.iter().flat_map(|outputs| outputs.iter().zip(right)) {
        match output {
            Output::Logits(_) | Output::Mean(_) => assert_eq!(output, right, "{told}"),
            Output::Failed | Output::OutOfMemory => {}
            Output::Lost => assert!(is_lost, "{told}"),
            other => panic!("{told}: {other:?}"),
        }
    }
    let failed =
        runs.iter().flatten().filter(|output| matches!(output, Output::Failed | Output::OutOfMemory));
    assert!(failed.count() <= 2, "{told}: one pass fails at most: {runs:?}");
    let last = runs.last().unwrap();
    let as_before = if is_lost { vec![Output::Lost; right.len()] } else { right.to_vec() };
    assert_eq!(*last, as_before, "{told}");
}

fn what_was_sent_of_a_pass_that_failed_is_over_before_its_slot_is_filled_again(stand_in: &StandIn) {
    let checkpoint = Checkpoint::golden("deberta-v3-like");
    let batch = short_batch(&checkpoint);
    let packed = pack(&[&batch[1], &batch[0]], Ask::Logits, false);
    stand_in.reset();
    let mut device = CudaDevice::start(0, &checkpoint.config, &checkpoint.weights).unwrap().device;
    device.submit(&packed).unwrap();
    assert!(stand_in.pending() > 0, "it is not waited for what goes well");
    stand_in.fault("cuEventRecord", 0, INVALID);
    device.submit(&packed).unwrap_err();
    assert_eq!(stand_in.pending(), 0);
    device.collect().unwrap();
}

fn little_memory_gives_a_small_budget_and_too_little_a_refusal(stand_in: &StandIn) {
    let checkpoint = Checkpoint::golden("deberta-v3-like");
    let start = || CudaDevice::start(0, &checkpoint.config, &checkpoint.weights);
    let budget = |bytes: u64| {
        stand_in.reset();
        stand_in.limit_memory(bytes);
        start().map(|started| started.budget)
    };
    let plenty = budget(1 << 40).unwrap();
    let mut bytes = 1 << 32;
    let some = loop {
        match budget(bytes) {
            Ok(found) if found == plenty => bytes -= bytes / 32,
            found => break found.unwrap(),
        }
    };
    assert!((BUDGET..plenty).contains(&some), "{some}");
    assert_eq!(budget(1 << 10).unwrap_err().code, Code::DEVICE_MEMORY);
    assert_eq!(stand_in.alive(), 0);
}
