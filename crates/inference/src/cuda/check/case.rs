//! One launch of one kernel with what it must give: inputs in one memory, outputs in another, and the answer by the definition in f64.

use super::super::arguments::{Arguments, Ptr};
use super::super::memory::ALIGNMENT_BYTES;
use super::super::runner::Fault;
use super::super::steps::Launch;
use super::{Alone, KernelDifference};
use half::f16;

/// How far an output of halves may be from f64, as relative L2: rounding to a half is 3e-4 of it, weights of attention that are rounded
/// to halves before their product double that, and the tensor cores' order of summation is their own.
pub(super) const HALVES: f64 = 2e-3;
/// The same of an output in f32: sums of up to 2048 products, and functions within 2 units in the last place.
pub(super) const SINGLES: f64 = 1e-5;
/// Of numbers that are only moved.
pub(super) const EXACT: f64 = 0.0;

/// What an output is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Halves,
    Singles,
    /// Whole numbers.
    Counts,
}

impl Kind {
    fn bytes(self) -> usize {
        if self == Self::Halves { 2 } else { 4 }
    }

    fn number(self, raw: &[u8]) -> f64 {
        match self {
            Self::Halves => f16::from_ne_bytes([raw[0], raw[1]]).to_f64(),
            Self::Singles => f64::from(f32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]])),
            Self::Counts => f64::from(u32::from_ne_bytes([raw[0], raw[1], raw[2], raw[3]])),
        }
    }
}

/// What must lie somewhere in the output.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    at: usize,
    kind: Kind,
    values: Vec<f64>,
    most: f64,
}

/// A launch and what it must give.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// The setting, in words.
    pub what: String,
    pub launch: Launch,
    pub input: Vec<u8>,
    pub output: Vec<u8>,
    pub expected: Vec<Expected>,
}

/// Numbers that are spread evenly; a linear congruential generator.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// From `-most` to `most`.
    pub(super) fn spread(&mut self, most: f64) -> f64 {
        (f64::from(self.next()) / f64::from(1_u32 << 30) - 1.0) * most
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }
}

/// Numbers in a case's memory.
#[derive(Debug, Clone)]
pub(super) struct Numbers {
    pub at: Ptr,
    /// As they lie there, rounded.
    pub values: Vec<f64>,
}

impl Numbers {
    /// No such input.
    pub(super) fn none() -> Self {
        Self { at: Ptr::Null, values: Vec::new() }
    }
}

/// The memories of a case that is being made.
pub(super) struct Maker {
    pub random: Random,
    input: Vec<u8>,
    output: Vec<u8>,
    expected: Vec<Expected>,
}

