//! A device made of the kernels' own source, compiled as C++ (kernels/host), with the products on the CPU: what a plan computes is
//! seen without a GPU, and each step of a GPU can be compared with it. Memory starts as NaN for each batch, so what is read before
//! it is written shows.

use super::arguments::Ptr;
use super::attention::DeviceLimits;
use super::batch::Packed;
use super::check::Alone;
use super::pack::{Packer, product};
use super::plan::Plan;
use super::runner::{Device, Fault};
use super::shape::Shape;
use super::steps::{Launch, Product, Step};
use super::weights::WeightLayout;
use crate::deberta::{DebertaConfig, Weights};
use groundline_types::{Code, Problem};
use half::f16;
use half::slice::HalfFloatSliceExt as _;
use libloading::Library;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

type LaunchFunction = unsafe extern "C" fn(*const c_char, *const c_void, u64, *const u64) -> i32;

/// The kernels as a library of the host, which runs one launch at a time.
#[derive(Debug)]
pub struct HostKernels(Mutex<Library>);

impl HostKernels {
    /// Loads what kernels/host/dispatch.cpp was compiled to. It must be that and nothing else: its code is run.
    ///
    /// # Errors
    /// [`Code::INTERNAL`] where the file is no library.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let failed = |error| Problem::new(Code::INTERNAL, format!("load the kernels' host twins: {error}"));
        // SAFETY: the library has no initialisers that do anything but set its own statics.
        unsafe { Library::new(path) }.map(|library| Self(Mutex::new(library))).map_err(failed)
    }

    /// Runs a kernel; `grid` has blocks in x and y, threads, bytes of shared memory and the schedule.
    fn launch(&self, kernel: &str, argument: &[u8], grid: [u64; 5]) -> Result<(), Fault> {
        let refused = |why: String| Fault::Refused(format!("{kernel}: {why}"));
        let name = CString::new(kernel).map_err(|error| refused(error.to_string()))?;
        let library = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the function has this type, and the argument holds addresses of memory that is as large as the plan says.
        let answer = unsafe {
            let run = library
                .get::<LaunchFunction>(b"groundline_launch\0")
                .map_err(|it| refused(it.to_string()))?;
            run(name.as_ptr(), argument.as_ptr().cast(), argument.len() as u64, grid.as_ptr())
        };
        match answer {
            0 => Ok(()),
            1 => Err(refused("there is no such kernel".to_owned())),
            _ => Err(refused("its argument has another size".to_owned())),
        }
    }
}

impl Alone for HostKernels {
    fn run_alone(&self, launch: &Launch, input: &[u8], output: &mut [u8]) -> Result<(), Fault> {
        let (mut read, mut written) = (Memory::poisoned(input.len()), Memory::poisoned(output.len()));
        read.write(0, input)?;
        written.write(0, output)?;
        let argument = launch.arguments.bytes(|pointer| match pointer {
            Ptr::Input(at) => read.address() + at as u64,
            Ptr::Output(at) => written.address() + at as u64,
            _ => 0,
        });
        let [x, y] = [launch.grid.0 as u64, launch.grid.1 as u64];
        let grid = [x, y, launch.threads as u64, launch.shared_bytes as u64, 0];
        self.launch(launch.kernel, &argument, grid)?;
        output.copy_from_slice(written.read(0, output.len())?);
        Ok(())
    }
}

/// Bytes of a block, which are also its alignment: as a GPU aligns memory.
const BLOCK: usize = 256;

#[repr(C, align(256))]
#[derive(Clone, Copy)]
struct Block([u8; BLOCK]);

/// Memory of the host that kernels read and write.
struct Memory(Vec<Block>);

