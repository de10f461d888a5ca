// A row of the hidden state in the registers of one warp, and its LayerNorm: shared by embed.cu and layer_norm.cu.
//
// Lane l holds the 16-byte chunks l, l + 32, ... of the row, at most CHUNKS of them, as f32. The mean is subtracted before the
// squares are summed (two passes over registers, not memory), because E[x^2] - E[x]^2 cancels in f32 where a row has a large
// mean. Assumes a width that is a multiple of 8 and at most 256 * CHUNKS.
#pragma once
#include "device.h"

constexpr i32 ROW_WARPS = 4;
constexpr i32 ROW_THREADS = 32 * ROW_WARPS;

template <i32 CHUNKS> struct Row {
  f32 x[CHUNKS][8];
};

DEVICE void unpack_halves(f32 (&x)[8], Vec16 v) {
  UNROLL
  for (i32 i = 0; i < 4; i++) {
    x[2 * i] = low_half(v.w[i]);
    x[2 * i + 1] = high_half(v.w[i]);
  }
}
DEVICE Vec16 packed_halves(const f32 (&x)[8]) {
  Vec16 v;
  UNROLL
  for (i32 i = 0; i < 4; i++) v.w[i] = pack_halves(x[2 * i], x[2 * i + 1]);
  return v;
}
DEVICE void load_8(f32 (&x)[8], const u16* from) { unpack_halves(x, load_16(from)); }
DEVICE void load_8(f32 (&x)[8], const float* from) {
  const Vec16 a = load_16(from), b = load_16(from + 4);
  UNROLL
  for (i32 i = 0; i < 4; i++) {
    x[i] = bits_to_f32(a.w[i]);
    x[4 + i] = bits_to_f32(b.w[i]);
  }
}
DEVICE void store_8(u16* to, const f32 (&x)[8]) { store_16(to, packed_halves(x)); }
DEVICE void store_8(float* to, const f32 (&x)[8]) {
  Vec16 a, b;
  UNROLL
  for (i32 i = 0; i < 4; i++) {
    a.w[i] = f32_to_bits(x[i]);
    b.w[i] = f32_to_bits(x[4 + i]);
  }
  store_16(to, a);
  store_16(to + 4, b);
}
DEVICE void add_8(f32 (&x)[8], const f32 (&y)[8]) {
  UNROLL
  for (i32 i = 0; i < 8; i++) x[i] += y[i];
}
DEVICE f32 warp_sum(f32 x) {
  UNROLL
  for (i32 m = 16; m > 0; m /= 2) x += shuffle_xor(x, m);
  return x;
}

// row = (row - mean) / sqrt(variance + eps) * gain + offset, with the biased variance.
template <i32 CHUNKS> DEVICE void normalise(Row<CHUNKS>& row, i32 width, const u16* gain, const u16* offset, f32 eps, i32 lane) {
  const i32 chunks = width / 8;
  f32 sum = 0.0f;
  UNROLL
  for (i32 c = 0; c < CHUNKS; c++)
    if (c * 32 + lane < chunks) {
      UNROLL
      for (i32 i = 0; i < 8; i++) sum += row.x[c][i];
    }
  const f32 share = reciprocal((f32)width), mean = warp_sum(sum) * share;
  f32 squares = 0.0f;
  UNROLL
  for (i32 c = 0; c < CHUNKS; c++)
    if (c * 32 + lane < chunks) {
      UNROLL
      for (i32 i = 0; i < 8; i++) {
        row.x[c][i] = row.x[c][i] - mean;
        squares = fused(row.x[c][i], row.x[c][i], squares);
      }
    }
  const f32 scale = reciprocal_root(fused(warp_sum(squares), share, eps));
  UNROLL
  for (i32 c = 0; c < CHUNKS; c++)
    if (c * 32 + lane < chunks) {
      f32 g[8], o[8];
      load_8(g, gain + (c * 32 + lane) * 8);
      load_8(o, offset + (c * 32 + lane) * 8);
      UNROLL
      for (i32 i = 0; i < 8; i++) row.x[c][i] = fused(row.x[c][i] * scale, g[i], o[i]);
    }
}

#ifdef ON_HOST
// Scalar operations of `normalise` for `rows` rows: 7 a number, and the sums over the warp.
inline u64 normalise_flops(u64 rows, u64 width) { return rows * (width * 7 + 32 * (1 + 5 + 1 + 5 + 2 + 1)); }
#endif
