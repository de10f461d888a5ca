//! The virtual vector on AVX2 with FMA (two registers) and on AVX-512 (one register).

use super::simd::{Simd, primitives};
use std::arch::x86_64::*;

/// AVX2 with FMA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2;

/// Lanes 0 to 7, lanes 8 to 15.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair(__m256, __m256);

/// Halving of the lower 8 lanes: i + i+4, i+2, i+1.
macro_rules! fold8 {
    ($v:expr, $op:ident, $last:ident) => {{
        let v = $v;
        let four = $op(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = $op(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32($last(two, _mm_shuffle_ps::<1>(two, two)))
    }};
}

/// Bits set in the lanes from `first` on that are below `count`.
#[inline(always)]
unsafe fn lanes_below(count: usize, first: i32) -> __m256 {
    // SAFETY: only called where AVX2 is.
    unsafe {
        let lane = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first));
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), lane))
    }
}

#[inline(always)]
unsafe fn pow2_half(n: __m256) -> __m256 {
    // SAFETY: only called where AVX2 is.
    unsafe {
        let biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
        _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
    }
}

/// 8 x 8 numbers transposed: pairs of rows are interleaved, then pairs of pairs, then halves.
#[inline(always)]
unsafe fn transpose8(from: *const f32, stride: usize, to: *mut f32, pitch: usize) {
    // SAFETY: only called where AVX2 is; the caller promises both blocks.
    unsafe {
        // Row i and row i + 4 as the halves of one register: the last step is done by the loads.
        let pair = |row: usize, column: usize| {
            let lower = _mm256_castps128_ps256(_mm_loadu_ps(from.add(row * stride + column)));
            _mm256_insertf128_ps::<1>(lower, _mm_loadu_ps(from.add((row + 4) * stride + column)))
        };
        for column in [0, 4] {
            let rows = [pair(0, column), pair(1, column), pair(2, column), pair(3, column)];
            let (a, b) = (_mm256_unpacklo_ps(rows[0], rows[1]), _mm256_unpackhi_ps(rows[0], rows[1]));
            let (c, d) = (_mm256_unpacklo_ps(rows[2], rows[3]), _mm256_unpackhi_ps(rows[2], rows[3]));
            let to = to.add(column * pitch);
            _mm256_storeu_ps(to, _mm256_shuffle_ps::<0x44>(a, c));
            _mm256_storeu_ps(to.add(pitch), _mm256_shuffle_ps::<0xEE>(a, c));
            _mm256_storeu_ps(to.add(2 * pitch), _mm256_shuffle_ps::<0x44>(b, d));
            _mm256_storeu_ps(to.add(3 * pitch), _mm256_shuffle_ps::<0xEE>(b, d));
        }
    }
}

/// 16 x 16 numbers transposed: first the 4 x 4 numbers in the quarters of every four rows, then the quarters.
#[inline(always)]
unsafe fn transpose16(from: *const f32, stride: usize, to: *mut f32, pitch: usize) {
    // SAFETY: only called where AVX-512 is; the caller promises both blocks.
    unsafe {
        let mut blocks = [[_mm512_setzero_ps(); 4]; 4];
        for (four, block) in blocks.iter_mut().enumerate() {
            let row = |r: usize| _mm512_loadu_ps(from.add((4 * four + r) * stride));
            let (a, b) = (_mm512_unpacklo_ps(row(0), row(1)), _mm512_unpackhi_ps(row(0), row(1)));
            let (c, d) = (_mm512_unpacklo_ps(row(2), row(3)), _mm512_unpackhi_ps(row(2), row(3)));
            *block = [
                _mm512_shuffle_ps::<0x44>(a, c),
                _mm512_shuffle_ps::<0xEE>(a, c),
                _mm512_shuffle_ps::<0x44>(b, d),
                _mm512_shuffle_ps::<0xEE>(b, d),
            ];
        }
        for column in 0..4 {
            let [a, b, c, d] = blocks.map(|block| block[column]);
            let (left, right) = (_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0x44>(c, d));
            _mm512_storeu_ps(to.add(column * pitch), _mm512_shuffle_f32x4::<0x88>(left, right));
            _mm512_storeu_ps(to.add((column + 4) * pitch), _mm512_shuffle_f32x4::<0xDD>(left, right));
            let (left, right) = (_mm512_shuffle_f32x4::<0xEE>(a, b), _mm512_shuffle_f32x4::<0xEE>(c, d));
            _mm512_storeu_ps(to.add((column + 8) * pitch), _mm512_shuffle_f32x4::<0x88>(left, right));
            _mm512_storeu_ps(to.add((column + 12) * pitch), _mm512_shuffle_f32x4::<0xDD>(left, right));
        }
    }
}