impl Memory {
    /// All ones, which are NaN as halves and as f32.
    fn poisoned(bytes: usize) -> Self {
        Self(vec![Block([0xff; BLOCK]); bytes.div_ceil(BLOCK) + 1])
    }

    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    fn read(&self, at: usize, bytes: usize) -> Result<&[u8], Fault> {
        // SAFETY: blocks are plain bytes, one after another.
        let all: &[u8] = unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * BLOCK) };
        all.get(at..at + bytes).ok_or_else(past_the_end)
    }

    fn write(&mut self, at: usize, bytes: &[u8]) -> Result<(), Fault> {
        let length = self.0.len() * BLOCK;
        // SAFETY: the same, and nothing else refers to them.
        let all: &mut [u8] = unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), length) };
        all.get_mut(at..at + bytes.len()).ok_or_else(past_the_end)?.copy_from_slice(bytes);
        Ok(())
    }
}

fn past_the_end() -> Fault {
    Fault::Refused("a step reads or writes past the end of its memory".to_owned())
}

/// A model on the host.
pub(super) struct HostDevice {
    shape: Shape,
    layout: WeightLayout,
    limits: DeviceLimits,
    kernels: Arc<HostKernels>,
    weights: Memory,
    /// Weights of products as f32, by their offset.
    singles: BTreeMap<usize, Vec<f32>>,
    /// Answers that have not been collected.
    answers: VecDeque<Vec<u8>>,
    /// Which warp runs next; a new one for each batch.
    schedule: u64,
    /// Changes every plan before it runs: a mistake, to see that it shows.
    pub tamper: fn(&mut Plan),
}

impl HostDevice {
    pub(super) fn new(
        config: &DebertaConfig,
        source: &Weights,
        limits: DeviceLimits,
        kernels: Arc<HostKernels>,
    ) -> Result<Self, Problem> {
        let shape = Shape::of(config, source)?;
        let layout = WeightLayout::of(&shape);
        let mut weights = Memory::poisoned(layout.bytes);
        let packer = Packer::new(config, source, &shape)?;
        for tensor in &layout.tensors {
            let bytes = packer.bytes(tensor.source);
            let is_written = bytes.len() == tensor.bytes && weights.write(tensor.offset, &bytes).is_ok();
            if !is_written {
                let what = format!("{:?} has another size than planned", tensor.source);
                return Err(Problem::new(Code::INTERNAL, what));
            }
        }
        Ok(Self {
            shape,
            layout,
            limits,
            kernels,
            weights,
            singles: BTreeMap::new(),
            answers: VecDeque::new(),
            schedule: 0,
            tamper: |_| {},
        })
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Begins a batch.
    pub(super) fn begin<'a>(&'a mut self, packed: &Packed, plan: &'a Plan) -> Result<Run<'a>, Fault> {
        let answer_bytes = packed.bucket.output(&self.shape).bytes;
        self.schedule = (self.schedule + 1) % 3;
        let mut run = Run {
            schedule: self.schedule,
            plan,
            input: Memory::poisoned(packed.bytes.len()),
            output: Memory::poisoned(answer_bytes),
            work: Memory::poisoned(plan.placement.bytes),
            device: self,
        };
        run.input.write(0, &packed.bytes)?;
        Ok(run)
    }

    fn compute(&mut self, packed: &Packed) -> Result<Vec<u8>, Fault> {
        let plan = Plan::of(&self.shape, &self.layout, &self.limits, packed.bucket);
        let mut plan = plan.map_err(|problem| Fault::Refused(problem.message))?;
        (self.tamper)(&mut plan);
        let bytes = packed.bucket.output(&self.shape).bytes;
        let mut run = self.begin(packed, &plan)?;
        for step in &plan.steps {
            run.step(step)?;
        }
        Ok(run.load(Ptr::Output(0), bytes)?.to_vec())
    }
}

/// The memories of one batch.
pub(super) struct Run<'a> {
    device: &'a mut HostDevice,
    plan: &'a Plan,
    input: Memory,
    output: Memory,
    work: Memory,
    schedule: u64,
}

