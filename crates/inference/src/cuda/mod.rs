//! The CUDA engine: DeBERTa-v2/v3 in half precision, with the kernels of kernels/ and cublasLt for products of matrices.
//!
//! It builds everywhere, without anything of CUDA; driver and libraries are looked for when a device is asked for, and a message says
//! what is missing.
//!
//! Two halves. What is pure decides everything, and is tested on any machine:
//! - `shape`, `weights`, `pack`: what the kernels can compute, what lies where, and the weights in that form;
//! - `batch`, `attention`, `arguments`, `steps`, `plan`, `memory`: a bucket of packed sequences as a list of launches and products, with the
//!   memory of its buffers; the same list runs on a GPU and, in `host`, through the kernels' own source compiled as C++;
//! - `runner`: passes within a budget, repeats in f32, less memory, a lost device;
//! - `targets`: which code a device runs.
//!
//! What talks to a device only does as it is told: `device`, and `encoder`, the thread that owns it. `check` holds a device against
//! the host's kernels, step by step, and measures it.

mod arguments;
mod attention;
mod batch;
#[cfg(feature = "kernels-host")]
pub mod check;
mod device;
mod encoder;
#[cfg(feature = "kernels-host")]
mod host;
mod memory;
mod pack;
mod plan;
mod runner;
mod shape;
mod steps;
mod targets;
mod weights;

/// How far a logit of the model may be from the CPU engine's: halves have eleven bits, and a dozen layers add up.
pub const HALF_TOLERANCE: f32 = 2e-2;

pub use device::{DeviceInfo, look};
pub use encoder::CudaEncoder;
#[cfg(feature = "kernels-host")]
pub use host::HostKernels;
