//! Attention with bf16 products: queries, keys, values, position tables and softmax's weights are rounded to bf16, and products
//! are of pairs of them, summed in single precision. Scores and softmax are in single precision.
//!
//! Against the form in single precision, `k . PQ` is a product of its own, because pairs cannot be added first: a strip of
//! 16 keys is multiplied with a window of a table that runs the other way (distance `i - j` ascending), and the result is
//! transposed and shifted in one step into rows of queries, where the scores start from it. Only a block of queries at a
//! time, so that long sequences stay in the second-level cache.
//!
//! Each score is one chain of sums in the order of the dimensions, whatever strip or block it falls into.

use super::AttentionArgs;
use crate::cpu::gemm::{Pairs, step};
use crate::cpu::math;
use crate::cpu::simd::{LANES, Simd};

/// Queries whose position terms are held at a time; a multiple of 16.
pub(in crate::cpu) const QUERY_BLOCK: usize = 128;

/// Keys whose products with PQ are made at a time.
pub(in crate::cpu) const KEY_STRIP: usize = LANES;

/// Numbers from one of those keys to the next: the window of a block, which is shifted by up to 15.
pub(in crate::cpu) const KEY_BAND: usize = QUERY_BLOCK + KEY_STRIP;

/// Sizes and places of one sequence. "Unit" means a pair of bf16 numbers in four bytes.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct PairsArgs {
    /// As for single precision, but: `pk` and `pq` hold units, `[heads][head_width / 2][table_width]`, and column
    /// `table_origin + i - j` of `pq` belongs to query i and key j; `head_width` is a multiple of 32; `keys` has room for
    /// `head_width / 2 * pitch` units, `values` for `head_width` units for every two tokens, and `strip_queries` for
    /// `head_width / 2` units of each query, the number of which is rounded up to 8.
    pub rows: AttentionArgs,
    /// Room for the keys as units row by row, `head_width / 2` for each; as many as `length` rounded up to 16.
    pub key_rows: *mut f32,
    /// Room for softmax's weights of a strip as units, `pitch / 2` for each row.
    pub weights: *mut f32,
    /// Room for position terms, `pitch` for each query of a block.
    pub positions: *mut f32,
    /// Room for [`KEY_STRIP`] rows of [`KEY_BAND`].
    pub key_band: *mut f32,
}

