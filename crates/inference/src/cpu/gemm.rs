//! Matrix product of row-major activations with packed weights, in one of three formats.
//!
//! Both sides are read in units of four bytes: one number, a pair of bf16 numbers, or four bytes (unsigned activations, signed
//! weights). A [`Product`] says how two units are multiplied; everything else is the same for all three.
//!
//! A register tile of R rows by NV vectors walks the whole depth of one panel of weights; nothing of the left side is
//! copied. Each result is one chain of multiply-adds in the order of the depth, starting at zero, whatever the tile or
//! block it falls into: so a row's result depends on nothing but that row. Method: Goto and van de Geijn, "Anatomy of
//! High-Performance Matrix Multiplication" (2008), without packing of A.
//!
//! Weights are used once for each block of rows and come from far: while a panel is multiplied, the next one is fetched.

use super::math;
use super::simd::{LANES, Simd};

/// Rows of one block, whose slice of A stays in the second-level cache while all panels pass; a multiple of every tile.
pub(super) const BLOCK_ROWS: usize = 96;

/// Steps of the depth in one turn of the inner loop.
const UNROLL: usize = 4;

/// How two vectors of units are multiplied and added.
pub(super) trait Product<S: Simd> {
    /// Whether sums are whole numbers, which scales turn into results.
    const SCALED: bool;

    /// `sum + x . w` in every lane.
    ///
    /// # Safety
    /// As for [`Simd`].
    unsafe fn step(x: S::V, w: S::V, sum: S::V) -> S::V;
}

/// Units of one number.
#[derive(Debug)]
pub(super) struct Single;

/// Units of two bf16 numbers, summed in single precision.
#[derive(Debug)]
pub(super) struct Pairs;

/// Units of four bytes, summed as whole numbers.
#[derive(Debug)]
pub(super) struct Quads;

macro_rules! products {
    ($($name:ident, $scaled:literal, $op:ident;)*) => {$(
        impl<S: Simd> Product<S> for $name {
            const SCALED: bool = $scaled;

            #[inline(always)]
            unsafe fn step(x: S::V, w: S::V, sum: S::V) -> S::V {
                // SAFETY: as the caller promises.
                unsafe { S::$op(x, w, sum) }
            }
        }
    )*};
}
products!(Single, false, fma; Pairs, false, dot2; Quads, true, dot4;);

/// How sums of [`Quads`] become results. Since `x = (byte - zero) * scale` for activations and `w = byte * scale` for weights, the
/// product is `sum * scale[row] * scale[column] - zero[row] * scale[row] * sum[column] * scale[column]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rescale {
    /// For each row of A, minus its zero times its scale, and its scale.
    pub rows: *const [f32; 2],
    /// For each column the sum of its bytes times its scale; zeros up to the end of the last panel.
    pub column_sums: *const f32,
    /// Likewise its scale.
    pub column_scales: *const f32,
}

/// What is done to a result before it is stored; the bias is always added first.
#[derive(Debug, Clone, Copy)]
pub(super) enum Epilogue {
    /// Nothing more.
    Bias,
    /// [`math::gelu`].
    Gelu,
    /// [`math::gelu_tanh`].
    GeluTanh,
    /// [`math::tanh`].
    Tanh,
    /// [`math::relu`].
    Relu,
    /// Adds a matrix of the result's shape, given by its first row and the numbers from row to row.
    Residual(*const f32, usize),
    /// Multiplies with such a matrix.
    Gate(*const f32, usize),
}

/// `C = epilogue(A W + bias)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct GemmArgs {
    /// Rows of A and C.
    pub rows: usize,
    /// Units in a row of A: the length of every sum, at least 1.
    pub depth: usize,
    /// First row of A.
    pub a: *const f32,
    /// Units from one row of A to the next.
    pub a_stride: usize,
    /// Panels of weights: `wide_panels` of NV vectors, then `narrow_panels` of one; in each, 16 * NV (16) units for
    /// depth 0, then for depth 1, ...
    pub weights: *const f32,
    /// Number of panels of NV vectors.
    pub wide_panels: usize,
    /// Number of panels of one vector after them.
    pub narrow_panels: usize,
    /// One number for each column, up to the end of the last panel.
    pub bias: *const f32,
    /// First row of C, which is written up to the end of the last panel.
    pub c: *mut f32,
    /// Numbers from one row of C to the next.
    pub c_stride: usize,
    /// Depth walked at a time, so that the slice of a panel stays in cache.
    pub block_depth: usize,
    /// For products that want it.
    pub rescale: Option<Rescale>,
    /// What is done before the store.
    pub epilogue: Epilogue,
}

/// Part of a panel's depth for the rows of a block.
#[derive(Clone, Copy)]
struct Slab {
    rows: usize,
    depth: usize,
    a: *const f32,
    a_stride: usize,
    b: *const f32,
    /// Panel slice that is multiplied next.
    next: *const f32,
    c: *mut f32,
    c_stride: usize,
    /// C holds the sums over the depth before this.
    resume: bool,
    /// The depth ends here.
    ends: bool,
}

