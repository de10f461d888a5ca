//! The virtual vector on Arm's NEON: four registers.

use super::simd::{Simd, primitives};
use std::arch::aarch64::*;
use std::array::from_fn;

/// NEON, which every 64-bit Arm processor has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neon;

/// NEON with the products of bf16 pairs and of bytes (BF16 and I8MM, Armv8.6).
#[derive(Debug, Clone, Copy)]
pub(super) struct NeonBf16;

/// Lanes 0 to 3, 4 to 7, 8 to 11, 12 to 15.
#[derive(Debug, Clone, Copy)]
pub(super) struct Four([float32x4_t; 4]);

/// `$op` on each register of `$a` and of the others.
macro_rules! each {
    ($op:expr, $a:expr $(, $other:expr)*) => {
        Four(from_fn(|i| $op($a.0[i] $(, $other.0[i])*)))
    };
}

/// `a` where it is above `b`, else `b`: also where either is NaN.
#[inline(always)]
unsafe fn larger(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: every 64-bit Arm processor has NEON; so for the functions below.
    unsafe { vbslq_f32(vcgtq_f32(a, b), a, b) }
}

#[inline(always)]
unsafe fn smaller(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe { vbslq_f32(vcltq_f32(a, b), a, b) }
}

/// The 4 x 4 numbers from `from` on transposed.
#[inline(always)]
unsafe fn transpose4(from: *const f32, stride: usize, to: *mut f32, pitch: usize) {
    // SAFETY: as above; the caller promises both blocks.
    unsafe {
        let row = |r: usize| vld1q_f32(from.add(r * stride));
        let (a, b) = (vtrn1q_f32(row(0), row(1)), vtrn2q_f32(row(0), row(1)));
        let (c, d) = (vtrn1q_f32(row(2), row(3)), vtrn2q_f32(row(2), row(3)));
        let low =
            |x, y| vreinterpretq_f32_f64(vtrn1q_f64(vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y)));
        let high =
            |x, y| vreinterpretq_f32_f64(vtrn2q_f64(vreinterpretq_f64_f32(x), vreinterpretq_f64_f32(y)));
        for (column, numbers) in [low(a, c), low(b, d), high(a, c), high(b, d)].into_iter().enumerate() {
            vst1q_f32(to.add(column * pitch), numbers);
        }
    }
}

#[inline(always)]
unsafe fn transpose8(from: *const f32, stride: usize, to: *mut f32, pitch: usize) {
    for row in [0, 4] {
        for column in [0, 4] {
            // SAFETY: the caller promises both blocks.
            unsafe {
                transpose4(from.add(row * stride + column), stride, to.add(column * pitch + row), pitch);
            }
        }
    }
}

/// Numbers as bf16, rounded to nearest even, in the lower halves of the lanes; NaN stays NaN.
#[inline(always)]
unsafe fn bf16(x: float32x4_t) -> uint32x4_t {
    // SAFETY: as above.
    unsafe {
        let bits = vreinterpretq_u32_f32(x);
        let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
        let near = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF)));
        let quiet = vorrq_u32(bits, vdupq_n_u32(0x40_0000));
        vshrq_n_u32::<16>(vbslq_u32(vceqq_f32(x, x), near, quiet))
    }
}

/// Eight numbers as bf16, in their order.
#[inline(always)]
unsafe fn pairs(p: *const f32) -> float32x4_t {
    // SAFETY: as above; the caller promises 8 readable numbers.
    unsafe {
        let halves = |p| vmovn_u32(bf16(vld1q_f32(p)));
        vreinterpretq_f32_u16(vcombine_u16(halves(p), halves(p.add(4))))
    }
}

#[inline(always)]
unsafe fn pair_up(low: float32x4_t, high: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe { vreinterpretq_f32_u32(vorrq_u32(bf16(low), vshlq_n_u32::<16>(bf16(high)))) }
}

/// Products of bf16 pairs by the plain multiply-add.
#[inline(always)]
unsafe fn dot2(x: float32x4_t, w: float32x4_t, sum: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe {
        let low = |v| vreinterpretq_f32_u32(vshlq_n_u32::<16>(vreinterpretq_u32_f32(v)));
        let mask = vdupq_n_u32(0xFFFF_0000);
        let high = |v| vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), mask));
        vfmaq_f32(vfmaq_f32(sum, high(x), high(w)), low(x), low(w))
    }
}

/// Products of bytes in 16 bits each, which hold them: 255 * 127 is below 2^15.
#[inline(always)]
unsafe fn dot4(x: float32x4_t, w: float32x4_t, sum: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe {
        let (x, w) = (vreinterpretq_u8_f32(x), vreinterpretq_s8_f32(w));
        let product = |x: uint8x8_t, w: int8x8_t| {
            vpaddlq_s16(vmulq_s16(vreinterpretq_s16_u16(vmovl_u8(x)), vmovl_s8(w)))
        };
        let (low, high) =
            (product(vget_low_u8(x), vget_low_s8(w)), product(vget_high_u8(x), vget_high_s8(w)));
        vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(sum), vpaddq_s32(low, high)))
    }
}

#[inline(always)]
unsafe fn pow2(n: float32x4_t) -> float32x4_t {
    // SAFETY: as above.
    unsafe { vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)))) }
}

/// Folds all lanes by halving: i with i + 8, then i + 4, i + 2, i + 1.
macro_rules! fold {
    ($v:expr, $op:expr) => {{
        let [a, b, c, d] = $v.0;
        let four = $op($op(a, c), $op(b, d));
        let two = $op(four, vextq_f32::<2>(four, four));
        vgetq_lane_f32::<0>($op(two, vextq_f32::<1>(two, two)))
    }};
}

