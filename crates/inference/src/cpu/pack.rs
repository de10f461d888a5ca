//! Weights in the order in which kernels read them.

use super::buffer::Buffer;
use super::kernels::Kernels;
use super::simd::{LANES, to_bf16};

/// How a layer's weights are held and multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Single precision.
    Single,
    /// bf16 pairs.
    Pairs,
    /// Signed bytes by fours, with a scale for each output.
    Quads,
}

impl Format {
    /// Weights in a unit of four bytes.
    pub(super) fn of_unit(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Pairs => 2,
            Self::Quads => 4,
        }
    }
}

/// Largest byte of a weight; the smallest is its negative, so that both signs are alike.
const TOP: f32 = 127.0;

/// A linear layer `y = W x + b` as panels of columns (see [`super::gemm::GemmArgs::weights`]) for the kernels of one
/// instruction set. The last panel is filled up with zero columns.
#[derive(Debug)]
pub(super) struct Packed {
    panels: Buffer,
    bias: Buffer,
    /// Of bytes: for each column the scale that makes them weights, and their sum times it.
    column_sums: Buffer,
    column_scales: Buffer,
    format: Format,
    depth: usize,
    columns: usize,
    /// Vectors of a wide panel; the kernels' own number, so that no other kernels can be run over it.
    vectors: usize,
}

impl Packed {
    /// Zeros for `columns` outputs of `depth` inputs each, to be filled with [`Packed::set_column`].
    pub(super) fn zeros(kernels: &Kernels, depth: usize, columns: usize) -> Self {
        Self::zeros_as(Format::Single, kernels, depth, columns)
    }

    /// The same in a format; single precision where `depth` is no whole number of its units.
    pub(super) fn zeros_as(format: Format, kernels: &Kernels, depth: usize, columns: usize) -> Self {
        let format = if depth.is_multiple_of(format.of_unit()) { format } else { Format::Single };
        let padded = columns.next_multiple_of(LANES);
        let scales = if format == Format::Quads { padded } else { 0 };
        Self {
            panels: Buffer::zeros(depth / format.of_unit() * padded),
            bias: Buffer::zeros(padded),
            column_sums: Buffer::zeros(scales),
            column_scales: Buffer::zeros(scales),
            format,
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
        let (format, units) = (self.format, self.units());
        let scale = match format {
            Format::Quads => self.set_scale(column, weights),
            _ => 1.0,
        };
        let panel = &mut self.panels.as_mut_words()[first * units..(first + width) * units];
        for (step, unit) in panel.chunks_exact_mut(width).zip(weights.chunks_exact(format.of_unit())) {
            step[column - first] = match format {
                Format::Single => unit[0].to_bits(),
                Format::Pairs => u32::from(to_bf16(unit[0])) | u32::from(to_bf16(unit[1])) << 16,
                Format::Quads => {
                    u32::from_le_bytes(std::array::from_fn(|i| byte(unit[i], scale).cast_unsigned()))
                }
            };
        }
    }

    /// The scale of a column's bytes, kept with their sum. A weight that is not finite makes the scale so.
    fn set_scale(&mut self, column: usize, weights: &[f32]) -> f32 {
        let largest =
            weights.iter().fold(0.0_f32, |largest, w| if w.abs() <= largest { largest } else { w.abs() });
        let scale = if largest == 0.0 { 1.0 } else { largest / TOP };
        let sum: i32 = weights.iter().map(|&weight| i32::from(byte(weight, scale))).sum();
        self.column_sums.as_mut_slice()[column] = sum as f32 * scale;
        self.column_scales.as_mut_slice()[column] = scale;
        scale
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Inputs.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Units of each output's weights.
    pub(super) fn units(&self) -> usize {
        self.depth / self.format.of_unit()
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

    /// Of bytes: each column's sum times its scale, and its scale.
    pub(super) fn column_scales(&self) -> (&[f32], &[f32]) {
        (self.column_sums.as_slice(), self.column_scales.as_slice())
    }
}

/// A weight as a byte. The cast cuts at its limits and makes NaN 0, whose column has a scale that is NaN.
fn byte(weight: f32, scale: f32) -> i8 {
    (weight / scale).round_ties_even().clamp(-TOP, TOP) as i8
}