/// The whole product with tiles of R rows (at most 8) by NV vectors.
#[inline(always)]
pub(super) unsafe fn gemm<S: Simd, P: Product<S>, const R: usize, const NV: usize>(args: &GemmArgs) {
    const { assert!(R <= 8 && BLOCK_ROWS.is_multiple_of(R)) };
    // SAFETY: the caller promises the instruction set and the sizes said at the fields.
    unsafe {
        for row in (0..args.rows).step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(args.rows - row);
            for from in (0..args.depth).step_by(args.block_depth) {
                let depth = args.block_depth.min(args.depth - from);
                let part = Slab {
                    rows,
                    depth,
                    a: args.a.add(row * args.a_stride + from),
                    a_stride: args.a_stride,
                    b: args.weights,
                    next: args.weights,
                    c: args.c.add(row * args.c_stride),
                    c_stride: args.c_stride,
                    resume: from > 0,
                    ends: from + depth == args.depth,
                };
                for panel in 0..args.wide_panels {
                    let column = panel * NV * LANES;
                    let b = args.weights.add(column * args.depth + from * NV * LANES);
                    let next = b.wrapping_add(NV * LANES * args.depth);
                    run_panel::<S, P, R, NV>(args, Slab { b, next, ..part }, row, column);
                }
                for panel in 0..args.narrow_panels {
                    let column = (args.wide_panels * NV + panel) * LANES;
                    let b = args.weights.add(column * args.depth + from * LANES);
                    let next = b.wrapping_add(LANES * args.depth);
                    run_panel::<S, P, R, 1>(args, Slab { b, next, ..part }, row, column);
                }
            }
        }
    }
}

/// All row tiles of a block over one panel; finishes them where the depth ends here.
#[inline(always)]
unsafe fn run_panel<S: Simd, P: Product<S>, const R: usize, const NV: usize>(
    args: &GemmArgs,
    slab: Slab,
    row: usize,
    column: usize,
) {
    // SAFETY: as promised to `gemm`; `row` and `column` are where the slab lies in C.
    unsafe {
        let mut done = 0;
        while done < slab.rows {
            let rows = R.min(slab.rows - done);
            let tile = Slab {
                rows,
                a: slab.a.add(done * slab.a_stride),
                c: slab.c.add(done * slab.c_stride + column),
                // The first tiles fetch a part each; for the rest, what is in the cache already.
                next: if done < UNROLL * R {
                    slab.next.wrapping_add(done / R * (slab.depth / UNROLL * NV * LANES))
                } else {
                    slab.b
                },
                ..slab
            };
            let epilogue = shifted(args.epilogue, row + done, column);
            fetch_ends::<S, NV>(tile, epilogue);
            run_tile::<S, P, R, NV>(tile);
            if slab.ends {
                finish::<S, P, NV>(tile, args, (row + done, column), epilogue);
            }
            done += rows;
        }
    }
}

/// Asks for what a tile touches after its sums are done, so that it is near by then.
#[inline(always)]
unsafe fn fetch_ends<S: Simd, const NV: usize>(t: Slab, epilogue: Epilogue) {
    // SAFETY: the caller promises the instruction set; a prefetch may point anywhere.
    unsafe {
        for r in 0..t.rows {
            for v in 0..NV {
                S::prefetch(t.c.wrapping_add(r * t.c_stride + v * LANES));
                if let Epilogue::Residual(first, stride) | Epilogue::Gate(first, stride) = epilogue {
                    S::prefetch(first.wrapping_add(r * stride + v * LANES));
                }
            }
        }
    }
}

/// A tile of at most R rows: every number of rows has its own code, so that short batches do no idle work.
#[inline(always)]
unsafe fn run_tile<S: Simd, P: Product<S>, const R: usize, const NV: usize>(t: Slab) {
    // SAFETY: as promised to `gemm`.
    unsafe {
        match t.rows {
            1 => accumulate::<S, P, 1, NV>(t),
            2 if R >= 2 => accumulate::<S, P, 2, NV>(t),
            3 if R >= 3 => accumulate::<S, P, 3, NV>(t),
            4 if R >= 4 => accumulate::<S, P, 4, NV>(t),
            5 if R >= 5 => accumulate::<S, P, 5, NV>(t),
            6 if R >= 6 => accumulate::<S, P, 6, NV>(t),
            7 if R >= 7 => accumulate::<S, P, 7, NV>(t),
            _ => accumulate::<S, P, R, NV>(t),
        }
    }
}