/// One strip of query rows of one head.
#[derive(Clone, Copy)]
struct Strip {
    /// First query row.
    first: usize,
    /// Its units.
    queries: *const f32,
    /// Its position terms, where there are any.
    positions: *const f32,
    /// The head's tables.
    pk: *const f32,
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
pub(in crate::cpu) unsafe fn attention<S: Simd, const R: usize, const NV: usize>(args: &PairsArgs) {
    const { assert!(R <= 8 && KEY_STRIP.is_multiple_of(R)) };
    let rows = &args.rows;
    let units = rows.head_width / 2;
    // SAFETY: the caller promises the instruction set and the sizes said at the fields; an absent table is never read, so its
    // address does not matter.
    unsafe {
        for head in 0..rows.heads {
            let column = head * rows.head_width;
            to_rows_of_units::<S>(rows, rows.q, column, rows.queries, 8, rows.strip_queries);
            to_rows_of_units::<S>(rows, rows.k, column, rows.length, LANES, args.key_rows);
            transpose_keys::<S>(args);
            pair_values::<S>(args, column);
            let table = head * units * rows.table_width;
            let (pk, pq) = (rows.pk.wrapping_add(table), rows.pq.wrapping_add(table));
            for block in (0..rows.queries).step_by(QUERY_BLOCK) {
                let queries = QUERY_BLOCK.min(rows.queries - block);
                if !rows.pq.is_null() {
                    position_terms::<S, R, NV>(args, pq, block, queries.next_multiple_of(LANES));
                }
                let mut done = 0;
                while done < queries {
                    let first = block + done;
                    // Classification asks for one row in the last layer; a whole strip would be R - 1 rows of idle work.
                    let height = if queries - done == 1 { 1 } else { R };
                    let strip = Strip {
                        first,
                        queries: rows.strip_queries.add(first * units),
                        positions: args.positions.add(done * rows.pitch),
                        pk,
                        bias: rows.bias.wrapping_add(head * rows.bias_step),
                        from: first.saturating_sub(rows.reach) / LANES * LANES,
                        to: rows.length.min((first + height).saturating_add(rows.reach)),
                        out: rows.out.add(first * rows.stride + column),
                    };
                    if height == 1 {
                        run_strip::<S, 1, NV>(args, strip);
                    } else {
                        run_strip::<S, R, NV>(args, strip);
                    }
                    done += height;
                }
            }
        }
    }
}

/// One head's part of `count` rows as units side by side, and rows of zeros up to a multiple of `whole`.
#[inline(always)]
unsafe fn to_rows_of_units<S: Simd>(
    args: &AttentionArgs,
    from: *const f32,
    column: usize,
    count: usize,
    whole: usize,
    to: *mut f32,
) {
    // SAFETY: as promised to `attention`.
    unsafe {
        let units = args.head_width / 2;
        for row in 0..count {
            let (from, to) = (from.add(row * args.stride + column), to.add(row * units));
            for d in (0..args.head_width).step_by(2 * LANES) {
                S::store(to.add(d / 2), S::to_pairs(from.add(d)));
            }
        }
        for at in (count * units..count.next_multiple_of(whole) * units).step_by(LANES) {
            S::store(to.add(at), S::splat(0.0));
        }
    }
}

/// The key rows as `[head_width / 2][pitch]`.
#[inline(always)]
unsafe fn transpose_keys<S: Simd>(args: &PairsArgs) {
    let AttentionArgs { length, head_width, keys, pitch, .. } = args.rows;
    let units = head_width / 2;
    // SAFETY: as promised to `attention`; there are rows up to a multiple of 16.
    unsafe {
        for j in (0..length).step_by(LANES) {
            for d in (0..units).step_by(LANES) {
                S::transpose16(args.key_rows.add(j * units + d), units, keys.add(d * pitch + j), pitch);
            }
        }
    }
}

/// The values of every two tokens as units: `[length / 2, rounded up][head_width]`, with a zero beside the last of an odd number.
#[inline(always)]
unsafe fn pair_values<S: Simd>(args: &PairsArgs, column: usize) {
    let AttentionArgs { length, head_width, v, stride, values, .. } = args.rows;
    // SAFETY: as promised to `attention`.
    unsafe {
        for j in (0..length).step_by(2) {
            let (even, to) = (v.add(j * stride + column), values.add(j / 2 * head_width));
            for d in (0..head_width).step_by(LANES) {
                let odd = if j + 1 < length { S::load(even.add(stride + d)) } else { S::splat(0.0) };
                S::store(to.add(d), S::pair_up(S::load(even.add(d)), odd));
            }
        }
    }
}

/// `k . PQ` for the queries from `block` on, `queries` of them, a multiple of 16.
#[inline(always)]
unsafe fn position_terms<S: Simd, const R: usize, const NV: usize>(
    args: &PairsArgs,
    pq: *const f32,
    block: usize,
    queries: usize,
) {
    let AttentionArgs { length, head_width, table_width, table_origin, pitch, .. } = args.rows;
    let units = head_width / 2;
    // SAFETY: as promised to `attention`: the window begins at most 15 columns before the distance of query 0 and the last
    // key, and ends at most 16 after that of the last query and key 0.
    unsafe {
        for j in (0..length).step_by(KEY_STRIP) {
            let window = pq.add(table_origin + block - (j + KEY_STRIP - 1));
            for row in (0..KEY_STRIP).step_by(R) {
                let (keys, to) = (args.key_rows.add((j + row) * units), args.key_band.add(row * KEY_BAND));
                band::<S, R, NV>((keys, units), window, table_width, queries + KEY_STRIP, (to, KEY_BAND));
            }
            for i in (0..queries).step_by(LANES) {
                // Row r is shifted by 15 - r: one number less from row to row.
                let from = args.key_band.add(KEY_STRIP - 1 + i);
                S::transpose16(from, KEY_BAND - 1, args.positions.add(i * pitch + j), pitch);
            }
        }
    }
}

/// R rows of units times the first `columns` columns of a table, a multiple of 16, into rows of numbers; rows and results
/// with the numbers from one to the next.
#[inline(always)]
unsafe fn band<S: Simd, const R: usize, const NV: usize>(
    rows: (*const f32, usize),
    table: *const f32,
    width: usize,
    columns: usize,
    to: (*mut f32, usize),
) {
    // SAFETY: as promised to `attention`.
    unsafe {
        let mut x = 0;
        while x + NV * LANES <= columns {
            band_tile::<S, R, NV>(rows, table.add(x), width, (to.0.add(x), to.1));
            x += NV * LANES;
        }
        if NV > 2 && x + 2 * LANES <= columns {
            band_tile::<S, R, 2>(rows, table.add(x), width, (to.0.add(x), to.1));
            x += 2 * LANES;
        }
        while x < columns {
            band_tile::<S, R, 1>(rows, table.add(x), width, (to.0.add(x), to.1));
            x += LANES;
        }
    }
}

#[inline(always)]
unsafe fn band_tile<S: Simd, const R: usize, const NV: usize>(
    (rows, units): (*const f32, usize),
    mut table: *const f32,
    width: usize,
    (to, to_stride): (*mut f32, usize),
) {
    // SAFETY: as promised to `attention`.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        for d in 0..units {
            step::<S, Pairs, R, NV>(rows.add(d), units, table, &mut sums);
            table = table.add(width);
        }
        for (r, row) in sums.iter().enumerate() {
            for (v, &sum) in row.iter().enumerate() {
                S::store(to.add(r * to_stride + v * LANES), sum);
            }
        }
    }
}

