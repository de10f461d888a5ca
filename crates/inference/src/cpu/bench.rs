//! Measurements of this machine, for benchmarks: how fast could it be, how fast is it.

use super::buffer::{Buffer, Rows, RowsMut};
use super::isa::Isa;
use super::kernels::Kernels;
use super::pack::Packed;
use super::simd::Simd;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// `rounds` multiply-adds on each of CHAINS vectors, from registers alone.
#[inline(always)]
pub(super) unsafe fn multiply_adds<S: Simd, const CHAINS: usize>(rounds: usize) -> f32 {
    // SAFETY: the caller promises the instruction set.
    unsafe {
        let (a, b) = (S::splat(black_box(0.999)), S::splat(black_box(0.001)));
        let mut sums = [b; CHAINS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = S::fma(*sum, a, b);
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
    let kernels = Kernels::of(isa);
    best(time, || kernels.run_peak(100_000))
}

/// GFLOP/s of the matrix product of one core for `rows` tokens, `depth` inputs and `columns` outputs, measured for about
/// `time`; best of many runs.
///
/// # Panics
/// Where the machine does not have `isa`, or a size is 0.
pub fn gemm_gflops(isa: Isa, (rows, depth, columns): (usize, usize, usize), time: Duration) -> f64 {
    let kernels = Kernels::of(isa);
    let mut layer = Packed::zeros(kernels, depth, columns);
    let weights: Vec<f32> = (0..depth).map(|k| (k % 13) as f32 * 0.01 - 0.06).collect();
    for column in 0..columns {
        layer.set_column(column, &weights, 0.1);
    }
    let input = Buffer::from_values(&vec![0.5; rows * depth]);
    let stride = layer.padded_columns();
    let mut out = Buffer::zeros(rows * stride);
    best(time, || {
        let input = Rows::new(input.as_slice(), depth, rows);
        kernels.linear(&layer, input, RowsMut::new(out.as_mut_slice(), stride, rows));
        2.0 * (rows * depth * columns) as f64
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