/// Products of bf16 pairs by the plain multiply-add: AVX2 has no instruction for them.
#[inline(always)]
unsafe fn dot2_half(x: __m256, w: __m256, sum: __m256) -> __m256 {
    // SAFETY: only called where AVX2 is.
    unsafe {
        let low = |v: __m256| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_castps_si256(v)));
        let mask = _mm256_castsi256_ps(_mm256_set1_epi32(0xFFFF_0000_u32.cast_signed()));
        let high = |v: __m256| _mm256_and_ps(v, mask);
        _mm256_fmadd_ps(low(x), low(w), _mm256_fmadd_ps(high(x), high(w), sum))
    }
}

/// Products of bytes in 16 bits each: the instruction that multiplies bytes would cut sums of two at 32,767.
#[inline(always)]
unsafe fn dot4_half(x: __m256, w: __m256, sum: __m256) -> __m256 {
    // SAFETY: only called where AVX2 is.
    unsafe {
        let (x, w, sum) = (_mm256_castps_si256(x), _mm256_castps_si256(w), _mm256_castps_si256(sum));
        let x_even = _mm256_and_si256(x, _mm256_set1_epi16(0xFF));
        let x_odd = _mm256_srli_epi16::<8>(x);
        let w_even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(w));
        let w_odd = _mm256_srai_epi16::<8>(w);
        let products = _mm256_add_epi32(_mm256_madd_epi16(x_even, w_even), _mm256_madd_epi16(x_odd, w_odd));
        _mm256_castsi256_ps(_mm256_add_epi32(sum, products))
    }
}

/// Numbers as bf16, rounded to nearest even, in the lower halves of the lanes; NaN stays NaN.
#[inline(always)]
unsafe fn bf16_half(x: __m256) -> __m256i {
    // SAFETY: only called where AVX2 is.
    unsafe {
        let bits = _mm256_castps_si256(x);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let near = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
        let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x40_0000));
        let is_nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
        _mm256_srli_epi32::<16>(_mm256_blendv_epi8(near, quiet, is_nan))
    }
}

/// 16 numbers as bf16, in their order.
#[inline(always)]
unsafe fn pairs_half(p: *const f32) -> __m256 {
    // SAFETY: only called where AVX2 is; the caller promises 16 readable numbers.
    unsafe {
        let packed = _mm256_packus_epi32(bf16_half(_mm256_loadu_ps(p)), bf16_half(_mm256_loadu_ps(p.add(8))));
        _mm256_castsi256_ps(_mm256_permute4x64_epi64::<0b11_01_10_00>(packed))
    }
}

/// Lanes as bf16, `low` in the lower halves and `high` in the upper ones.
#[inline(always)]
unsafe fn pair_up_half(low: __m256, high: __m256) -> __m256 {
    // SAFETY: only called where AVX2 is.
    unsafe {
        let upper = _mm256_slli_epi32::<16>(bf16_half(high));
        _mm256_castsi256_ps(_mm256_or_si256(bf16_half(low), upper))
    }
}

impl Simd for Avx2 {
    type V = Pair;

