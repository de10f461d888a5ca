//! Safe calls of matrix products: linear layers in any format, with what is done to their results.

use super::super::buffer::{Buffer, Rows, RowsMut};
use super::super::gemm::{Epilogue, GemmArgs, Rescale};
use super::super::narrow::NarrowArgs;
use super::super::pack::{Format, Packed};
use super::super::simd::LANES;
use super::Kernels;
use crate::encoder::Activation;
use std::cell::RefCell;

/// The input of a product in units of its format.
#[derive(Clone, Copy)]
struct Units<'a> {
    /// Rows of units.
    rows: Rows<'a>,
    format: Format,
    /// Numbers in a row.
    depth: usize,
    /// Of bytes: minus the zero times the scale, and the scale, for each row.
    scales: &'a [[f32; 2]],
}

thread_local! {
    /// Activations in a short format, and what each row's zero and scale add and multiply.
    static NARROW: RefCell<(Buffer, Vec<[f32; 2]>)> = RefCell::default();
}

/// Panics where `other` has no row beside each row of `out` that is as wide as what `layer` writes.
fn assert_beside(layer: &Packed, out: &RowsMut<'_>, other: Rows<'_>) {
    assert_eq!(other.count, out.count, "one row beside each row");
    assert!(layer.padded_columns() <= other.stride, "rows beside as wide as the result");
    assert!(other.count * other.stride <= other.data.len(), "rows beside in their buffer");
}

impl Kernels {
    /// `out = input W + b`.
    pub(in super::super) fn linear(&self, layer: &Packed, input: Rows<'_>, out: RowsMut<'_>) {
        self.run_gemm(layer, input, out, Epilogue::Bias);
    }

    /// The same `times` times over, converting the input once: a measurement of the product alone.
    pub(in super::super) fn linear_repeated(
        &self,
        layer: &Packed,
        input: Rows<'_>,
        mut out: RowsMut<'_>,
        times: usize,
    ) {
        let count = out.count;
        self.with_units(layer.format(), layer.depth(), input, |units| {
            for _ in 0..times {
                self.run_units(layer, units, out.part(0, count), Epilogue::Bias);
            }
        });
    }

    /// `out = activation(input W + b)`.
    pub(in super::super) fn linear_activated(
        &self,
        layer: &Packed,
        input: Rows<'_>,
        out: RowsMut<'_>,
        activation: Activation,
    ) {
        let epilogue = match activation {
            Activation::Gelu => Epilogue::Gelu,
            Activation::GeluTanh => Epilogue::GeluTanh,
            Activation::Tanh => Epilogue::Tanh,
            Activation::Relu => Epilogue::Relu,
        };
        self.run_gemm(layer, input, out, epilogue);
    }

    /// `out = input W + b + residual`.
    pub(in super::super) fn linear_added(
        &self,
        layer: &Packed,
        input: Rows<'_>,
        out: RowsMut<'_>,
        residual: Rows<'_>,
    ) {
        assert_beside(layer, &out, residual);
        self.run_gemm(layer, input, out, Epilogue::Residual(residual.data.as_ptr(), residual.stride));
    }

    /// `out = (input W + b) * gated`, number by number.
    pub(in super::super) fn linear_gated(
        &self,
        layer: &Packed,
        input: Rows<'_>,
        out: RowsMut<'_>,
        gated: Rows<'_>,
    ) {
        assert_beside(layer, &out, gated);
        self.run_gemm(layer, input, out, Epilogue::Gate(gated.data.as_ptr(), gated.stride));
    }