/// What both forms do alike; `$($own)*` is what they do each in their way.
macro_rules! neon {
    ($name:ident, $($own:tt)*) => {
        impl Simd for $name {
            type V = Four;

            primitives! {
                splat(x: f32) -> Four = Four([vdupq_n_f32(x); 4]);
                load(p: *const f32) -> Four = Four(from_fn(|i| vld1q_f32(p.add(4 * i))));
                store(p: *mut f32, v: Four) = for (i, x) in v.0.into_iter().enumerate() { vst1q_f32(p.add(4 * i), x) };
                transpose8(from: *const f32, stride: usize, to: *mut f32, pitch: usize) = transpose8(from, stride, to, pitch);
                add(a: Four, b: Four) -> Four = each!(vaddq_f32, a, b);
                sub(a: Four, b: Four) -> Four = each!(vsubq_f32, a, b);
                mul(a: Four, b: Four) -> Four = each!(vmulq_f32, a, b);
                div(a: Four, b: Four) -> Four = each!(vdivq_f32, a, b);
                fma(a: Four, b: Four, c: Four) -> Four = each!(vfmaq_f32, c, a, b);
                max(a: Four, b: Four) -> Four = each!(larger, a, b);
                min(a: Four, b: Four) -> Four = each!(smaller, a, b);
                pow2(n: Four) -> Four = each!(pow2, n);
                keep_first(v: Four, count: usize, fill: Four) -> Four = Four(from_fn(|i| {
                    let first: [u32; 4] = from_fn(|lane| (4 * i + lane) as u32);
                    let below = vcltq_u32(vld1q_u32(first.as_ptr()), vdupq_n_u32(count as u32));
                    vbslq_f32(below, v.0[i], fill.0[i])
                }));
                zero_below(x: Four, limit: Four, v: Four) -> Four = Four(from_fn(|i| {
                    let bits = vreinterpretq_u32_f32(v.0[i]);
                    vreinterpretq_f32_u32(vbicq_u32(bits, vcltq_f32(x.0[i], limit.0[i])))
                }));
                sum(v: Four) -> f32 = fold!(v, |a, b| vaddq_f32(a, b));
                max_lane(v: Four) -> f32 = fold!(v, |a, b| larger(a, b));
                from_whole(bits: Four) -> Four = each!(|bits| vcvtq_f32_s32(vreinterpretq_s32_f32(bits)), bits);
                pair_up(low: Four, high: Four) -> Four = each!(pair_up, low, high);
                store_bytes(to: *mut u8, v: Four) = {
                    // Each step cuts at its limits, at 0 and 2^16 and then at 2^8.
                    let [a, b, c, d] = v.0.map(|x| vqmovun_s32(vcvtnq_s32_f32(x)));
                    let bytes = vcombine_u8(vqmovn_u16(vcombine_u16(a, b)), vqmovn_u16(vcombine_u16(c, d)));
                    vst1q_u8(to, bytes)
                };
                $($own)*
            }

            #[inline(always)]
            unsafe fn prefetch(_p: *const f32) {}

            #[inline(always)]
            unsafe fn back<const BACK: usize>(p: *const f32, _low: Four, _high: Four) -> Four {
                // SAFETY: the caller promises the numbers from `p - 16` to `p + 15`.
                unsafe { Self::load(p.sub(BACK)) }
            }
        }
    };
}

neon!(
    Neon,
    dot2(x: Four, w: Four, sum: Four) -> Four = each!(dot2, x, w, sum);
    dot4(x: Four, w: Four, sum: Four) -> Four = each!(dot4, x, w, sum);
    to_pairs(p: *const f32) -> Four = Four(from_fn(|i| pairs(p.add(8 * i))));
);
neon!(
    NeonBf16,
    dot2(x: Four, w: Four, sum: Four) -> Four = each!(bfdot, x, w, sum);
    dot4(x: Four, w: Four, sum: Four) -> Four = each!(usdot, x, w, sum);
    to_pairs(p: *const f32) -> Four = Four(from_fn(|i| bfcvt(vld1q_f32(p.add(8 * i)), vld1q_f32(p.add(8 * i + 4)))));
);

/// An instruction whose intrinsic is not stable, from registers to a register.
macro_rules! instruction {
    ($feature:literal, $name:ident($($arg:ident),*; $sum:ident), $text:literal $(, $more:literal)?) => {
        #[inline]
        #[target_feature(enable = $feature)]
        fn $name($($arg: float32x4_t,)* mut $sum: float32x4_t) -> float32x4_t {
            // SAFETY: it touches these registers alone.
            unsafe {
                std::arch::asm!(
                    $text,
                    $($more,)?
                    $($arg = in(vreg) $arg,)*
                    $sum = inout(vreg) $sum,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            $sum
        }
    };
}
instruction!("bf16", bfdot(x, w; sum), "bfdot {sum:v}.4s, {x:v}.8h, {w:v}.8h");
instruction!("i8mm", usdot(x, w; sum), "usdot {sum:v}.4s, {x:v}.16b, {w:v}.16b");

/// Eight numbers as bf16, rounded to nearest even, in their order.
#[inline]
#[target_feature(enable = "bf16")]
fn bfcvt(low: float32x4_t, high: float32x4_t) -> float32x4_t {
    let out: float32x4_t;
    // SAFETY: it touches these registers alone.
    unsafe {
        std::arch::asm!(
            "bfcvtn {out:v}.4h, {low:v}.4s",
            "bfcvtn2 {out:v}.8h, {high:v}.4s",
            low = in(vreg) low,
            high = in(vreg) high,
            // The second instruction reads its input after the first has written.
            out = out(vreg) out,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    out
}
