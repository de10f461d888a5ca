//! One step at a time, for comparing and timing; and what the library's GELU is.

use super::super::arguments::Ptr;
use super::super::attention::DeviceLimits;
use super::super::batch::Packed;
use super::super::check::Alone;
use super::super::plan::Plan;
use super::super::runner::Fault;
use super::super::steps::{Launch, Product, Step};
use super::library::Opened;
use super::memory::{DeviceMemory, Event};
use super::status::fault_of;
use super::{Arena, CudaDevice, Places};
use cudarc::driver::result;
use groundline_types::{Code, Problem};
use half::f16;

/// Rows and columns of the product that shows the library's GELU.
const GELU_WIDTH: usize = 256;

impl CudaDevice {
    pub(in super::super) fn limits(&self) -> DeviceLimits {
        self.limits
    }

    /// Puts a batch's input where its steps find it.
    pub(in super::super) fn stage(&mut self, packed: &Packed) -> Result<(), Fault> {
        self.arena()?.input.write(0, &packed.bytes)?;
        // The copy may still be under way, and our stream waits for no other.
        result::ctx::synchronize().map_err(fault_of)
    }

    /// Does one step, and waits.
    pub(in super::super) fn run_one(&mut self, plan: &Plan, step: &Step) -> Result<(), Fault> {
        let places = self.checked_places(plan)?;
        self.run_step(plan, places, step)?;
        self.wait()
    }

    /// What lies in a buffer or in the output.
    pub(in super::super) fn read(&self, plan: &Plan, pointer: Ptr, bytes: usize) -> Result<Vec<u8>, Fault> {
        let (memory, at) = self.place(plan, pointer)?;
        memory.read(at, bytes)
    }

    /// Writes into a buffer or the output.
    pub(in super::super) fn write(&self, plan: &Plan, pointer: Ptr, bytes: &[u8]) -> Result<(), Fault> {
        let (memory, at) = self.place(plan, pointer)?;
        memory.write(at, bytes)?;
        result::ctx::synchronize().map_err(fault_of)
    }

    /// Milliseconds that each step takes by itself.
    pub(in super::super) fn time_each(&mut self, plan: &Plan) -> Result<Vec<f64>, Fault> {
        let (places, stream) = (self.checked_places(plan)?, self.opened.stream());
        let (before, after) = (Event::timed()?, Event::timed()?);
        let mut times = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            before.record(stream)?;
            self.run_step(plan, places, step)?;
            after.record(stream)?;
            after.wait()?;
            times.push(f64::from(after.since(&before)?));
        }
        Ok(times)
    }

    fn arena(&self) -> Result<&Arena, Fault> {
        self.arena.as_ref().ok_or(Fault::OutOfMemory)
    }

    fn checked_places(&self, plan: &Plan) -> Result<Places, Fault> {
        let arena = self.arena()?;
        let fits = plan.placement.bytes <= arena.work.bytes();
        if fits { Ok(self.places(arena)) } else { Err(Fault::OutOfMemory) }
    }

    fn place(&self, plan: &Plan, pointer: Ptr) -> Result<(&DeviceMemory, usize), Fault> {
        let arena = self.arena()?;
        match pointer {
            Ptr::Work(buffer, at) => Ok((&arena.work, plan.placement.offsets[buffer] + at)),
            Ptr::Output(at) => Ok((&arena.output, at)),
            other => Err(Fault::Refused(format!("{other:?} is not read back"))),
        }
    }
}

/// A device without a model: one launch at a time, on memory of its own.
pub(in super::super) struct BareDevice(Opened);

impl BareDevice {
    pub(in super::super) fn open(ordinal: usize) -> Result<Self, Problem> {
        Opened::open(ordinal).map(Self)
    }

    pub(in super::super) fn limits(&self) -> DeviceLimits {
        self.0.limits
    }
}

impl Alone for BareDevice {
    fn run_alone(&self, launch: &Launch, input: &[u8], output: &mut [u8]) -> Result<(), Fault> {
        let (read, written) = (DeviceMemory::new(input.len())?, DeviceMemory::new(output.len())?);
        read.write(0, input)?;
        written.write(0, output)?;
        // The copies may still be under way, and our stream waits for no other.
        result::ctx::synchronize().map_err(fault_of)?;
        let address = |pointer: Ptr| match pointer {
            Ptr::Input(at) => read.address() + at as u64,
            Ptr::Output(at) => written.address() + at as u64,
            _ => 0,
        };
        let function = self.0.function(launch)?;
        // SAFETY: a case's input and output are as large as its launch needs, and the launch is waited for.
        unsafe { self.0.launch(function, launch, &address) }?;
        // SAFETY: the stream is alive.
        unsafe { result::stream::synchronize(self.0.stream()) }.map_err(fault_of)?;
        output.copy_from_slice(&written.read(0, output.len())?);
        Ok(())
    }
}

