//! Disentangled self-attention of one sequence, all heads, never holding an L x L matrix.
//!
//! `score(i, j) = q_i . k_j + q_i . PK[i - j] + k_j . PQ[i - j]`, with the scale folded into q and PQ (He et al.,
//! arXiv 2006.03654, eq. 4). Tables are indexed by distance, one row of `table_width` numbers for each dimension, so that
//! ascending keys are ascending addresses. A strip of R query rows is taken at a time:
//! 1. the band `q . PK` over the strip's window, whose row r is read shifted by r;
//! 2. `q . k` and `k . PQ` in one pass, since both multiply the same `k`: `k * (q + PQ)`;
//!    plus a bias by head and distance, where there is one (T5; also how a local layer hides far keys);
//! 3. softmax over the strip; 4. the product with V, divided by the softmax's sum at the end.
//!
//! [`pairs`] does the same with bf16 products.

pub(super) mod pairs;

use super::math;
use super::simd::{LANES, Simd};

/// Sizes and places of one sequence. "Row" means one token's numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttentionArgs {
    /// Tokens of the sequence.
    pub length: usize,
    /// Query rows computed, from token 0 on; at most `length` where positions matter.
    pub queries: usize,
    /// Number of heads.
    pub heads: usize,
    /// Width of a head in memory, a multiple of 16.
    pub head_width: usize,
    /// Query rows, scale folded in; heads side by side.
    pub q: *const f32,
    /// Key rows.
    pub k: *const f32,
    /// Value rows.
    pub v: *const f32,
    /// Result, one row for each query.
    pub out: *mut f32,
    /// Numbers from one row to the next, in q, k, v and out.
    pub stride: usize,
    /// PK `[heads][head_width][table_width]` by distance, null where there is no content-to-position term.
    pub pk: *const f32,
    /// PQ likewise, null where there is no position-to-content term.
    pub pq: *const f32,
    /// A number to add for each head and distance, `[heads][table_width]`, null where there is none.
    pub bias: *const f32,
    /// Numbers from one head's biases to the next head's.
    pub bias_step: usize,
    /// Keys farther from a query than so many tokens are not looked at, but for those that share a strip or a vector with
    /// nearer ones.
    pub reach: usize,
    /// Numbers from one table row to the next.
    pub table_width: usize,
    /// Column of distance 0; column `table_origin + j - i` belongs to query i and key j.
    pub table_origin: usize,
    /// Room for a strip's queries, `strip rows * head_width`.
    pub strip_queries: *mut f32,
    /// Room for the transposed keys, `head_width * pitch`.
    pub keys: *mut f32,
    /// Room for a head's values, `length * head_width`.
    pub values: *mut f32,
    /// Room for the band, `strip rows * pitch`.
    pub band: *mut f32,
    /// Room for scores, `strip rows * pitch`.
    pub scores: *mut f32,
    /// Numbers from one row to the next in those three: `length` rounded up to 16, and 16 more.
    pub pitch: usize,
}

/// One strip of one head.
#[derive(Clone, Copy)]
struct Strip<const R: usize> {
    /// First query row.
    first: usize,
    /// The head's part of the query rows as `[head_width][R]`; rows past the end repeat the last.
    queries: *const f32,
    /// The head's tables.
    pk: *const f32,
    pq: *const f32,
    bias: *const f32,
    /// First key looked at, a multiple of 16.
    from: usize,
    /// First key not looked at.
    to: usize,
    /// The head's part of the first result row.
    out: *mut f32,
}

/// All heads of a sequence, with strips of R rows (at most 8) by NV vectors.
#[inline(always)]
pub(super) unsafe fn attention<S: Simd, const R: usize, const NV: usize>(args: &AttentionArgs) {
    const { assert!(R <= 8) };
    // SAFETY: the caller promises the instruction set and the sizes said at the fields.
    unsafe {
        for head in 0..args.heads {
            let column = head * args.head_width;
            transpose_keys::<S>(args, column);
            gather_values::<S>(args, column);
            let mut first = 0;
            while first < args.queries {
                // Classification asks for one row in the last layer; a whole strip would be R - 1 rows of idle work.
                if args.queries - first == 1 {
                    run_strip::<S, 1, NV>(args, strip(args, head, first));
                    first += 1;
                } else {
                    run_strip::<S, R, NV>(args, strip(args, head, first));
                    first += R;
                }
            }
        }
    }
}

