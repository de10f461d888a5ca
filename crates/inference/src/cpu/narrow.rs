//! Activations in short formats: rows of bf16 pairs or of bytes, made from rows of numbers.

use super::simd::{LANES, Simd};

/// Rows to convert.
#[derive(Debug, Clone, Copy)]
pub(super) struct NarrowArgs {
    /// First row.
    pub x: *const f32,
    /// Number of rows.
    pub rows: usize,
    /// Numbers of a row that count.
    pub width: usize,
    /// Numbers from one row to the next.
    pub stride: usize,
    /// First row of the result.
    pub to: *mut f32,
    /// Units from one row of the result to the next: `width` in units, rounded up to whole vectors.
    pub to_stride: usize,
    /// For each row minus its zero times its scale, and its scale, where they are bytes.
    pub scales: *mut [f32; 2],
}

/// Largest byte.
const TOP: f32 = 255.0;

/// Rows as bf16 pairs, rounded to nearest even; zeros up to the end of the row.
#[inline(always)]
pub(super) unsafe fn to_pairs<S: Simd>(args: &NarrowArgs) {
    // SAFETY: the caller promises the instruction set and the sizes said at the fields.
    unsafe {
        for row in 0..args.rows {
            let (from, to) = (args.x.add(row * args.stride), args.to.add(row * args.to_stride));
            let mut at = 0;
            while at < args.width {
                if args.width - at >= 2 * LANES {
                    S::store(to.add(at / 2), S::to_pairs(from.add(at)));
                } else {
                    let mut rest = [0.0; 2 * LANES];
                    std::ptr::copy_nonoverlapping(from.add(at), rest.as_mut_ptr(), args.width - at);
                    S::store(to.add(at / 2), S::to_pairs(rest.as_ptr()));
                }
                at += 2 * LANES;
            }
        }
    }
}

/// Rows as bytes, each row with a zero and a scale of its own, so that a row's result depends on that row alone:
/// `x = (byte - zero) * scale`, from the smallest number of the row (or 0) to its largest (or 0). A row with a number that is
/// not finite gets the scale NaN.
#[inline(always)]
pub(super) unsafe fn to_bytes<S: Simd>(args: &NarrowArgs) {
    // SAFETY: as promised to `to_pairs`; `scales` has an entry for each row.
    unsafe {
        let whole = args.width / LANES * LANES;
        for row in 0..args.rows {
            let from = args.x.add(row * args.stride);
            let to = args.to.add(row * args.to_stride).cast::<u8>();
            let mut rest = [0.0; LANES];
            std::ptr::copy_nonoverlapping(from.add(whole), rest.as_mut_ptr(), args.width - whole);
            let at = |k: usize| if k < whole { from.add(k) } else { rest.as_ptr() };
            let (mut low, mut high, mut check) = (S::splat(0.0), S::splat(0.0), S::splat(0.0));
            for k in (0..args.width).step_by(LANES) {
                let x = S::load(at(k));
                (low, high) = (S::min(low, x), S::max(high, x));
                // NaN and the infinite times 0 is NaN, and stays it.
                check = S::fma(x, S::splat(0.0), check);
            }
            let (low, high) = (-S::max_lane(S::sub(S::splat(0.0), low)), S::max_lane(high));
            let range = high - low;
            let (scale, inverse) = if range > 0.0 { (range / TOP, TOP / range) } else { (1.0, 0.0) };
            // A zero that is a whole number keeps 0 exact.
            let zero = (-low * inverse).round_ties_even();
            let scale = scale + S::sum(check);
            *args.scales.add(row) = [-zero * scale, scale];
            let (inverse, zero) = (S::splat(inverse), S::splat(zero));
            for k in (0..args.width).step_by(LANES) {
                S::store_bytes(to.add(k), S::fma(S::load(at(k)), inverse, zero));
            }
        }
    }
}
