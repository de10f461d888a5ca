//! What a plan is made of: kernels to launch, products, and memory to clear.

use super::arguments::{Access, Arguments, Ptr};
use super::memory::Life;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Zeros.
    Clear { to: Ptr, bytes: usize },
    /// A kernel.
    Launch(Launch),
    /// `out = x weight^T + bias`.
    Product(Product),
}

/// A kernel of kernels/.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Launch {
    pub kernel: &'static str,
    pub grid: (usize, usize),
    pub threads: usize,
    pub shared_bytes: usize,
    pub arguments: Arguments,
}

/// A product of halves, summed in f32. Rows lie one after another without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Product {
    /// `[rows][inputs]`.
    pub x: Ptr,
    /// `[outputs][inputs]`.
    pub weight: Ptr,
    /// `[outputs]`, of the same kind as `out`; or null.
    pub bias: Ptr,
    /// `[rows][outputs]`, halves, or f32 where `wide`.
    pub out: Ptr,
    pub rows: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub wide: bool,
}

impl Step {
    /// What it reads and writes.
    pub(super) fn uses(&self) -> Vec<(Access, Ptr)> {
        match self {
            Step::Clear { to, .. } => vec![(Access::Write, *to)],
            Step::Launch(launch) => launch.arguments.pointers.clone(),
            Step::Product(it) => vec![
                (Access::Read, it.x),
                (Access::Read, it.weight),
                (Access::Read, it.bias),
                (Access::Write, it.out),
            ],
        }
    }
}

/// First and last use of each buffer.
pub(super) fn lives(steps: &[Step], buffers: usize) -> Vec<Option<Life>> {
    let mut lives: Vec<Option<Life>> = vec![None; buffers];
    for (number, step) in steps.iter().enumerate() {
        for (_, pointer) in step.uses() {
            if let Ptr::Work(buffer, _) = pointer {
                lives[buffer].get_or_insert(Life { first: number, last: number }).last = number;
            }
        }
    }
    lives
}
