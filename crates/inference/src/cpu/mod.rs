//! The CPU engine: encoders of every family that [`crate::encoder`] describes, in single precision, bf16 or int8, for
//! AVX-512, AVX2, NEON and anything else.
//!
//! From the outside it is [`CpuEncoder`]. Inside, from the bottom up:
//! - `simd`, `x86` and `neon`: one virtual vector of 16 lanes for every instruction set, the only code that names instructions;
//! - `gemm`, `narrow`, `attention`, `math`: kernels, generic over that vector; `bench` measures them;
//! - `kernels`: their entries for each [`Isa`], chosen once, behind safe calls that check every size;
//! - `precision`: which layers are computed how exactly;
//! - `buffer`, `pack`, `tables`, `model`: memory, packed weights, relative position tables, a loaded model;
//! - `forward`, `schedule`, `pool`, `encoder`: the pass of one group of sequences, and spreading groups over threads;
//!   `phases` splits its time.
//!
//! Sequences are packed one after another, never padded. A sequence's result is the same to the last bit in every batch.
//! `unsafe` code stands here, in `mapped`, and in `cuda::device` and `cuda::host`; nowhere else in the project.

mod attention;
pub mod bench;
mod buffer;
mod encoder;
mod forward;
mod gemm;
mod isa;
mod kernels;
mod math;
mod model;
mod narrow;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pack;
mod phases;
mod pool;
mod precision;
mod schedule;
mod simd;
mod tables;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use encoder::{CpuEncoder, CpuOptions, Output};
pub use isa::{ISA_VARIABLE, Isa};
pub use phases::{Phase, PhaseTimes};
pub use precision::Precision;

#[cfg(test)]
mod tests;
