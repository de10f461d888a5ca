//! One virtual vector of 16 single-precision lanes, and its portable form.
//!
//! Kernels are generic over [`Simd`] and never see an instruction set. Because every instruction set offers the same 16
//! lanes, kernels add the same numbers in the same order everywhere: AVX2 and AVX-512 give bitwise equal results.

/// Lanes of the virtual vector.
pub(super) const LANES: usize = 16;

/// Operations on 16 lanes.
///
/// # Safety
/// Every function needs the instruction set of its implementation, which callers get by running only inside an entry of
/// [`super::kernels`]. `load`, `store` and `back` need their pointers valid for the lanes they touch; no alignment is needed.
pub(super) trait Simd: Copy {
    /// The vector.
    type V: Copy;

    /// All lanes `x`.
    unsafe fn splat(x: f32) -> Self::V;
    /// 16 numbers from `p` on.
    unsafe fn load(p: *const f32) -> Self::V;
    /// Writes 16 numbers from `p` on.
    unsafe fn store(p: *mut f32, v: Self::V);
    /// Writes the 8 x 8 numbers from `from` on, rows `stride` apart, to `to`, transposed, rows `pitch` apart.
    unsafe fn transpose8(from: *const f32, stride: usize, to: *mut f32, pitch: usize);
    /// The same with 16 x 16 numbers.
    #[inline(always)]
    unsafe fn transpose16(from: *const f32, stride: usize, to: *mut f32, pitch: usize) {
        for row in [0, 8] {
            for column in [0, 8] {
                // SAFETY: the caller promises both blocks.
                unsafe {
                    let (from, to) = (from.add(row * stride + column), to.add(column * pitch + row));
                    Self::transpose8(from, stride, to, pitch);
                }
            }
        }
    }
    /// Asks for the cache line at `p` to be brought near; `p` may point anywhere.
    unsafe fn prefetch(p: *const f32);
    /// `a + b`.
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b`.
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once where the hardware can.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The larger lane; `b` where either is NaN.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// The smaller lane; `b` where either is NaN.
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    /// `2^n` for whole numbers from -126 to 127; anything for other numbers.
    unsafe fn pow2(n: Self::V) -> Self::V;
    /// Lanes from `count` on replaced by `fill`; `count <= 16`.
    unsafe fn keep_first(v: Self::V, count: usize, fill: Self::V) -> Self::V;
    /// `v` with 0 in the lanes where `x < limit` (never where `x` is NaN).
    unsafe fn zero_below(x: Self::V, limit: Self::V, v: Self::V) -> Self::V;
    /// Sum of all lanes by halving: lane i + lane i+8, then i+4, i+2, i+1.
    unsafe fn sum(v: Self::V) -> f32;
    /// Largest lane, by the same halving.
    unsafe fn max_lane(v: Self::V) -> f32;
    /// For each lane, adds the products of two pairs of bf16 numbers, held in the halves of `x` and `w`, to `sum`.
    unsafe fn dot2(x: Self::V, w: Self::V, sum: Self::V) -> Self::V;
    /// For each lane, adds the products of four unsigned bytes of `x` with four signed bytes of `w` to the whole number whose
    /// bits `sum` holds; exact.
    unsafe fn dot4(x: Self::V, w: Self::V, sum: Self::V) -> Self::V;
    /// The whole numbers whose bits the lanes hold, as numbers.
    unsafe fn from_whole(bits: Self::V) -> Self::V;
    /// 32 numbers from `p` on as bf16, rounded to nearest even, in their order: the bits of 16 pairs.
    unsafe fn to_pairs(p: *const f32) -> Self::V;
    /// The lanes of both as bf16, rounded to nearest even: pairs of a lane of `low` and the same lane of `high`.
    unsafe fn pair_up(low: Self::V, high: Self::V) -> Self::V;
    /// Writes 16 bytes from `to` on: the lanes rounded to the nearest whole number, cut at 0 and 255; anything for NaN.
    unsafe fn store_bytes(to: *mut u8, v: Self::V);
    /// The 16 numbers from `p - BACK` on, where `low` holds those from `p - 16` on and `high` those from `p` on: cheap
    /// loads on some machines, cheap shuffles on others. `BACK < 16`.
    unsafe fn back<const BACK: usize>(p: *const f32, low: Self::V, high: Self::V) -> Self::V;
}

/// One-line primitives: each is a function of [`Simd`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! primitives {
    ($($name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)? = $body:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: $ty),*) $(-> $out)? {
            // SAFETY: the caller promises the instruction set and, for memory, 16 valid numbers (see `Simd`).
            unsafe { $body }
        }
    )*};
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use primitives;

/// Plain Rust that the compiler vectorises for whatever the target has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portable;

/// `1.5 * 2^23`: adding it leaves a small number's nearest whole number in the lowest bits.
pub(super) const ROUND_MAGIC: f32 = 12_582_912.0;

#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    // Without the instruction `mul_add` is a library call for each number.
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

/// The nearest bf16 number, ties to even; NaN stays NaN.
#[inline(always)]
pub(super) fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    (bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16) as u16
}

/// Both bf16 numbers of a pair.
#[inline(always)]
fn from_pair(bits: f32) -> [f32; 2] {
    let bits = bits.to_bits();
    [f32::from_bits(bits << 16), f32::from_bits(bits & 0xFFFF_0000)]
}

#[inline(always)]
fn zip(a: [f32; LANES], b: [f32; LANES], op: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    std::array::from_fn(|i| op(a[i], b[i]))
}

#[inline(always)]
fn fold(mut v: [f32; LANES], op: impl Fn(f32, f32) -> f32) -> f32 {
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            v[i] = op(v[i], v[i + half]);
        }
    }
    v[0]
}

impl Simd for Portable {
    type V = [f32; LANES];

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; LANES]
    }

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::V {
        // SAFETY: the caller promises 16 readable numbers.
        unsafe { p.cast::<Self::V>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::V) {
        // SAFETY: the caller promises 16 writable numbers.
        unsafe { p.cast::<Self::V>().write_unaligned(v) }
    }

    #[inline(always)]
    unsafe fn transpose8(from: *const f32, stride: usize, to: *mut f32, pitch: usize) {
        for row in 0..8 {
            for column in 0..8 {
                // SAFETY: the caller promises both blocks.
                unsafe { *to.add(column * pitch + row) = *from.add(row * stride + column) };
            }
        }
    }

    #[inline(always)]
    unsafe fn prefetch(_p: *const f32) {}

    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        std::array::from_fn(|i| multiply_add(a[i], b[i], c[i]))
    }

    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        zip(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    unsafe fn pow2(n: Self::V) -> Self::V {
        std::array::from_fn(|i| {
            let whole = (n[i] + ROUND_MAGIC).to_bits().wrapping_sub(ROUND_MAGIC.to_bits());
            f32::from_bits(whole.wrapping_add(127) << 23)
        })
    }

    #[inline(always)]
    unsafe fn keep_first(v: Self::V, count: usize, fill: Self::V) -> Self::V {
        std::array::from_fn(|i| if i < count { v[i] } else { fill[i] })
    }

    #[inline(always)]
    unsafe fn zero_below(x: Self::V, limit: Self::V, v: Self::V) -> Self::V {
        std::array::from_fn(|i| if x[i] < limit[i] { 0.0 } else { v[i] })
    }

    #[inline(always)]
    unsafe fn sum(v: Self::V) -> f32 {
        fold(v, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn max_lane(v: Self::V) -> f32 {
        fold(v, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn dot2(x: Self::V, w: Self::V, sum: Self::V) -> Self::V {
        std::array::from_fn(|i| {
            let ([x0, x1], [w0, w1]) = (from_pair(x[i]), from_pair(w[i]));
            multiply_add(x0, w0, multiply_add(x1, w1, sum[i]))
        })
    }

    #[inline(always)]
    unsafe fn dot4(x: Self::V, w: Self::V, sum: Self::V) -> Self::V {
        std::array::from_fn(|i| {
            let (x, w) = (x[i].to_bits().to_le_bytes(), w[i].to_bits().to_le_bytes());
            let products = x.into_iter().zip(w).map(|(x, w)| i32::from(x) * i32::from(w.cast_signed()));
            f32::from_bits((sum[i].to_bits().cast_signed() + products.sum::<i32>()).cast_unsigned())
        })
    }

    #[inline(always)]
    unsafe fn from_whole(bits: Self::V) -> Self::V {
        bits.map(|bits| bits.to_bits().cast_signed() as f32)
    }

    #[inline(always)]
    unsafe fn to_pairs(p: *const f32) -> Self::V {
        std::array::from_fn(|i| {
            // SAFETY: the caller promises 32 readable numbers.
            let (low, high) = unsafe { (to_bf16(*p.add(2 * i)), to_bf16(*p.add(2 * i + 1))) };
            f32::from_bits(u32::from(low) | u32::from(high) << 16)
        })
    }

    #[inline(always)]
    unsafe fn pair_up(low: Self::V, high: Self::V) -> Self::V {
        zip(low, high, |low, high| f32::from_bits(u32::from(to_bf16(low)) | u32::from(to_bf16(high)) << 16))
    }

    #[inline(always)]
    unsafe fn store_bytes(to: *mut u8, v: Self::V) {
        for (i, x) in v.into_iter().enumerate() {
            // SAFETY: the caller promises 16 writable bytes.
            unsafe { *to.add(i) = x.round_ties_even() as u8 };
        }
    }

    #[inline(always)]
    unsafe fn back<const BACK: usize>(p: *const f32, _low: Self::V, _high: Self::V) -> Self::V {
        // SAFETY: the caller promises the numbers from `p - 16` to `p + 15`.
        unsafe { Self::load(p.sub(BACK)) }
    }
}
