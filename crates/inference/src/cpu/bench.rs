//! Measurements of this machine, for benchmarks: how fast could it be, how fast is it.

use super::buffer::{Buffer, Rows, RowsMut};
use super::gemm::Product;
use super::isa::Isa;
use super::kernels::Kernels;
use super::pack::{Format, Packed};
use super::phases::Phase;
use super::precision::{Part, Precision};
use super::simd::Simd;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// `rounds` products and sums on each of CHAINS vectors, from registers alone.
#[inline(always)]
pub(super) unsafe fn products<S: Simd, P: Product<S>, const CHAINS: usize>(rounds: usize) -> f32 {
    // SAFETY: the caller promises the instruction set.
    unsafe {
        let (a, b) = (S::splat(black_box(0.999)), S::splat(black_box(0.001)));
        let mut sums = [b; CHAINS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = P::step(a, b, *sum);
            }
        }
        let mut total = sums[0];
        for &sum in &sums[1..] {
            total = S::add(total, sum);
        }
        S::sum(total)
    }
}

/// The most GFLOP/s that one core reaches with multiply-adds of `isa`, measured for about `time`; best of many runs.
///
/// # Panics
/// Where the machine does not have `isa`.
pub fn peak_gflops(isa: Isa, time: Duration) -> f64 {
    peak_of(isa, Format::Single, time)
}

fn peak_of(isa: Isa, format: Format, time: Duration) -> f64 {
    let kernels = Kernels::of(isa);
    best(time, || kernels.run_peak(format, 100_000))
}

/// What one core of this machine could do at most.
#[derive(Debug, Clone, Copy)]
pub struct Peaks {
    /// 10^9 operations a second with multiply-adds in single precision; a multiply-add is two.
    pub f32: f64,
    /// The same with pairs of bf16 numbers.
    pub bf16: f64,
    /// The same with bytes.
    pub int8: f64,
    /// 10^9 bytes a second read from memory far larger than the caches.
    pub memory: f64,
}

impl Peaks {
    /// Measured for about `time` each; best of many runs.
    ///
    /// # Panics
    /// Where the machine does not have `isa`.
    pub fn measure(isa: Isa, time: Duration) -> Self {
        Self {
            f32: peak_of(isa, Format::Single, time),
            bf16: peak_of(isa, Format::Pairs, time),
            int8: peak_of(isa, Format::Quads, time),
            memory: read_rate(time),
        }
    }

    /// Of the products of a phase; 0 for a phase that is not made of matrix products.
    pub fn of(&self, precision: Precision, phase: Phase) -> f64 {
        let part = match phase {
            Phase::Projections | Phase::AttentionOutput => Part::Projection,
            Phase::Intermediate => Part::Intermediate,
            Phase::Output => Part::Output,
            Phase::Embedding | Phase::Attention | Phase::Norms | Phase::Heads => return 0.0,
        };
        match precision.format(part) {
            Format::Single => self.f32,
            Format::Pairs => self.bf16,
            Format::Quads => self.int8,
        }
    }
}

/// 10^9 bytes a second that one core reads from memory.
fn read_rate(time: Duration) -> f64 {
    let numbers = vec![1_u64; 1 << 25];
    best(time, || {
        black_box(numbers.iter().fold(0_u64, |sum, &number| sum.wrapping_add(number)));
        (numbers.len() * size_of::<u64>()) as f64
    })
}

/// 10^9 operations a second of one core in the matrix product of `rows` tokens, `depth` inputs and `columns` outputs, as a
/// precision has it in attention's projections, without the conversion of the input; measured for about `time`, best of many
/// runs.
///
/// # Panics
/// Where the machine does not have `isa`, or a size is 0.
pub fn gemm_gflops(
    isa: Isa,
    precision: Precision,
    (rows, depth, columns): (usize, usize, usize),
    time: Duration,
) -> f64 {
    const TIMES: usize = 16;
    let kernels = Kernels::of(isa);
    let mut layer = Packed::zeros_as(precision.format(Part::Projection), kernels, depth, columns);
    let weights: Vec<f32> = (0..depth).map(|k| (k % 13) as f32 * 0.01 - 0.06).collect();
    for column in 0..columns {
        layer.set_column(column, &weights, 0.1);
    }
    let input = Buffer::from_values(&vec![0.5; rows * depth]);
    let stride = layer.padded_columns();
    let mut out = Buffer::zeros(rows * stride);
    best(time, || {
        let input = Rows::new(input.as_slice(), depth, rows);
        kernels.linear_repeated(&layer, input, RowsMut::new(out.as_mut_slice(), stride, rows), TIMES);
        (TIMES * 2 * rows * depth * columns) as f64
    })
}

/// Best rate of `run`, which returns its floating-point operations, in GFLOP/s.
fn best(time: Duration, mut run: impl FnMut() -> f64) -> f64 {
    run();
    let start = Instant::now();
    let mut rate: f64 = 0.0;
    while start.elapsed() < time {
        let begin = Instant::now();
        let flop = run();
        rate = rate.max(flop / begin.elapsed().as_secs_f64() / 1e9);
    }
    rate
}