    primitives! {
        splat(x: f32) -> Pair = Pair(_mm256_set1_ps(x), _mm256_set1_ps(x));
        load(p: *const f32) -> Pair = Pair(_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8)));
        store(p: *mut f32, v: Pair) = { _mm256_storeu_ps(p, v.0); _mm256_storeu_ps(p.add(8), v.1) };
        transpose8(from: *const f32, stride: usize, to: *mut f32, pitch: usize) = transpose8(from, stride, to, pitch);
        prefetch(p: *const f32) = _mm_prefetch::<_MM_HINT_T1>(p.cast());
        add(a: Pair, b: Pair) -> Pair = Pair(_mm256_add_ps(a.0, b.0), _mm256_add_ps(a.1, b.1));
        sub(a: Pair, b: Pair) -> Pair = Pair(_mm256_sub_ps(a.0, b.0), _mm256_sub_ps(a.1, b.1));
        mul(a: Pair, b: Pair) -> Pair = Pair(_mm256_mul_ps(a.0, b.0), _mm256_mul_ps(a.1, b.1));
        div(a: Pair, b: Pair) -> Pair = Pair(_mm256_div_ps(a.0, b.0), _mm256_div_ps(a.1, b.1));
        fma(a: Pair, b: Pair, c: Pair) -> Pair =
            Pair(_mm256_fmadd_ps(a.0, b.0, c.0), _mm256_fmadd_ps(a.1, b.1, c.1));
        max(a: Pair, b: Pair) -> Pair = Pair(_mm256_max_ps(a.0, b.0), _mm256_max_ps(a.1, b.1));
        min(a: Pair, b: Pair) -> Pair = Pair(_mm256_min_ps(a.0, b.0), _mm256_min_ps(a.1, b.1));
        pow2(n: Pair) -> Pair = Pair(pow2_half(n.0), pow2_half(n.1));
        keep_first(v: Pair, count: usize, fill: Pair) -> Pair = Pair(
            _mm256_blendv_ps(fill.0, v.0, lanes_below(count, 0)),
            _mm256_blendv_ps(fill.1, v.1, lanes_below(count, 8)),
        );
        zero_below(x: Pair, limit: Pair, v: Pair) -> Pair = Pair(
            _mm256_and_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(x.0, limit.0), v.0),
            _mm256_and_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(x.1, limit.1), v.1),
        );
        dot2(x: Pair, w: Pair, sum: Pair) -> Pair = Pair(dot2_half(x.0, w.0, sum.0), dot2_half(x.1, w.1, sum.1));
        dot4(x: Pair, w: Pair, sum: Pair) -> Pair = Pair(dot4_half(x.0, w.0, sum.0), dot4_half(x.1, w.1, sum.1));
        from_whole(bits: Pair) -> Pair = Pair(
            _mm256_cvtepi32_ps(_mm256_castps_si256(bits.0)),
            _mm256_cvtepi32_ps(_mm256_castps_si256(bits.1)),
        );
        to_pairs(p: *const f32) -> Pair = Pair(pairs_half(p), pairs_half(p.add(16)));
        pair_up(low: Pair, high: Pair) -> Pair = Pair(pair_up_half(low.0, high.0), pair_up_half(low.1, high.1));
        store_bytes(to: *mut u8, v: Pair) = {
            let words = _mm256_packs_epi32(_mm256_cvtps_epi32(v.0), _mm256_cvtps_epi32(v.1));
            // Packing works within halves: bring the four parts into order.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(to.cast(), bytes)
        };
        sum(v: Pair) -> f32 = fold8!(_mm256_add_ps(v.0, v.1), _mm_add_ps, _mm_add_ss);
        max_lane(v: Pair) -> f32 = fold8!(_mm256_max_ps(v.0, v.1), _mm_max_ps, _mm_max_ss);
    }

    #[inline(always)]
    unsafe fn back<const BACK: usize>(p: *const f32, _low: Pair, _high: Pair) -> Pair {
        // SAFETY: the caller promises AVX2 and the numbers from `p - 16` to `p + 15`.
        unsafe { Self::load(p.sub(BACK)) }
    }
}

/// AVX-512 Foundation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512;

/// AVX-512 with the products of bf16 pairs and of bytes (BF16 and VNNI).
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512Bf16;

/// The lower 8 lanes.
macro_rules! lower8 {
    ($v:expr) => {
        _mm512_castps512_ps256($v)
    };
}

/// The upper 8 lanes. The direct instruction needs AVX-512 DQ; moving them as doubles does not.
macro_rules! upper8 {
    ($v:expr) => {
        _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd($v)))
    };
}

/// What all forms of AVX-512 do alike; `$($own)*` is what they do each in their way.
macro_rules! avx512 {
    ($name:ident, $($own:tt)*) => {
        impl Simd for $name {
            type V = __m512;

            primitives! {
                splat(x: f32) -> __m512 = _mm512_set1_ps(x);
                load(p: *const f32) -> __m512 = _mm512_loadu_ps(p);
                store(p: *mut f32, v: __m512) = _mm512_storeu_ps(p, v);
                transpose8(from: *const f32, stride: usize, to: *mut f32, pitch: usize) = transpose8(from, stride, to, pitch);
                transpose16(from: *const f32, stride: usize, to: *mut f32, pitch: usize) = transpose16(from, stride, to, pitch);
                prefetch(p: *const f32) = _mm_prefetch::<_MM_HINT_T1>(p.cast());
                add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
                sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
                mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
                div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps(a, b);
                fma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
                max(a: __m512, b: __m512) -> __m512 = _mm512_max_ps(a, b);
                min(a: __m512, b: __m512) -> __m512 = _mm512_min_ps(a, b);
                pow2(n: __m512) -> __m512 = _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_add_epi32(
                    _mm512_cvtps_epi32(n),
                    _mm512_set1_epi32(127),
                )));
                keep_first(v: __m512, count: usize, fill: __m512) -> __m512 =
                    _mm512_mask_mov_ps(fill, ((1u32 << count) - 1) as __mmask16, v);
                zero_below(x: __m512, limit: __m512, v: __m512) -> __m512 =
                    _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, limit), v);
                sum(v: __m512) -> f32 = fold8!(_mm256_add_ps(_mm512_castps512_ps256(v), upper8!(v)), _mm_add_ps, _mm_add_ss);
                max_lane(v: __m512) -> f32 =
                    fold8!(_mm256_max_ps(_mm512_castps512_ps256(v), upper8!(v)), _mm_max_ps, _mm_max_ss);
                from_whole(bits: __m512) -> __m512 = _mm512_cvtepi32_ps(_mm512_castps_si512(bits));
                store_bytes(to: *mut u8, v: __m512) = {
                    // Whole numbers below 0 are large ones without a sign.
                    let whole = _mm512_max_epi32(_mm512_cvtps_epi32(v), _mm512_setzero_si512());
                    _mm_storeu_si128(to.cast(), _mm512_cvtusepi32_epi8(whole))
                };
                $($own)*
            }

            #[inline(always)]
            unsafe fn back<const BACK: usize>(p: *const f32, low: __m512, high: __m512) -> __m512 {
                // SAFETY: the caller promises AVX-512 and the numbers from `p - 16` to `p + 15`.
                unsafe {
                    match BACK {
                        0 => high,
                        1 => lanes_from::<15>(low, high),
                        2 => lanes_from::<14>(low, high),
                        3 => lanes_from::<13>(low, high),
                        4 => lanes_from::<12>(low, high),
                        5 => lanes_from::<11>(low, high),
                        6 => lanes_from::<10>(low, high),
                        7 => lanes_from::<9>(low, high),
                        _ => Self::load(p.sub(BACK)),
                    }
                }
            }
        }
    };
}