/// The inner loop: R * NV accumulators in registers, no epilogue, so that nothing else competes for registers.
#[inline(always)]
unsafe fn accumulate<S: Simd, P: Product<S>, const R: usize, const NV: usize>(t: Slab) {
    // SAFETY: as promised to `gemm`: R rows of A and C, `depth` steps of the panel.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        if t.resume {
            for (r, row) in sums.iter_mut().enumerate() {
                for (v, sum) in row.iter_mut().enumerate() {
                    *sum = S::load(t.c.add(r * t.c_stride + v * LANES));
                }
            }
        }
        let (mut a, mut b, mut next) = (t.a, t.b, t.next);
        for _ in 0..t.depth / UNROLL {
            for v in 0..NV {
                S::prefetch(next.wrapping_add(v * LANES));
            }
            next = next.wrapping_add(NV * LANES);
            for k in 0..UNROLL {
                step::<S, P, R, NV>(a.add(k), t.a_stride, b.add(k * NV * LANES), &mut sums);
            }
            a = a.add(UNROLL);
            b = b.add(UNROLL * NV * LANES);
        }
        for k in 0..t.depth % UNROLL {
            step::<S, P, R, NV>(a.add(k), t.a_stride, b.add(k * NV * LANES), &mut sums);
        }
        for (r, row) in sums.iter().enumerate() {
            for (v, &sum) in row.iter().enumerate() {
                S::store(t.c.add(r * t.c_stride + v * LANES), sum);
            }
        }
    }
}

/// One step of the depth: one unit of each of R rows, `a_stride` apart, times NV vectors of units at `b`.
#[inline(always)]
pub(super) unsafe fn step<S: Simd, P: Product<S>, const R: usize, const NV: usize>(
    a: *const f32,
    a_stride: usize,
    b: *const f32,
    sums: &mut [[S::V; NV]; R],
) {
    // SAFETY: as promised to `gemm`: one number of R rows of A, NV vectors of the panel.
    unsafe {
        let mut weights = [S::splat(0.0); NV];
        for (v, weight) in weights.iter_mut().enumerate() {
            *weight = S::load(b.add(v * LANES));
        }
        for (r, row) in sums.iter_mut().enumerate() {
            let x = S::splat(*a.add(r * a_stride));
            for (sum, &weight) in row.iter_mut().zip(&weights) {
                *sum = P::step(x, weight, *sum);
            }
        }
    }
}

/// The epilogue for the tile whose first number is at (`row`, `column`).
#[inline(always)]
fn shifted(epilogue: Epilogue, row: usize, column: usize) -> Epilogue {
    match epilogue {
        Epilogue::Residual(first, stride) => {
            Epilogue::Residual(first.wrapping_add(row * stride + column), stride)
        }
        Epilogue::Gate(first, stride) => Epilogue::Gate(first.wrapping_add(row * stride + column), stride),
        other => other,
    }
}

/// Scales, bias and epilogue over a tile that was just stored and is still in the first-level cache; its first number is at
/// (`row`, `column`).
#[inline(always)]
unsafe fn finish<S: Simd, P: Product<S>, const NV: usize>(
    t: Slab,
    args: &GemmArgs,
    (row, column): (usize, usize),
    epilogue: Epilogue,
) {
    /// Runs `$value` with `$sum` and the tile's row and first lane for every vector of the tile.
    macro_rules! each {
        (|$sum:ident, $row:pat_param, $lane:pat_param| $value:expr) => {
            for v in 0..NV {
                let (lane, at) = (v * LANES, column + v * LANES);
                let bias = S::load(args.bias.add(at));
                let (column_sum, column_scale) = match args.rescale {
                    Some(rescale) if P::SCALED => {
                        (S::load(rescale.column_sums.add(at)), S::load(rescale.column_scales.add(at)))
                    }
                    _ => (bias, bias),
                };
                for r in 0..t.rows {
                    let p = t.c.add(r * t.c_stride + lane);
                    let $sum = match args.rescale {
                        Some(rescale) if P::SCALED => {
                            let [shift, scale] = *rescale.rows.add(row + r);
                            let offset = S::fma(S::splat(shift), column_sum, bias);
                            S::fma(S::from_whole(S::load(p)), S::mul(S::splat(scale), column_scale), offset)
                        }
                        _ => S::add(S::load(p), bias),
                    };
                    let ($row, $lane) = (r, lane);
                    S::store(p, $value);
                }
            }
        };
    }
    // SAFETY: as promised to `gemm`.
    unsafe {
        match epilogue {
            Epilogue::Bias => each!(|sum, _, _| sum),
            Epilogue::Gelu => each!(|sum, _, _| math::gelu::<S>(sum)),
            Epilogue::GeluTanh => each!(|sum, _, _| math::gelu_tanh::<S>(sum)),
            Epilogue::Tanh => each!(|sum, _, _| math::tanh::<S>(sum)),
            Epilogue::Relu => each!(|sum, _, _| math::relu::<S>(sum)),
            Epilogue::Residual(first, stride) => {
                each!(|sum, row, lane| S::add(sum, S::load(first.add(row * stride + lane))))
            }
            Epilogue::Gate(first, stride) => {
                each!(|sum, row, lane| S::mul(sum, S::load(first.add(row * stride + lane))))
            }
        }
    }
}
