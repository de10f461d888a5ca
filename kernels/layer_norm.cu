// out = LayerNorm(x + residual): after attention's output and after the feed-forward layer.
//
// Why this way. The product before it has written x with its bias already added (an exact epilogue of the library); what is
// left is bound by memory, so a warp takes a row with 16-byte loads, keeps it in registers in f32, and touches each number once.
// Two inputs: halves, and f32 for the variant that a batch is repeated in when a sum left the range of halves. There x and
// the residual stay f32 from layer to layer (`wide`), and the halves are only what the next product reads.
//
// Assumes: width a multiple of 8, at most 512, 1024 or 2048 by name; pointers aligned to 16 bytes. `out` may be `x` or `residual`: a row is read
// before it is written, by the same warp.
//
// Launch: block = 128, grid = ceil(rows / 4); a warp a row; no shared memory.
//
// Bytes a row: read 2 w + 2 w + 4 w (gain and offset, from cache), written 2 w; f32: read 4 w + 4 w + 4 w, written 6 w. FLOPs: 8 w + 480.
#include "rows.h"

template <class Number> struct NormArgs {
  const Number* x;         // [rows][width]
  const Number* residual;  // [rows][width]
  const u16* gain;         // [width]
  const u16* offset;       // [width]
  u16* out;                // [rows][width]
  float* wide;             // [rows][width]; used by the f32 variant only
  i32 rows, width;
  float eps;
};

DEVICE void store_wide(const NormArgs<u16>&, i64, const f32 (&)[8]) {}
DEVICE void store_wide(const NormArgs<float>& a, i64 at, const f32 (&x)[8]) { store_8(a.wide + at, x); }

template <i32 CHUNKS, class Number> DEVICE void add_norm(const NormArgs<Number>& a) {
  const i32 row = block_x() * ROW_WARPS + thread_x() / 32, lane = thread_x() % 32;
  if (row >= a.rows) return;
  const i64 first = (i64)row * a.width;
  Row<CHUNKS> r;
  UNROLL
  for (i32 c = 0; c < CHUNKS; c++) {
    const i32 at = (c * 32 + lane) * 8;
    if (at >= a.width) continue;
    f32 more[8];
    load_8(r.x[c], a.x + first + at);
    load_8(more, a.residual + first + at);
    add_8(r.x[c], more);
  }
  normalise<CHUNKS>(r, a.width, a.gain, a.offset, a.eps, lane);
  UNROLL
  for (i32 c = 0; c < CHUNKS; c++) {
    const i32 at = (c * 32 + lane) * 8;
    if (at >= a.width) continue;
    store_8(a.out + first + at, r.x[c]);
    store_wide(a, first + at, r.x[c]);
  }
}

KERNEL(ROW_THREADS) add_norm_512(NormArgs<u16> a) { add_norm<2>(a); }
KERNEL(ROW_THREADS) add_norm_1024(NormArgs<u16> a) { add_norm<4>(a); }
KERNEL(ROW_THREADS) add_norm_2048(NormArgs<u16> a) { add_norm<8>(a); }
KERNEL(ROW_THREADS) add_norm_f32_512(NormArgs<float> a) { add_norm<2>(a); }
KERNEL(ROW_THREADS) add_norm_f32_1024(NormArgs<float> a) { add_norm<4>(a); }
KERNEL(ROW_THREADS) add_norm_f32_2048(NormArgs<float> a) { add_norm<8>(a); }

#ifdef ON_HOST
inline shim::Cost add_norm_cost(u64 rows, u64 width, bool f32_input) {
  return {rows * width * (f32_input ? 12 : 8), rows * width * (f32_input ? 6 : 2), normalise_flops(rows, width) + rows * width, 0};
}
#endif
