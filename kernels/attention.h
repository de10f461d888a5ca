// What the attention kernels share: the tile of 64 queries and 64 keys, its way through shared memory and tensor cores, and
// the online softmax (Milakov and Gimelshein 2018; tiled as in Dao et al., "FlashAttention", arXiv 2205.14135).
//
// Sequences are packed one after another without padding. A work item is a sequence and the first of its 64 queries; a group
// of four warps computes it, each warp 16 queries. Groups of one block share what they keep in shared memory and nothing else,
// so each has its own named barrier, 1 + its number.
//
// Why mma.sync and not wgmma: one source for compute capability 8.0 to 9.0, and every step can be run on a CPU.
#pragma once
#include "device.h"

constexpr i32 TILE = 64;
constexpr i32 WARPS = 4;
constexpr i32 GROUP_THREADS = 32 * WARPS;
// Three groups of 128 threads leave 168 registers a thread.
constexpr i32 MAX_GROUPS = 3;

// Where the thread stands in its warp and its group.
struct Place {
  i32 group, local, warp, lane;
  i32 row;     // g: the rows g and g + 8 of a 16-row fragment are this lane's
  i32 column;  // t: and the columns t and t + 1 of each 8
};
DEVICE Place place_of(i32 group, i32 local) {
  Place p;
  p.group = group;
  p.local = local;
  p.warp = local / 32;
  p.lane = local % 32;
  p.row = p.lane / 4;
  p.column = (p.lane % 4) * 2;
  return p;
}
DEVICE Place place() { return place_of(thread_x() / GROUP_THREADS, thread_x() % GROUP_THREADS); }
// For the inside of the loop over keys, where sums need the registers.
DEVICE Place recomputed(const Place& p) { return place_of(p.group, recomputed(p.local)); }

// Offset, in halves, of 16-byte chunk `chunk` of row `row` in a tile of rows of D halves. The chunks of a row are permuted so
// that the eight rows that load_matrices reads at once lie in different banks. The permutation repeats every eight rows.
template <i32 D> DEVICE i32 swizzled(i32 row, i32 chunk) {
  return D == 64 ? row * 64 + ((chunk ^ (row & 7)) << 3) : row * 32 + ((chunk ^ ((row >> 1) & 3)) << 3);
}

// The rows of a matrix in global memory that one head reads.
struct Source {
  const u16* first;  // row 0
  i32 stride;        // halves from row to row
  i32 rows;          // rows at and past this are zeros
};

// Copies `COUNT` rows from `row0` on into a tile, spread over `THREADS` threads of which this is number `thread`; commit and
// wait are the caller's. A thread keeps its chunk and moves down by whole periods of the permutation, and an offset within a
// sequence fits 32 bits: few registers.
template <i32 D, i32 COUNT, i32 THREADS> DEVICE void copy_rows(u16* tile, const Source& from, i32 row0, i32 thread) {
  constexpr i32 CHUNKS = D / 8, STEP = THREADS / CHUNKS;
  const i32 row = thread / CHUNKS, chunk = thread % CHUNKS;
  if (STEP % 8) {  // one warp and rows of eight chunks
    UNROLL
    for (i32 i = 0; i < COUNT / STEP; i++) {
      const i32 r = row0 + row + i * STEP;
      copy_async_16(tile + swizzled<D>(row + i * STEP, chunk), from.first + (r < from.rows ? r : 0) * from.stride + chunk * 8, r < from.rows);
    }
    return;
  }
  u16* const to = tile + swizzled<D>(row, chunk);
  UNROLL
  for (i32 i = 0; i < COUNT / STEP; i++) {
    const i32 r = row0 + row + i * STEP;
    copy_async_16(to + i * STEP * D, from.first + (r < from.rows ? r : 0) * from.stride + chunk * 8, r < from.rows);
  }
}

// 16 rows from `row0` on as left operands of the tensor cores.
template <i32 D> DEVICE void load_left(u32 (&fragment)[D / 16][4], const u16* tile, i32 row0, i32 lane) {
  UNROLL
  for (i32 k = 0; k < D / 16; k++) load_matrices<false>(fragment[k], tile + swizzled<D>(row0 + (lane & 15), k * 2 + (lane >> 4)));
}

// scores[n] = 16 queries times the keys 8 n to 8 n + 7.
template <i32 D> DEVICE void score(f32 (&scores)[8][4], const u32 (&queries)[D / 16][4], const u16* keys, i32 lane) {
  i32 at[D / 16];
  UNROLL
  for (i32 k = 0; k < D / 16; k++) at[k] = swizzled<D>((lane & 7) + ((lane >> 4) << 3), k * 2 + ((lane >> 3) & 1));
  UNROLL
  for (i32 n = 0; n < 4; n++) {
    UNROLL
    for (i32 q = 0; q < 4; q++) scores[2 * n][q] = scores[2 * n + 1][q] = 0.0f;
    UNROLL
    for (i32 k = 0; k < D / 16; k++) {
      u32 b[4];
      load_matrices<false>(b, keys + at[k] + n * 16 * D);
      mma_16x8x16(scores[2 * n], queries[k], b[0], b[1]);
      mma_16x8x16(scores[2 * n + 1], queries[k], b[2], b[3]);
    }
  }
}