impl Run<'_> {
    /// Does one step.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), Fault> {
        match step {
            Step::Clear { to, bytes } => self.store(*to, &vec![0; *bytes]),
            Step::Launch(launch) => self.launch(launch),
            Step::Product(it) => self.product(it),
        }
    }

    fn place(&self, pointer: Ptr) -> Option<(&Memory, usize)> {
        Some(match pointer {
            Ptr::Null => return None,
            Ptr::Weights(at) => (&self.device.weights, at),
            Ptr::Input(at) => (&self.input, at),
            Ptr::Output(at) => (&self.output, at),
            Ptr::Work(buffer, at) => (&self.work, self.plan.placement.offsets[buffer] + at),
        })
    }

    fn launch(&self, launch: &Launch) -> Result<(), Fault> {
        let address = |pointer| self.place(pointer).map_or(0, |(memory, at)| memory.address() + at as u64);
        let argument = launch.arguments.bytes(address);
        let [x, y] = [launch.grid.0 as u64, launch.grid.1 as u64];
        let grid = [x, y, launch.threads as u64, launch.shared_bytes as u64, self.schedule];
        self.device.kernels.launch(launch.kernel, &argument, grid)
    }

    /// What lies there.
    pub(super) fn load(&self, pointer: Ptr, bytes: usize) -> Result<&[u8], Fault> {
        let (memory, at) = self.place(pointer).ok_or_else(past_the_end)?;
        memory.read(at, bytes)
    }

    fn store(&mut self, pointer: Ptr, bytes: &[u8]) -> Result<(), Fault> {
        match pointer {
            Ptr::Work(buffer, at) => self.work.write(self.plan.placement.offsets[buffer] + at, bytes),
            Ptr::Output(at) => self.output.write(at, bytes),
            other => Err(Fault::Refused(format!("a step writes to {other:?}"))),
        }
    }

    fn product(&mut self, it: &Product) -> Result<(), Fault> {
        let Ptr::Weights(weight) = it.weight else {
            return Err(Fault::Refused("the weights of a product lie elsewhere".to_owned()));
        };
        let x = singles(self.load(it.x, it.rows * it.inputs * 2)?);
        let bias = match (it.bias, it.wide) {
            (Ptr::Null, _) => Vec::new(),
            (bias, false) => singles(self.load(bias, it.outputs * 2)?),
            (bias, true) => {
                let raw = self.load(bias, it.outputs * 4)?.chunks_exact(4);
                raw.map(|raw| f32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]])).collect()
            }
        };
        let size = it.outputs * it.inputs;
        if self.device.singles.get(&weight).is_none_or(|known| known.len() < size) {
            let values = singles(self.load(it.weight, size * 2)?);
            self.device.singles.insert(weight, values);
        }
        let y = product(&x, &self.device.singles[&weight][..size], &bias, it.inputs);
        let bytes: Vec<u8> = if it.wide {
            y.iter().flat_map(|number| number.to_ne_bytes()).collect()
        } else {
            y.iter().flat_map(|&number| f16::from_f32(number).to_ne_bytes()).collect()
        };
        self.store(it.out, &bytes)
    }
}

/// Halves as f32.
pub(super) fn singles(halves: &[u8]) -> Vec<f32> {
    let halves: Vec<f16> = halves.chunks_exact(2).map(|raw| f16::from_ne_bytes([raw[0], raw[1]])).collect();
    let mut out = vec![0.0; halves.len()];
    halves.convert_to_f32_slice(&mut out);
    out
}

impl Device for HostDevice {
    fn submit(&mut self, packed: &Packed) -> Result<(), Fault> {
        let answer = self.compute(packed)?;
        self.answers.push_back(answer);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<u8>, Fault> {
        self.answers.pop_front().ok_or_else(|| Fault::Refused("nothing was submitted".to_owned()))
    }

    fn reserve(&mut self, _tokens: usize) -> Result<(), Fault> {
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests;