/// The largest differences of the library's GELU from the one with the error function and from the one with tanh: it is given the numbers
/// from -6 to 6, times one.
pub(in super::super) fn gelu_differences(ordinal: usize) -> Result<(f64, f64), Problem> {
    let opened = Opened::open(ordinal)?;
    let problem =
        |fault| Problem::new(Code::DEVICE_UNAVAILABLE, format!("the GELU cannot be computed: {fault:?}"));
    let computed = gelu_of_library(&opened).map_err(problem)?;
    let inputs = gelu_inputs();
    let largest = |right: fn(f64) -> f64| {
        let differences = inputs.iter().zip(&computed).map(|(x, y)| (right(x.to_f64()) - y.to_f64()).abs());
        differences.fold(0.0, f64::max)
    };
    Ok((largest(gelu_with_erf), largest(gelu_with_tanh)))
}

/// Halves from -6 to 6, as many as a matrix has.
fn gelu_inputs() -> Vec<f16> {
    let count = GELU_WIDTH * GELU_WIDTH;
    (0..count).map(|index| f16::from_f64(12.0 * index as f64 / count as f64 - 6.0)).collect()
}

fn gelu_of_library(opened: &Opened) -> Result<Vec<f16>, Fault> {
    let bytes_of =
        |values: &[f16]| -> Vec<u8> { values.iter().flat_map(|half| half.to_ne_bytes()).collect() };
    let count = GELU_WIDTH * GELU_WIDTH;
    let mut identity = vec![f16::ZERO; count];
    identity.iter_mut().step_by(GELU_WIDTH + 1).for_each(|number| *number = f16::ONE);
    let memory = DeviceMemory::new(3 * 2 * count)?;
    memory.write(0, &bytes_of(&gelu_inputs()))?;
    memory.write(2 * count, &bytes_of(&identity))?;
    result::ctx::synchronize().map_err(fault_of)?;
    let product = Product {
        x: Ptr::Output(0),
        weight: Ptr::Output(2 * count),
        bias: Ptr::Null,
        out: Ptr::Output(4 * count),
        rows: GELU_WIDTH,
        inputs: GELU_WIDTH,
        outputs: GELU_WIDTH,
        wide: false,
    };
    let start = memory.address();
    let address = |pointer: Ptr| match pointer {
        Ptr::Output(at) => start + at as u64,
        _ => 0,
    };
    let mut products = opened.products()?;
    products.run_with_gelu(&product, &address)?;
    // SAFETY: the stream is alive.
    unsafe { result::stream::synchronize(opened.stream()) }.map_err(fault_of)?;
    let raw = memory.read(4 * count, 2 * count)?;
    Ok(raw.chunks_exact(2).map(|raw| f16::from_ne_bytes([raw[0], raw[1]])).collect())
}

/// By the series of the error function, as in [`crate::deberta`]'s reference.
fn gelu_with_erf(x: f64) -> f64 {
    let argument = x / std::f64::consts::SQRT_2;
    let (mut term, mut sum, mut n) = (argument, argument, 0.0);
    while term.abs() > sum.abs() * 1e-17 {
        n += 1.0;
        term *= 2.0 * argument * argument / (2.0 * n + 1.0);
        sum += term;
    }
    let erf = 2.0 / std::f64::consts::PI.sqrt() * (-argument * argument).exp() * sum;
    0.5 * x * (1.0 + erf)
}

fn gelu_with_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_gelu_are_right_and_halves_can_tell_them_apart() {
        assert!((gelu_with_erf(1.0) - 0.841_344_746).abs() < 1e-9);
        assert!((gelu_with_tanh(1.0) - 0.841_191_990).abs() < 1e-9);
        assert_eq!(gelu_with_erf(0.0), 0.0);
        let inputs = gelu_inputs();
        let apart = inputs.iter().map(|x| (gelu_with_erf(x.to_f64()) - gelu_with_tanh(x.to_f64())).abs());
        let largest = apart.fold(0.0, f64::max);
        assert!((4e-4..6e-4).contains(&largest), "{largest}");
    }
}
