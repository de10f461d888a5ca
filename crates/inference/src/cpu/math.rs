//! Element-wise functions and LayerNorm, on every instruction set with the same sums in the same order.
//!
//! No function of the C library is used: its results differ between machines.

use super::simd::{LANES, ROUND_MAGIC, Simd};

/// Softmax drops weights below `exp` of this, about 1.8e-35: smaller ones make denormal products, which are slow.
pub(super) const EXP_FLOOR: f32 = -80.0;

/// `exp(x)` for x from -80 to 80; relative error below 2e-7 (Cephes' polynomial). NaN stays NaN.
#[inline(always)]
pub(super) unsafe fn exp<S: Simd>(x: S::V) -> S::V {
    // SAFETY: the caller promises the instruction set.
    unsafe {
        let magic = S::splat(ROUND_MAGIC);
        let n = S::sub(S::fma(x, S::splat(std::f32::consts::LOG2_E), magic), magic);
        // ln 2 in two parts, the first short enough for an exact product.
        let r = S::fma(n, S::splat(-0.693_359_4), x);
        let r = S::fma(n, S::splat(2.121_944_4e-4), r);
        let mut p = S::splat(1.987_569_1e-4);
        for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            p = S::fma(p, r, S::splat(c));
        }
        let p = S::fma(p, S::mul(r, r), S::add(r, S::splat(1.0)));
        S::mul(p, S::pow2(n))
    }
}

/// `x * Φ(x)` with the error function as a rational approximation; absolute error below 1e-6.
#[inline(always)]
pub(super) unsafe fn gelu<S: Simd>(x: S::V) -> S::V {
    // SAFETY: the caller promises the instruction set.
    unsafe {
        let z = S::mul(x, S::splat(std::f32::consts::FRAC_1_SQRT_2));
        // erf(4) differs from 1 by less than half a unit in the last place.
        let z = S::max(S::splat(-4.0), S::min(S::splat(4.0), z));
        let t = S::mul(z, z);
        let mut p = S::splat(-2.726_142_3e-10);
        for c in
            [2.770_681_4e-8, -2.101_024e-6, -5.692_506_4e-5, -7.349_906_3e-4, -2.954_6e-3, -1.609_603_3e-2]
        {
            p = S::fma(p, t, S::splat(c));
        }
        let mut q = S::splat(-1.456_607_2e-5);
        for c in [-2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2] {
            q = S::fma(q, t, S::splat(c));
        }
        let erf = S::div(S::mul(z, p), q);
        let half = S::mul(x, S::splat(0.5));
        // Here 1 + erf is all cancellation; the true value is between -4e-7 and 0.
        S::zero_below(x, S::splat(-5.25), S::fma(half, erf, half))
    }
}

/// `x/2 * (1 + tanh(sqrt(2/π) * (x + 0.044715 x³)))`, the approximation that some checkpoints were trained with.
#[inline(always)]
pub(super) unsafe fn gelu_tanh<S: Simd>(x: S::V) -> S::V {
    // SAFETY: the caller promises the instruction set.
    unsafe {
        let cubic = S::mul(S::mul(x, x), S::mul(x, S::splat(0.044_715)));
        let inner = S::mul(S::add(x, cubic), S::splat(0.797_884_6));
        let half = S::mul(x, S::splat(0.5));
        S::fma(half, tanh::<S>(inner), half)
    }
}

/// Hyperbolic tangent; absolute error below 1e-6.
#[inline(always)]
pub(super) unsafe fn tanh<S: Simd>(x: S::V) -> S::V {
    // SAFETY: the caller promises the instruction set.
    unsafe {
        // Beyond 10 the result is 1 in single precision. The variable is second so that NaN stays NaN.
        let x = S::min(S::splat(10.0), S::max(S::splat(-10.0), x));
        let e = exp::<S>(S::add(x, x));
        S::div(S::sub(e, S::splat(1.0)), S::add(e, S::splat(1.0)))
    }
}

/// `max(x, 0)`; NaN stays NaN.
#[inline(always)]
pub(super) unsafe fn relu<S: Simd>(x: S::V) -> S::V {
    // SAFETY: the caller promises the instruction set.
    unsafe { S::max(S::splat(0.0), x) }
}

