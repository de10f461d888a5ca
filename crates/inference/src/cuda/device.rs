//! A plan on a GPU: memory that is taken once, kernels, products, and graphs of launches.
//!
//! Everything here happens on one thread (see [`super::encoder`]) and one stream, so each batch finds the device's buffers free.
//! Only the pinned memory on this side is double: a batch is packed and copied there while the one before it computes.

mod functions;
mod graphs;
mod library;
mod memory;
#[cfg(feature = "kernels-host")]
mod probe;
mod products;
mod status;

pub use library::{DeviceInfo, look};
#[cfg(feature = "kernels-host")]
pub(super) use probe::{BareDevice, gelu_differences};

use super::arguments::Ptr;
use super::attention::DeviceLimits;
use super::batch::{Ask, Bucket, Packed};
use super::encoder::Started;
use super::pack::Packer;
use super::plan::Plan;
use super::runner::{Device, Fault, IN_FLIGHT, wide_budget};
use super::shape::Shape;
use super::steps::{Launch, Step};
use super::weights::WeightLayout;
use crate::deberta::{DebertaConfig, Weights};
use cudarc::driver::{result, sys};
use graphs::{Graph, Recent};
use groundline_types::{Code, Problem};
use library::Opened;
use memory::{DeviceMemory, PinnedMemory};
use products::Products;
use status::fault_of;
use std::collections::{BTreeMap, VecDeque};

/// Tokens of a pass where memory is no limit: enough to fill the largest devices.
pub(super) const DEFAULT_BUDGET_TOKENS: usize = 16_384;
/// Plans and graphs that are kept; there are about a hundred sizes of buckets in use.
const MOST_BUCKETS: usize = 256;

/// The work memory and what depends on where it lies.
struct Arena {
    work: DeviceMemory,
    input: DeviceMemory,
    output: DeviceMemory,
    plans: Recent<Bucket, Prepared>,
}

/// Where the memories of a pass begin.
#[derive(Debug, Clone, Copy)]
struct Places {
    weights: u64,
    input: u64,
    output: u64,
    work: u64,
}

impl Places {
    fn address(self, plan: &Plan, pointer: Ptr) -> u64 {
        match pointer {
            Ptr::Null => 0,
            Ptr::Weights(at) => self.weights + at as u64,
            Ptr::Input(at) => self.input + at as u64,
            Ptr::Output(at) => self.output + at as u64,
            Ptr::Work(buffer, at) => self.work + (plan.placement.offsets[buffer] + at) as u64,
        }
    }
}

/// A bucket's plan, and its graph from the second time on.
struct Prepared {
    plan: Plan,
    graph: Option<Graph>,
    was_run: bool,
}

/// Memory on this side for one batch in flight.
struct Slot {
    input: PinnedMemory,
    output: PinnedMemory,
    event: memory::Event,
}

/// A batch that the device has.
struct Flight {
    slot: usize,
    bytes: usize,
}

/// A model on a GPU. Fields are dropped in this order: the context is the last to go.
pub(super) struct CudaDevice {
    arena: Option<Arena>,
    slots: Vec<Slot>,
    flights: VecDeque<Flight>,
    next_slot: usize,
    products: Products,
    functions: BTreeMap<&'static str, sys::CUfunction>,
    weights: DeviceMemory,
    shape: Shape,
    layout: WeightLayout,
    limits: DeviceLimits,
    takes_graphs: bool,
    opened: Opened,
}

impl CudaDevice {
    /// Opens device `ordinal`, copies the weights there and takes the memory of passes: as large as there is room for.
    ///
    /// # Errors
    /// [`Code::DEVICE_UNAVAILABLE`] without such a device; [`Code::MODEL_UNSUPPORTED`]; [`Code::DEVICE_MEMORY`] where it is
    /// too small for the model.
    pub(super) fn start(
        ordinal: usize,
        config: &DebertaConfig,
        weights: &Weights,
    ) -> Result<Started<Self>, Problem> {
        let shape = Shape::of(config, weights)?;
        let opened = Opened::open(ordinal)?;
        let limits = opened.limits;
        let layout = WeightLayout::of(&shape);
        let (name, target) = (opened.info.name.clone(), opened.info.target);
        let problem = |fault: Fault| could_not_start(&name, fault);
        let uploaded = upload(&layout, &Packer::new(config, weights, &shape)?).map_err(problem)?;
        let products = opened.products().map_err(problem)?;
        let mut device = Self {
            arena: None,
            slots: Vec::new(),
            flights: VecDeque::new(),
            next_slot: 0,
            products,
            functions: BTreeMap::new(),
            weights: uploaded,
            layout,
            limits,
            takes_graphs: true,
            opened,
            shape: shape.clone(),
        };
        let budget = device.take_memory().map_err(|fault| could_not_start(&name, fault))?;
        tracing::info!(device = name, target, budget_tokens = budget, "the GPU is ready");
        Ok(Started { device, shape, name, target, budget })
    }

