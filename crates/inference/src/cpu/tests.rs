//! Kernels against the same formulas in f64, on every instruction set of the machine.

use super::isa::Isa;
use super::kernels::Kernels;

mod attention;
mod gemm;
mod math;

/// Xorshift: the same numbers on every machine.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From -1 to 1.
    pub(super) fn number(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        ((self.number() + 1.0) / 2.0 * end as f32) as usize % end
    }

    pub(super) fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.number()).collect()
    }
}

fn all_kernels() -> Vec<&'static Kernels> {
    Isa::available().into_iter().map(Kernels::of).collect()
}

/// Panics where two instruction sets that promise equal results, AVX2 and AVX-512, differ in a bit.
fn assert_same_bits(results: &[(Isa, Vec<f32>)], what: &str) {
    let fused: Vec<_> = results.iter().filter(|(isa, _)| *isa != Isa::Portable).collect();
    for pair in fused.windows(2) {
        let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(&pair[0].1) == bits(&pair[1].1), "{} and {} differ: {what}", pair[0].0, pair[1].0);
    }
}