/// Keys of one head as `[head_width][pitch]`, zeros up to the next multiple of 16.
#[inline(always)]
unsafe fn transpose_keys<S: Simd>(args: &AttentionArgs, column: usize) {
    // SAFETY: as promised to `attention`; a block of eight keys is read where there are eight.
    unsafe {
        let whole = args.length / 8 * 8;
        for d in (0..args.head_width).step_by(8) {
            let source = args.k.add(column + d);
            let target = args.keys.add(d * args.pitch);
            for from in (0..whole).step_by(8) {
                S::transpose8(source.add(from * args.stride), args.stride, target.add(from), args.pitch);
            }
        }
        let padded = args.length.next_multiple_of(LANES);
        for d in 0..args.head_width {
            let target = args.keys.add(d * args.pitch);
            for j in whole..args.length {
                *target.add(j) = *args.k.add(j * args.stride + column + d);
            }
            for j in args.length..padded {
                *target.add(j) = 0.0;
            }
        }
    }
}

/// Values of one head side by side: every strip reads all of them, and rows of usual widths lie so that they share few sets
/// of the first-level cache.
#[inline(always)]
unsafe fn gather_values<S: Simd>(args: &AttentionArgs, column: usize) {
    // SAFETY: as promised to `attention`.
    unsafe {
        for j in 0..args.length {
            let (source, target) =
                (args.v.add(j * args.stride + column), args.values.add(j * args.head_width));
            for d in (0..args.head_width).step_by(LANES) {
                S::store(target.add(d), S::load(source.add(d)));
            }
        }
    }
}

#[inline(always)]
unsafe fn strip<const R: usize>(args: &AttentionArgs, head: usize, first: usize) -> Strip<R> {
    // SAFETY: as promised to `attention`; an absent table is never read, so its address does not matter.
    unsafe {
        let column = head * args.head_width;
        let table = column * args.table_width;
        for r in 0..R {
            let row = args.q.add((first + r).min(args.queries - 1) * args.stride + column);
            for d in 0..args.head_width {
                *args.strip_queries.add(d * R + r) = *row.add(d);
            }
        }
        Strip {
            first,
            queries: args.strip_queries,
            pk: args.pk.wrapping_add(table),
            pq: args.pq.wrapping_add(table),
            bias: args.bias.wrapping_add(head * args.bias_step),
            from: first.saturating_sub(args.reach) / LANES * LANES,
            to: args.length.min((first + R).saturating_add(args.reach)),
            out: args.out.add(first * args.stride + column),
        }
    }
}

#[inline(always)]
unsafe fn run_strip<S: Simd, const R: usize, const NV: usize>(args: &AttentionArgs, strip: Strip<R>) {
    // SAFETY: as promised to `attention`.
    unsafe {
        if !args.pk.is_null() {
            let columns = (args.length + R - 1).next_multiple_of(LANES);
            let mut x = 0;
            while x + NV * LANES <= columns {
                band::<S, R, NV>(args, &strip, x);
                x += NV * LANES;
            }
            while x < columns {
                band::<S, R, 1>(args, &strip, x);
                x += LANES;
            }
        }
        let columns = strip.to.next_multiple_of(LANES);
        let mut j = strip.from;
        while j + NV * LANES <= columns {
            scores::<S, R, NV>(args, &strip, j);
            j += NV * LANES;
        }
        while j < columns {
            scores::<S, R, 1>(args, &strip, j);
            j += LANES;
        }
        let mut sums = [0.0; R];
        for (r, sum) in sums.iter_mut().enumerate() {
            let row = args.scores.add(r * args.pitch + strip.from);
            *sum = math::softmax_weights::<S>(row, strip.to - strip.from);
        }
        let mut d = 0;
        while NV > 1 && d + 2 * LANES <= args.head_width {
            weigh_values::<S, R, 2>(args, &strip, &sums, d);
            d += 2 * LANES;
        }
        while d < args.head_width {
            weigh_values::<S, R, 1>(args, &strip, &sums, d);
            d += LANES;
        }
    }
}

/// Columns from `x` on of the strip's window of `q . PK`; the window starts at the table column of its last row and key 0.
#[inline(always)]
unsafe fn band<S: Simd, const R: usize, const NV: usize>(args: &AttentionArgs, strip: &Strip<R>, x: usize) {
    // SAFETY: as promised to `attention`.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        let mut table = strip.pk.add(args.table_origin + x - (strip.first + R - 1));
        for d in 0..args.head_width {
            let mut keys = [S::splat(0.0); NV];
            for (v, key) in keys.iter_mut().enumerate() {
                *key = S::load(table.add(v * LANES));
            }
            for (r, row) in sums.iter_mut().enumerate() {
                let q = S::splat(*strip.queries.add(d * R + r));
                for (sum, &key) in row.iter_mut().zip(&keys) {
                    *sum = S::fma(q, key, *sum);
                }
            }
            table = table.add(args.table_width);
        }
        for (r, row) in sums.iter().enumerate() {
            for (v, &sum) in row.iter().enumerate() {
                S::store(args.band.add(r * args.pitch + x + v * LANES), sum);
            }
        }
    }
}