/// Softmax of the first `length` of the numbers at `row`, not yet divided: leaves `exp(x - max)` there, 0 up to the next
/// multiple of 16, and returns the sum.
#[inline(always)]
pub(super) unsafe fn softmax_weights<S: Simd>(row: *mut f32, length: usize) -> f32 {
    // SAFETY: the caller promises the instruction set and `length` rounded up to 16 valid numbers.
    unsafe {
        let mut top = S::splat(f32::NEG_INFINITY);
        for j in (0..length).step_by(LANES) {
            let x = S::load(row.add(j));
            let known = if length - j < LANES { S::keep_first(x, length - j, top) } else { x };
            top = S::max(top, known);
        }
        let (top, floor) = (S::splat(S::max_lane(top)), S::splat(EXP_FLOOR));
        let mut sum = S::splat(0.0);
        for j in (0..length).step_by(LANES) {
            let x = S::sub(S::load(row.add(j)), top);
            let weight = S::zero_below(x, floor, exp::<S>(S::max(floor, x)));
            let weight =
                if length - j < LANES { S::keep_first(weight, length - j, S::splat(0.0)) } else { weight };
            sum = S::add(sum, weight);
            S::store(row.add(j), weight);
        }
        S::sum(sum)
    }
}

/// A norm in place.
#[derive(Debug, Clone, Copy)]
pub(super) struct NormArgs {
    /// First row.
    pub x: *mut f32,
    /// Number of rows.
    pub rows: usize,
    /// Numbers from one row to the next; at least `width` rounded up to 16.
    pub stride: usize,
    /// Numbers of a row.
    pub width: usize,
    /// Gain, zeros from `width` to its multiple of 16.
    pub gain: *const f32,
    /// Offset, likewise.
    pub offset: *const f32,
    /// Added to the variance.
    pub eps: f32,
    /// Whether the mean is taken away; else the variance is the mean square.
    pub centred: bool,
}

/// The norm of every row: the mean first, then the variance of what is left (one pass would cancel).
#[inline(always)]
pub(super) unsafe fn layer_norm<S: Simd>(args: &NormArgs) {
    // SAFETY: the caller promises the instruction set and the sizes said at the fields.
    unsafe {
        let width = args.width as f32;
        for row in 0..args.rows {
            let x = args.x.add(row * args.stride);
            let mean = if args.centred { row_sum::<S>(x, args.width) / width } else { 0.0 };
            let mean = S::splat(mean);
            let variance = row_deviation::<S>(x, args.width, mean) / width;
            let factor = S::splat(1.0 / (variance + args.eps).sqrt());
            for k in (0..args.width).step_by(LANES) {
                let normal = S::mul(S::sub(S::load(x.add(k)), mean), factor);
                S::store(x.add(k), S::fma(normal, S::load(args.gain.add(k)), S::load(args.offset.add(k))));
            }
        }
    }
}

/// Sum of the first `width` numbers, in two interleaved chains.
#[inline(always)]
unsafe fn row_sum<S: Simd>(x: *const f32, width: usize) -> f32 {
    // SAFETY: as promised to `layer_norm`.
    unsafe {
        let mut even = S::splat(0.0);
        let mut odd = S::splat(0.0);
        let mut k = 0;
        while k + 2 * LANES <= width {
            even = S::add(even, S::load(x.add(k)));
            odd = S::add(odd, S::load(x.add(k + LANES)));
            k += 2 * LANES;
        }
        while k < width {
            even = S::add(even, S::keep_first(S::load(x.add(k)), LANES.min(width - k), S::splat(0.0)));
            k += LANES;
        }
        S::sum(S::add(even, odd))
    }
}

/// Sum of squared differences from `mean`, in the same order.
#[inline(always)]
unsafe fn row_deviation<S: Simd>(x: *const f32, width: usize, mean: S::V) -> f32 {
    // SAFETY: as promised to `layer_norm`.
    unsafe {
        let mut even = S::splat(0.0);
        let mut odd = S::splat(0.0);
        let mut k = 0;
        while k + 2 * LANES <= width {
            let (a, b) = (S::sub(S::load(x.add(k)), mean), S::sub(S::load(x.add(k + LANES)), mean));
            even = S::fma(a, a, even);
            odd = S::fma(b, b, odd);
            k += 2 * LANES;
        }
        while k < width {
            let a = S::sub(S::load(x.add(k)), mean);
            let a = S::keep_first(a, LANES.min(width - k), S::splat(0.0));
            even = S::fma(a, a, even);
            k += LANES;
        }
        S::sum(S::add(even, odd))
    }
}
