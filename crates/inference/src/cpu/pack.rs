//! Weights in the order in which kernels read them.

use super::buffer::Buffer;
use super::kernels::Kernels;
use super::simd::LANES;

/// A linear layer `y = W x + b` as panels of columns (see [`super::gemm::GemmArgs::weights`]) for the kernels of one
/// instruction set. The last panel is filled up with zero columns.
#[derive(Debug)]
pub(super) struct Packed {
    panels: Buffer,
    bias: Buffer,
    depth: usize,
    columns: usize,
    /// Vectors of a wide panel; the kernels' own number, so that no other kernels can be run over it.
    vectors: usize,
}

impl Packed {
    /// Zeros for `columns` outputs of `depth` inputs each, to be filled with [`Packed::set_column`].
    pub(super) fn zeros(kernels: &Kernels, depth: usize, columns: usize) -> Self {
        let padded = columns.next_multiple_of(LANES);
        Self {
            panels: Buffer::zeros(depth * padded),
            bias: Buffer::zeros(padded),
            depth,
            columns,
            vectors: kernels.panel_vectors,
        }
    }

    /// Sets the weights of one output and its bias.
    pub(super) fn set_column(&mut self, column: usize, weights: &[f32], bias: f32) {
        assert_eq!(weights.len(), self.depth, "one weight for each input");
        assert!(column < self.columns, "a column of the layer");
        self.bias.as_mut_slice()[column] = bias;
        let wide = self.vectors * LANES;
        let wide_columns = self.wide_panels() * wide;
        let (first, width) = if column < wide_columns {
            (column / wide * wide, wide)
        } else {
            (column / LANES * LANES, LANES)
        };
        let panel = &mut self.panels.as_mut_slice()[first * self.depth..(first + width) * self.depth];
        for (step, &weight) in panel.chunks_exact_mut(width).zip(weights) {
            step[column - first] = weight;
        }
    }

    /// Inputs.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Numbers written to each row of the result: the outputs, rounded up to whole vectors. Those past the outputs come out
    /// as zeros (plus the residual, where there is one).
    pub(super) fn padded_columns(&self) -> usize {
        self.columns.next_multiple_of(LANES)
    }

    pub(super) fn vectors(&self) -> usize {
        self.vectors
    }

    pub(super) fn wide_panels(&self) -> usize {
        self.padded_columns() / (self.vectors * LANES)
    }

    pub(super) fn narrow_panels(&self) -> usize {
        self.padded_columns() / LANES - self.wide_panels() * self.vectors
    }

    pub(super) fn panels(&self) -> &[f32] {
        self.panels.as_slice()
    }

    pub(super) fn bias(&self) -> &[f32] {
        self.bias.as_slice()
    }
}