/// Scores of the strip for keys from `j` on.
#[inline(always)]
unsafe fn scores<S: Simd, const R: usize, const NV: usize>(args: &AttentionArgs, strip: &Strip<R>, j: usize) {
    // SAFETY: as promised to `attention`.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        if !args.pk.is_null() {
            for (r, row) in sums.iter_mut().enumerate() {
                for (v, sum) in row.iter_mut().enumerate() {
                    *sum = S::load(args.band.add(r * args.pitch + j + v * LANES + R - 1 - r));
                }
            }
        }
        if !args.bias.is_null() {
            let first = strip.bias.add(args.table_origin + j - strip.first);
            for (r, row) in sums.iter_mut().enumerate() {
                for (v, sum) in row.iter_mut().enumerate() {
                    *sum = S::add(*sum, S::load(first.add(v * LANES).sub(r)));
                }
            }
        }
        if args.pq.is_null() {
            add_content::<S, R, NV>(args, strip, j, &mut sums);
        } else {
            add_content_and_position::<S, R, NV>(args, strip, j, &mut sums);
        }
        for (r, row) in sums.iter().enumerate() {
            for (v, &sum) in row.iter().enumerate() {
                S::store(args.scores.add(r * args.pitch + j + v * LANES), sum);
            }
        }
    }
}

/// `q . k`.
#[inline(always)]
unsafe fn add_content<S: Simd, const R: usize, const NV: usize>(
    args: &AttentionArgs,
    strip: &Strip<R>,
    j: usize,
    sums: &mut [[S::V; NV]; R],
) {
    // SAFETY: as promised to `attention`.
    unsafe {
        for d in 0..args.head_width {
            for v in 0..NV {
                let key = S::load(args.keys.add(d * args.pitch + j + v * LANES));
                for (r, row) in sums.iter_mut().enumerate() {
                    row[v] = S::fma(key, S::splat(*strip.queries.add(d * R + r)), row[v]);
                }
            }
        }
    }
}

/// `k . (q + PQ)`: row r reads the table r columns further back.
#[inline(always)]
unsafe fn add_content_and_position<S: Simd, const R: usize, const NV: usize>(
    args: &AttentionArgs,
    strip: &Strip<R>,
    j: usize,
    sums: &mut [[S::V; NV]; R],
) {
    // SAFETY: as promised to `attention`; a table has at least 16 numbers before the first column a query can ask for.
    unsafe {
        let mut keys_at = args.keys.cast_const().add(j);
        let mut table = strip.pq.add(args.table_origin + j - strip.first);
        for d in 0..args.head_width {
            let mut low = S::load(table.sub(LANES));
            let mut v = 0;
            while v < NV {
                let key = S::load(keys_at.add(v * LANES));
                let at = table.add(v * LANES);
                let high = S::load(at);
                /// Row `$r`, written out because the distance must be a constant.
                macro_rules! row {
                    ($($r:literal)*) => {$(
                        if $r < R {
                            let q = S::splat(*strip.queries.add(d * R + $r));
                            let sum = S::add(q, S::back::<$r>(at, low, high));
                            sums[$r % R][v] = S::fma(key, sum, sums[$r % R][v]);
                        }
                    )*};
                }
                row!(0 1 2 3 4 5 6 7);
                low = high;
                v += 1;
            }
            keys_at = keys_at.add(args.pitch);
            table = table.add(args.table_width);
        }
    }
}

/// Dimensions from `d` on of the strip's result.
#[inline(always)]
unsafe fn weigh_values<S: Simd, const R: usize, const NV: usize>(
    args: &AttentionArgs,
    strip: &Strip<R>,
    weight_sums: &[f32; R],
    d: usize,
) {
    // SAFETY: as promised to `attention`.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        let mut value_row = args.values.cast_const().add(strip.from * args.head_width + d);
        for j in strip.from..strip.to {
            let mut values = [S::splat(0.0); NV];
            for (v, value) in values.iter_mut().enumerate() {
                *value = S::load(value_row.add(v * LANES));
            }
            for (r, row) in sums.iter_mut().enumerate() {
                let weight = S::splat(*args.scores.add(r * args.pitch + j));
                for (sum, &value) in row.iter_mut().zip(&values) {
                    *sum = S::fma(weight, value, *sum);
                }
            }
            value_row = value_row.add(args.head_width);
        }
        let wanted = R.min(args.queries - strip.first);
        for (r, row) in sums.iter().enumerate() {
            // A test inside a loop of fixed length: a loop of varying length would keep the sums in memory.
            if r < wanted {
                let factor = S::splat(1.0 / weight_sums[r]);
                for (v, &sum) in row.iter().enumerate() {
                    S::store(strip.out.add(r * args.stride + d + v * LANES), S::mul(sum, factor));
                }
            }
        }
    }
}