// Softmax so far, of this lane's two rows, over the keys seen.
template <i32 D> struct Running {
  f32 out[D / 8][4];      // weighted sum of values, not yet divided
  f32 top[2], total[2];   // highest score, and this lane's part of the sum of weights
};
template <i32 D> DEVICE void start(Running<D>& run) {
  UNROLL
  for (i32 n = 0; n < D / 8; n++) {
    UNROLL
    for (i32 q = 0; q < 4; q++) run.out[n][q] = 0.0f;
  }
  run.top[0] = run.top[1] = -infinity();
  run.total[0] = run.total[1] = 0.0f;
}

// Keys at and past `keys` have no weight.
DEVICE void mask(f32 (&scores)[8][4], i32 keys, i32 column) {
  UNROLL
  for (i32 n = 0; n < 8; n++) {
    UNROLL
    for (i32 q = 0; q < 4; q++)
      if (n * 8 + column + (q & 1) >= keys) scores[n][q] = -infinity();
  }
}

// Takes in a tile of scores, in base 2, and its values. At least one score of each row is finite.
template <i32 D> DEVICE void absorb(Running<D>& run, f32 (&scores)[8][4], const u16* values, i32 lane) {
  UNROLL
  for (i32 half = 0; half < 2; half++) {
    f32 top = -infinity();
    UNROLL
    for (i32 n = 0; n < 8; n++) top = larger(top, larger(scores[n][2 * half], scores[n][2 * half + 1]));
    top = larger(top, shuffle_xor(top, 1));
    top = larger(top, shuffle_xor(top, 2));
    top = larger(top, run.top[half]);
    const f32 shrink = exp_base2(run.top[half] - top);
    run.top[half] = top;
    run.total[half] *= shrink;
    UNROLL
    for (i32 n = 0; n < D / 8; n++) {
      run.out[n][2 * half] *= shrink;
      run.out[n][2 * half + 1] *= shrink;
    }
    UNROLL
    for (i32 n = 0; n < 8; n++) {
      scores[n][2 * half] = exp_base2(scores[n][2 * half] - top);
      scores[n][2 * half + 1] = exp_base2(scores[n][2 * half + 1] - top);
      run.total[half] += scores[n][2 * half] + scores[n][2 * half + 1];
    }
  }
  i32 at[D / 16];
  UNROLL
  for (i32 n = 0; n < D / 16; n++) at[n] = swizzled<D>((lane & 7) + ((lane >> 3) & 1) * 8, n * 2 + (lane >> 4));
  UNROLL
  for (i32 k = 0; k < 4; k++) {
    const u32 weights[4] = {pack_halves(scores[2 * k][0], scores[2 * k][1]), pack_halves(scores[2 * k][2], scores[2 * k][3]),
                            pack_halves(scores[2 * k + 1][0], scores[2 * k + 1][1]), pack_halves(scores[2 * k + 1][2], scores[2 * k + 1][3])};
    UNROLL
    for (i32 n = 0; n < D / 16; n++) {
      u32 b[4];
      load_matrices<true>(b, values + at[n] + k * 16 * D);
      mma_16x8x16(run.out[2 * n], weights, b[0], b[1]);
      mma_16x8x16(run.out[2 * n + 1], weights, b[2], b[3]);
    }
  }
}

// Divides and stores the rows of this warp that exist. `out` is row 0 of the warp's 16, of this head.
template <i32 D> DEVICE void finish(const Running<D>& run, u16* out, i64 stride, i32 rows, const Place& at) {
  UNROLL
  for (i32 half = 0; half < 2; half++) {
    f32 total = run.total[half];
    total += shuffle_xor(total, 1);
    total += shuffle_xor(total, 2);
    const f32 scale = reciprocal(total);
    const i32 row = at.row + 8 * half;
    if (row < rows) {
      UNROLL
      for (i32 n = 0; n < D / 8; n++)
        store_u32(out + row * stride + n * 8 + at.column, pack_halves(run.out[n][2 * half] * scale, run.out[n][2 * half + 1] * scale));
    }
  }
}

#ifdef ON_HOST
// Scalar operations that `absorb` and `finish` make, for the cost formulas of the kernels.
inline u64 absorb_flops(u64 tile_pairs, u64 d) { return tile_pairs * (TILE * TILE * 3 + GROUP_THREADS * (6 + d / 2)); }
inline u64 finish_flops(u64 items, u64 stored_rows, u64 d) { return items * GROUP_THREADS * 6 + stored_rows * d; }
#endif