impl Maker {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), input: Vec::new(), output: Vec::new(), expected: Vec::new() }
    }

    fn put(memory: &mut Vec<u8>, bytes: impl Iterator<Item = u8>) -> usize {
        let at = memory.len();
        memory.extend(bytes);
        // Not a number behind each, as kernels may not read past the end.
        memory.resize(memory.len().next_multiple_of(ALIGNMENT_BYTES) + ALIGNMENT_BYTES, 0xff);
        at
    }

    /// `count` halves from `middle - most` to `middle + most`.
    pub(super) fn halves(&mut self, count: usize, middle: f64, most: f64) -> Numbers {
        let values: Vec<f64> = (0..count).map(|_| middle + self.random.spread(most)).collect();
        self.these_halves(&values)
    }

    pub(super) fn these_halves(&mut self, values: &[f64]) -> Numbers {
        let halves: Vec<f16> = values.iter().map(|&value| f16::from_f64(value)).collect();
        let at = Self::put(&mut self.input, halves.iter().flat_map(|half| half.to_ne_bytes()));
        Numbers { at: Ptr::Input(at), values: halves.into_iter().map(f16::to_f64).collect() }
    }

    /// `count` f32 numbers from `-most` to `most`.
    pub(super) fn singles(&mut self, count: usize, most: f64) -> Numbers {
        let values: Vec<f64> = (0..count).map(|_| self.random.spread(most)).collect();
        self.these_singles(&values)
    }

    pub(super) fn these_singles(&mut self, values: &[f64]) -> Numbers {
        let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let at = Self::put(&mut self.input, singles.iter().flat_map(|single| single.to_ne_bytes()));
        Numbers { at: Ptr::Input(at), values: singles.into_iter().map(f64::from).collect() }
    }

    pub(super) fn integers(&mut self, values: &[usize]) -> Ptr {
        let words = values.iter().flat_map(|&value| (value as i32).to_ne_bytes());
        Ptr::Input(Self::put(&mut self.input, words))
    }

    pub(super) fn shorts(&mut self, values: &[usize]) -> Ptr {
        let shorts = values.iter().flat_map(|&value| (value as u16).to_ne_bytes());
        Ptr::Input(Self::put(&mut self.input, shorts))
    }

    /// Where `values` must lie after the launch; not a number before it.
    pub(super) fn expect(&mut self, kind: Kind, values: Vec<f64>, most: f64) -> Ptr {
        let poison = std::iter::repeat_n(0xff, values.len() * kind.bytes());
        let at = Self::put(&mut self.output, poison);
        self.expected.push(Expected { at, kind, values, most });
        Ptr::Output(at)
    }

    /// The same for numbers that a kernel changes in place: `before` lies there first.
    pub(super) fn update(&mut self, kind: Kind, before: &[u8], values: Vec<f64>, most: f64) -> Ptr {
        let at = Self::put(&mut self.output, before.iter().copied());
        self.expected.push(Expected { at, kind, values, most });
        Ptr::Output(at)
    }

    pub(super) fn case(self, what: String, launch: LaunchOf, arguments: impl Into<Arguments>) -> Case {
        let LaunchOf { kernel, grid, threads, shared_bytes } = launch;
        let launch = Launch { kernel, grid, threads, shared_bytes, arguments: arguments.into() };
        Case { what, launch, input: self.input, output: self.output, expected: self.expected }
    }
}

/// A launch without its argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaunchOf {
    pub kernel: &'static str,
    pub grid: (usize, usize),
    pub threads: usize,
    pub shared_bytes: usize,
}

impl Case {
    /// Runs it and compares.
    pub(super) fn run(&self, device: &dyn Alone) -> Result<KernelDifference, Fault> {
        let mut output = self.output.clone();
        device.run_alone(&self.launch, &self.input, &mut output)?;
        // The worst in parts of what it may be.
        let found = self.expected.iter().map(|expected| (expected.difference(&output), expected.most));
        let worst = found.max_by(|a, b| excess(*a).total_cmp(&excess(*b)));
        let (relative, tolerance) = worst.unwrap_or((f64::INFINITY, 0.0));
        Ok(KernelDifference { kernel: self.launch.kernel, what: self.what.clone(), relative, tolerance })
    }
}

fn excess((relative, most): (f64, f64)) -> f64 {
    if relative <= most { relative / most.max(f64::MIN_POSITIVE) } else { f64::INFINITY }
}

impl Expected {
    /// Relative L2; infinite where one is finite and the other is not, or where what lies behind was written.
    fn difference(&self, output: &[u8]) -> f64 {
        let end = self.at + self.values.len() * self.kind.bytes();
        let (mut sum, mut norm) = (0.0, 0.0);
        let found = output[self.at..end].chunks_exact(self.kind.bytes()).map(|raw| self.kind.number(raw));
        for (found, &right) in found.zip(&self.values) {
            let is_same = found == right || (found.is_nan() && right.is_nan());
            if is_same {
                norm += if right.is_finite() { right * right } else { 0.0 };
                continue;
            }
            if !found.is_finite() || !right.is_finite() {
                return f64::INFINITY;
            }
            sum += (found - right).powi(2);
            norm += right * right;
        }
        let behind = &output[end..(end + ALIGNMENT_BYTES).min(output.len())];
        if behind.iter().any(|&byte| byte != 0xff) {
            return f64::INFINITY;
        }
        if sum == 0.0 { 0.0 } else { (sum / norm.max(f64::MIN_POSITIVE)).sqrt() }
    }
}