#[inline(always)]
unsafe fn run_strip<S: Simd, const R: usize, const NV: usize>(args: &PairsArgs, strip: Strip) {
    let rows = &args.rows;
    // SAFETY: as promised to `attention`.
    unsafe {
        if !rows.pk.is_null() {
            let window = strip.pk.add(rows.table_origin - (strip.first + R - 1));
            let columns = (rows.length + R - 1).next_multiple_of(LANES);
            let queries = (strip.queries, rows.head_width / 2);
            band::<S, R, NV>(queries, window, rows.table_width, columns, (rows.band, rows.pitch));
        }
        let columns = strip.to.next_multiple_of(LANES);
        let mut j = strip.from;
        while j + NV * LANES <= columns {
            scores::<S, R, NV>(rows, &strip, j);
            j += NV * LANES;
        }
        if NV > 2 && j + 2 * LANES <= columns {
            scores::<S, R, 2>(rows, &strip, j);
            j += 2 * LANES;
        }
        while j < columns {
            scores::<S, R, 1>(rows, &strip, j);
            j += LANES;
        }
        let mut sums = [0.0; R];
        for (r, sum) in sums.iter_mut().enumerate() {
            let row = rows.scores.add(r * rows.pitch + strip.from);
            *sum = math::softmax_weights::<S>(row, strip.to - strip.from);
            let units = args.weights.add(r * (rows.pitch / 2) + strip.from / 2);
            weights_to_units::<S>(row, columns - strip.from, units);
        }
        let mut d = 0;
        while NV > 1 && d + 2 * LANES <= rows.head_width {
            weigh_values::<S, R, 2>(args, &strip, &sums, d);
            d += 2 * LANES;
        }
        while d < rows.head_width {
            weigh_values::<S, R, 1>(args, &strip, &sums, d);
            d += LANES;
        }
    }
}

/// A row of `count` weights, a multiple of 16, as units; there is room for 16 numbers more, which become zeros.
#[inline(always)]
unsafe fn weights_to_units<S: Simd>(row: *mut f32, count: usize, to: *mut f32) {
    // SAFETY: as promised to `attention`: `pitch` leaves room for a vector after the row.
    unsafe {
        S::store(row.add(count), S::splat(0.0));
        for j in (0..count).step_by(2 * LANES) {
            S::store(to.add(j / 2), S::to_pairs(row.add(j)));
        }
    }
}

/// Scores of the strip for keys from `j` on.
#[inline(always)]
unsafe fn scores<S: Simd, const R: usize, const NV: usize>(args: &AttentionArgs, strip: &Strip, j: usize) {
    // SAFETY: as promised to `attention`.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        if !args.pq.is_null() {
            for (r, row) in sums.iter_mut().enumerate() {
                for (v, sum) in row.iter_mut().enumerate() {
                    *sum = S::load(strip.positions.add(r * args.pitch + j + v * LANES));
                }
            }
        }
        if !args.pk.is_null() {
            for (r, row) in sums.iter_mut().enumerate() {
                for (v, sum) in row.iter_mut().enumerate() {
                    let at = args.band.add(r * args.pitch + j + v * LANES + R - 1 - r);
                    *sum = S::add(*sum, S::load(at));
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
        let units = args.head_width / 2;
        let mut keys = args.keys.cast_const().add(j);
        for d in 0..units {
            step::<S, Pairs, R, NV>(strip.queries.add(d), units, keys, &mut sums);
            keys = keys.add(args.pitch);
        }
        for (r, row) in sums.iter().enumerate() {
            for (v, &sum) in row.iter().enumerate() {
                S::store(args.scores.add(r * args.pitch + j + v * LANES), sum);
            }
        }
    }
}

/// Dimensions from `d` on of the strip's result.
#[inline(always)]
unsafe fn weigh_values<S: Simd, const R: usize, const NV: usize>(
    args: &PairsArgs,
    strip: &Strip,
    weight_sums: &[f32; R],
    d: usize,
) {
    let rows = &args.rows;
    // SAFETY: as promised to `attention`.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        let pairs = strip.from / 2..strip.to.div_ceil(2);
        let mut values = rows.values.cast_const().add(pairs.start * rows.head_width + d);
        for pair in pairs {
            step::<S, Pairs, R, NV>(args.weights.add(pair), rows.pitch / 2, values, &mut sums);
            values = values.add(rows.head_width);
        }
        let wanted = R.min(rows.queries - strip.first);
        for (r, row) in sums.iter().enumerate() {
            // A test inside a loop of fixed length: a loop of varying length would keep the sums in memory.
            if r < wanted {
                let factor = S::splat(1.0 / weight_sums[r]);
                for (v, &sum) in row.iter().enumerate() {
                    S::store(strip.out.add(r * rows.stride + d + v * LANES), S::mul(sum, factor));
                }
            }
        }
    }
}
