// The mean of a sequence's last hidden states: the embedding of a text.
//
// Why this way. Eight warps of a block take the rows of one sequence in turn, each lane 16 bytes of the width, and sum in f32;
// the warps' sums are added in order, so the result does not depend on scheduling. Bound by memory.
//
// Assumes: width a multiple of 8; pointers aligned to 16 bytes; a sequence without tokens (a slot of a captured graph that this batch does
// not use) gets zeros.
//
// Launch: block = 256, grid = (sequences, ceil(width / 256)); shared memory = 8 * 256 * 4 bytes.
//
// Bytes: read 2 w a token, written 4 w a sequence. FLOPs: w a token, 9 w a sequence.
#include "rows.h"

constexpr i32 MEAN_WARPS = 8;
constexpr i32 MEAN_THREADS = 32 * MEAN_WARPS;
constexpr i32 MEAN_SHARED_BYTES = MEAN_WARPS * 256 * 4;

struct MeanArgs {
  const u16* x;   // [tokens][width]
  const i32* cu;  // [sequences + 1] first token of each
  float* out;     // [sequences][width]
  i32 width;
};

KERNEL(MEAN_THREADS) mean_pool(MeanArgs a) {
  SHARED_MEMORY(memory);
  float* const sums = (float*)memory;
  const i32 sequence = block_x(), warp = thread_x() / 32, lane = thread_x() % 32, column = block_y() * 256 + lane * 8;
  const i32 first = load_uniform(a.cu + sequence), length = load_uniform(a.cu + sequence + 1) - first;
  f32 sum[8];
  UNROLL
  for (i32 i = 0; i < 8; i++) sum[i] = 0.0f;
  if (column < a.width)
    for (i32 row = warp; row < length; row += MEAN_WARPS) {
      f32 x[8];
      load_8(x, a.x + (i64)(first + row) * a.width + column);
      add_8(sum, x);
    }
  UNROLL
  for (i32 i = 0; i < 8; i++) sums[warp * 256 + lane * 8 + i] = (float)sum[i];
  barrier_block();
  const i32 mine = block_y() * 256 + thread_x();
  if (mine >= a.width) return;
  f32 total = 0.0f;
  UNROLL
  for (i32 w = 0; w < MEAN_WARPS; w++) total += sums[w * 256 + thread_x()];
  store_f32(a.out + (i64)sequence * a.width + mine, length ? total * reciprocal((f32)length) : f32(0.0f));
}

#ifdef ON_HOST
inline shim::Cost mean_cost(const std::vector<i32>& lengths, u64 width) {
  shim::Cost c;
  const u64 parts = (width + 255) / 256;
  for (u64 length : lengths) {
    c.read += length * width * 2 + parts * MEAN_WARPS * 8;
    c.written += width * 4;
    c.flops += length * width + width * (MEAN_WARPS + (length ? 2 : 0));
  }
  return c;
}
#endif