    /// `out = input W + b` for several layers that read the same input, which becomes short once for all of them.
    pub(in super::super) fn linear_each(&self, input: Rows<'_>, layers: &mut [(&Packed, RowsMut<'_>)]) {
        let shape = |layer: &Packed| (layer.format(), layer.depth());
        let first = layers.first().map(|(layer, _)| shape(layer));
        if layers.iter().any(|(layer, _)| Some(shape(layer)) != first) {
            for (layer, out) in layers {
                self.run_gemm(layer, input, out.part(0, out.count), Epilogue::Bias);
            }
        } else if let Some((format, depth)) = first {
            self.with_units(format, depth, input, |units| {
                for (layer, out) in layers {
                    self.run_units(layer, units, out.part(0, out.count), Epilogue::Bias);
                }
            });
        }
    }

    fn run_gemm(&self, layer: &Packed, input: Rows<'_>, out: RowsMut<'_>, epilogue: Epilogue) {
        self.with_units(layer.format(), layer.depth(), input, |units| {
            self.run_units(layer, units, out, epilogue);
        });
    }

    /// Calls `work` with the input in units of `format`.
    fn with_units(&self, format: Format, depth: usize, input: Rows<'_>, work: impl FnOnce(Units<'_>)) {
        assert!(depth > 0 && depth <= input.stride, "input rows as wide as the layer");
        assert!(input.count * input.stride <= input.data.len(), "input in its buffer");
        if format == Format::Single {
            return work(Units { rows: input, format, depth, scales: &[] });
        }
        NARROW.with_borrow_mut(|(units, scales)| {
            let stride = (depth / format.of_unit()).next_multiple_of(LANES);
            scales.resize(scales.len().max(input.count), [0.0; 2]);
            let args = NarrowArgs {
                x: input.data.as_ptr(),
                rows: input.count,
                width: depth,
                stride: input.stride,
                to: units.scratch(input.count * stride).as_mut_ptr(),
                to_stride: stride,
                scales: scales.as_mut_ptr(),
            };
            let narrow = if format == Format::Pairs { self.to_pairs } else { self.to_bytes };
            // SAFETY: the asserts above; a row of units is `depth` numbers rounded up to whole vectors of them, and there is
            // a place for the scales of each row; the instruction set is available (`Kernels::of`).
            unsafe { narrow(&args) };
            let rows = Rows::new(units.as_slice(), stride, input.count);
            work(Units { rows, format, depth, scales: scales.as_slice() });
        });
    }

    fn run_units(&self, layer: &Packed, input: Units<'_>, out: RowsMut<'_>, epilogue: Epilogue) {
        let Units { rows, format, depth, scales } = input;
        assert_eq!(layer.vectors(), self.panel_vectors, "weights packed for these kernels");
        assert_eq!((layer.format(), layer.depth()), (format, depth), "input in the layer's format");
        assert_eq!(rows.count, out.count, "one result row for each input row");
        assert!(layer.padded_columns() <= out.stride, "result rows as wide as the layer");
        assert!(out.count * out.stride <= out.data.len(), "result in its buffer");
        assert!(format != Format::Quads || rows.count <= scales.len(), "a scale for each row");
        let (column_sums, column_scales) = layer.column_scales();
        let rescale = Rescale {
            rows: scales.as_ptr(),
            column_sums: column_sums.as_ptr(),
            column_scales: column_scales.as_ptr(),
        };
        let args = GemmArgs {
            rows: rows.count,
            depth: layer.units(),
            a: rows.data.as_ptr(),
            a_stride: rows.stride,
            weights: layer.panels().as_ptr(),
            wide_panels: layer.wide_panels(),
            narrow_panels: layer.narrow_panels(),
            bias: layer.bias().as_ptr(),
            c: out.data.as_mut_ptr(),
            c_stride: out.stride,
            block_depth: self.block_depth,
            rescale: (format == Format::Quads).then_some(rescale),
            epilogue,
        };
        let gemm = match format {
            Format::Single => self.gemm,
            Format::Pairs => self.gemm_pairs,
            Format::Quads => self.gemm_quads,
        };
        // SAFETY: the asserts above and those of `with_units`, which alone makes `Units`; `Packed` holds units * padded columns,
        // a bias for each, and for bytes a sum and a scale; `out` is borrowed exclusively; the instruction set is available
        // (`Kernels::of`).
        unsafe { gemm(&args) }
    }
}