avx512!(
    Avx512,
    dot2(x: __m512, w: __m512, sum: __m512) -> __m512 = {
        let low = |v: __m512| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_castps_si512(v)));
        let mask = _mm512_set1_epi32(0xFFFF_0000_u32.cast_signed());
        let high = |v: __m512| _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(v), mask));
        _mm512_fmadd_ps(low(x), low(w), _mm512_fmadd_ps(high(x), high(w), sum))
    };
    dot4(x: __m512, w: __m512, sum: __m512) -> __m512 = join(
        dot4_half(lower8!(x), lower8!(w), lower8!(sum)),
        dot4_half(upper8!(x), upper8!(w), upper8!(sum)),
    );
    to_pairs(p: *const f32) -> __m512 = join(pairs_half(p), pairs_half(p.add(16)));
    pair_up(low: __m512, high: __m512) -> __m512 = join(
        pair_up_half(lower8!(low), lower8!(high)),
        pair_up_half(upper8!(low), upper8!(high)),
    );
);
avx512!(
    Avx512Bf16,
    dot2(x: __m512, w: __m512, sum: __m512) -> __m512 = _mm512_dpbf16_ps(sum, as_bf16(x), as_bf16(w));
    dot4(x: __m512, w: __m512, sum: __m512) -> __m512 = _mm512_castsi512_ps(_mm512_dpbusd_epi32(
        _mm512_castps_si512(sum),
        _mm512_castps_si512(x),
        _mm512_castps_si512(w),
    ));
    to_pairs(p: *const f32) -> __m512 = from_bf16(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(p.add(16)), _mm512_loadu_ps(p)));
    pair_up(low: __m512, high: __m512) -> __m512 = {
        let halves = _mm512_castps_si512(from_bf16(_mm512_cvtne2ps_pbh(high, low)));
        // Word 2i comes from place i of the lower half, word 2i + 1 from place i of the upper one.
        let places: [u16; 32] = std::array::from_fn(|word| (word / 2 + word % 2 * 16) as u16);
        _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_loadu_si512(places.as_ptr().cast()), halves))
    };
);

/// The same bits as the type that instructions for bf16 take.
#[inline(always)]
fn as_bf16(bits: __m512) -> __m512bh {
    // SAFETY: both are 512 bits, and any bits are valid for either.
    unsafe { std::mem::transmute(bits) }
}

#[inline(always)]
fn from_bf16(pairs: __m512bh) -> __m512 {
    // SAFETY: as above.
    unsafe { std::mem::transmute(pairs) }
}

#[inline(always)]
unsafe fn join(lower: __m256, upper: __m256) -> __m512 {
    // SAFETY: only called where AVX-512 is.
    unsafe {
        let lower = _mm512_castps_pd(_mm512_castps256_ps512(lower));
        _mm512_castpd_ps(_mm512_insertf64x4::<1>(lower, _mm256_castps_pd(upper)))
    }
}

/// The 16 lanes from `LANE` on of `low` followed by `high`.
///
/// Written as an instruction: from the intrinsic the compiler makes two-register permutations, whose seven index vectors
/// push the sums of the attention tile out of the registers.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes_from<const LANE: u8>(low: __m512, high: __m512) -> __m512 {
    let lanes: __m512;
    // SAFETY: one instruction of AVX-512 Foundation, from registers to a register.
    unsafe {
        std::arch::asm!(
            "valignd {lanes}, {high}, {low}, {lane}",
            lanes = lateout(zmm_reg) lanes,
            high = in(zmm_reg) high,
            low = in(zmm_reg) low,
            lane = const LANE,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    lanes
}