    /// The largest budget that there is memory for.
    fn take_memory(&mut self) -> Result<usize, Fault> {
        let floor = super::batch::bucket_tokens(self.shape.longest);
        let mut budget = DEFAULT_BUDGET_TOKENS.max(floor);
        loop {
            match self.prepare(budget) {
                Ok(()) => return Ok(budget),
                Err(Fault::OutOfMemory) if budget > floor => budget = (budget / 2).max(floor),
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Memory for passes of up to `tokens`.
    fn prepare(&mut self, tokens: usize) -> Result<(), Fault> {
        // What there was goes first: both at once might not fit.
        self.arena = None;
        self.slots.clear();
        let floor = super::batch::bucket_tokens(self.shape.longest);
        let (mut work, mut input, mut output) = (0, 0, 0);
        for ask in [Ask::Logits, Ask::Mean] {
            for (wide, tokens) in [(false, tokens), (true, wide_budget(tokens, floor))] {
                let bucket = Bucket::largest(&self.shape, tokens, ask, wide);
                let plan = self.plan(bucket)?;
                work = work.max(plan.placement.bytes);
                input = input.max(bucket.input().bytes);
                output = output.max(bucket.output(&self.shape).bytes);
            }
        }
        for _ in 0..IN_FLIGHT {
            self.slots.push(Slot {
                input: PinnedMemory::new(input)?,
                output: PinnedMemory::new(output)?,
                event: memory::Event::new()?,
            });
        }
        self.arena = Some(Arena {
            work: DeviceMemory::new(work)?,
            input: DeviceMemory::new(input)?,
            output: DeviceMemory::new(output)?,
            plans: Recent::new(MOST_BUCKETS),
        });
        Ok(())
    }

    pub(super) fn plan(&self, bucket: Bucket) -> Result<Plan, Fault> {
        Plan::of(&self.shape, &self.layout, &self.limits, bucket)
            .map_err(|problem| Fault::Refused(problem.message))
    }

    /// Runs the steps of a bucket, or replays them.
    fn compute(&mut self, arena: &mut Arena, bucket: Bucket) -> Result<(), Fault> {
        let mut prepared = match arena.plans.take(&bucket) {
            Some(prepared) => prepared,
            None => Prepared { plan: self.plan(bucket)?, graph: None, was_run: false },
        };
        let done = self.run_prepared(arena, &mut prepared);
        // Kept whatever became of it: its graph may run for the batch before.
        if let Some(evicted) = arena.plans.put(bucket, prepared) {
            // A graph that runs must not be destroyed.
            self.wait()?;
            drop(evicted);
        }
        done
    }

    fn run_prepared(&mut self, arena: &Arena, prepared: &mut Prepared) -> Result<(), Fault> {
        if prepared.plan.placement.bytes > arena.work.bytes() {
            return Err(Fault::OutOfMemory);
        }
        let stream = self.opened.stream();
        // The first time is not captured: it loads what the library brings when it is first wanted, and a size that comes once
        // is not worth a graph.
        if prepared.was_run && prepared.graph.is_none() && self.takes_graphs {
            let captured = Graph::capture(stream, || self.run_steps(arena, &prepared.plan));
            match captured {
                Ok(graph) => prepared.graph = Some(graph),
                Err(Fault::OutOfMemory) => return Err(Fault::OutOfMemory),
                Err(Fault::Refused(why) | Fault::Lost(why)) => {
                    // Nothing of it has run, whatever the library makes of it: a device that is lost says so again.
                    self.wait()?;
                    tracing::warn!(why, "launches cannot be captured; they are sent one by one");
                    self.takes_graphs = false;
                }
            }
        }
        match &prepared.graph {
            Some(graph) => graph.launch(stream)?,
            None => self.run_steps(arena, &prepared.plan)?,
        }
        prepared.was_run = true;
        Ok(())
    }

    fn run_steps(&mut self, arena: &Arena, plan: &Plan) -> Result<(), Fault> {
        let places = self.places(arena);
        plan.steps.iter().try_for_each(|step| self.run_step(plan, places, step))
    }

    fn places(&self, arena: &Arena) -> Places {
        let (input, output) = (arena.input.address(), arena.output.address());
        Places { weights: self.weights.address(), input, output, work: arena.work.address() }
    }

    fn run_step(&mut self, plan: &Plan, places: Places, step: &Step) -> Result<(), Fault> {
        let address = |pointer| places.address(plan, pointer);
        match step {
            Step::Clear { to, bytes } => {
                // SAFETY: the plan's output lies within that memory, which lives as long as the arena.
                unsafe { result::memset_d8_async(address(*to), 0, *bytes, self.opened.stream()) }
                    .map_err(fault_of)
            }
            Step::Launch(launch) => self.launch(launch, &address),
            Step::Product(product) => self.products.run(product, &address),
        }
    }

    fn launch(&mut self, launch: &Launch, address: &dyn Fn(Ptr) -> u64) -> Result<(), Fault> {
        let function = self.function(launch)?;
        // SAFETY: every address leads into memory that the plan has made large enough and that outlives the stream's work.
        unsafe { self.opened.launch(function, launch, address) }
    }

    fn function(&mut self, launch: &Launch) -> Result<sys::CUfunction, Fault> {
        if let Some(function) = self.functions.get(launch.kernel) {
            return Ok(*function);
        }
        let function = self.opened.function(launch)?;
        self.functions.insert(launch.kernel, function);
        Ok(function)
    }

    fn wait(&self) -> Result<(), Fault> {
        // SAFETY: the stream lives as long as `opened`.
        unsafe { result::stream::synchronize(self.opened.stream()) }.map_err(fault_of)
    }

    fn submit_to(&mut self, arena: &mut Arena, packed: &Packed) -> Result<(), Fault> {
        let bytes = packed.bucket.output(&self.shape).bytes;
        if packed.bytes.len() > arena.input.bytes() || bytes > arena.output.bytes() {
            return Err(Fault::OutOfMemory);
        }
        let (slot, stream) = (self.next_slot, self.opened.stream());
        // No batch in flight uses this slot: there are as many slots as batches in flight.
        let staged = self.slots[slot].input.fill(&packed.bytes);
        // SAFETY: pinned memory stays where it is until the slot is used again, which is after its event.
        unsafe { result::memcpy_htod_async(arena.input.address(), staged, stream) }.map_err(fault_of)?;
        self.compute(arena, packed.bucket)?;
        let answer = self.slots[slot].output.part_mut(bytes);
        // SAFETY: the same.
        unsafe { result::memcpy_dtoh_async(answer, arena.output.address(), stream) }.map_err(fault_of)?;
        self.slots[slot].event.record(stream)?;
        self.flights.push_back(Flight { slot, bytes });
        self.next_slot = (slot + 1) % self.slots.len();
        Ok(())
    }
}

impl Device for CudaDevice {
    fn submit(&mut self, packed: &Packed) -> Result<(), Fault> {
        let Some(mut arena) = self.arena.take() else { return Err(Fault::OutOfMemory) };
        let done = self.submit_to(&mut arena, packed);
        self.arena = Some(arena);
        // What was sent before it failed may still read the slot, which the next batch fills.
        done.or_else(|fault| self.wait().and(Err(fault)))
    }

    fn collect(&mut self) -> Result<Vec<u8>, Fault> {
        let flight =
            self.flights.pop_front().ok_or_else(|| Fault::Refused("nothing was submitted".to_owned()))?;
        let slot = &self.slots[flight.slot];
        slot.event.wait()?;
        Ok(slot.output.part(flight.bytes).to_vec())
    }

    fn reserve(&mut self, tokens: usize) -> Result<(), Fault> {
        self.wait()?;
        self.prepare(tokens)
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // Memory must not go while something uses it; a device that is lost has nothing that runs.
        let _ = self.wait();
    }
}

fn upload(layout: &WeightLayout, packer: &Packer<'_>) -> Result<DeviceMemory, Fault> {
    let memory = DeviceMemory::new(layout.bytes)?;
    for tensor in &layout.tensors {
        let bytes = packer.bytes(tensor.source);
        if bytes.len() != tensor.bytes {
            return Err(Fault::Refused(format!("{:?} has another size than planned", tensor.source)));
        }
        memory.write(tensor.offset, &bytes)?;
    }
    // A copy from memory that is not pinned may still be under way when its call returns, and our stream waits for no other.
    result::ctx::synchronize().map_err(fault_of)?;
    Ok(memory)
}

fn could_not_start(name: &str, fault: Fault) -> Problem {
    match fault {
        Fault::OutOfMemory => Problem::new(
            Code::DEVICE_MEMORY,
            format!(
                "{name} has not enough free memory for the model; free some, take a smaller model, or use the CPU"
            ),
        ),
        Fault::Refused(why) | Fault::Lost(why) => {
            Problem::new(Code::DEVICE_UNAVAILABLE, format!("{name} cannot be used: {why}"))
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "kernels-host", target_os = "linux"))]
mod tests;
