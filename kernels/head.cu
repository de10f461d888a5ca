// The classification head over one row a sequence: pooled = f(W x + b), logits = C pooled + c, and how many logits are not finite.
//
// Why this way. A batch has some hundred sequences, and a product with so few rows is bound by reading W. In `pooler` a warp
// owns one output, reads its row of W once for eight sequences, and sums in f32; the pooled vector stays f32. In `classifier` a
// warp owns one logit. Logits that are not finite are counted on the device: the engine reads one number and knows whether the
// batch must be repeated in the f32 variant; nothing is clamped, nothing is silent.
//
// Assumes: width a multiple of 8; pointers aligned to 16 bytes; the counter is cleared before the batch.
//
// Launch: pooler: block = 128, grid = (ceil(width / 4), ceil(sequences / 8)). classifier: block = 128, grid = (ceil(labels / 4), sequences).
//
// Bytes: pooler 2 w w for each eight sequences and 64 w for its bias, which every lane reads; 2 w w a sequence (from cache), 4 w a
// sequence out; classifier (2 w + 4 w) and 2 for its bias a logit, 4 out. FLOPs: pooler 2 w w a sequence, 1 and the function an
// output, and 160 for each of its eight sums over the warp; classifier 2 w + 161 a logit.
#include "functions.h"
#include "rows.h"

constexpr i32 POOLER_ROWS = 8;

struct PoolerArgs {
  const u16* x;       // [sequences][width]
  const u16* weight;  // [width][width], a row an output
  const u16* bias;    // [width]
  float* out;         // [sequences][width]
  i32 sequences, width;
  i32 function;       // ACT_*
};

KERNEL(ROW_THREADS) pooler(PoolerArgs a) {
  const i32 output = block_x() * ROW_WARPS + thread_x() / 32, lane = thread_x() % 32, first = block_y() * POOLER_ROWS;
  if (output >= a.width) return;
  f32 sums[POOLER_ROWS];
  UNROLL
  for (i32 r = 0; r < POOLER_ROWS; r++) sums[r] = 0.0f;
  for (i32 c = lane; c < a.width / 8; c += 32) {
    f32 w[8];
    load_8(w, a.weight + (i64)output * a.width + c * 8);
    UNROLL
    for (i32 r = 0; r < POOLER_ROWS; r++) {
      if (first + r >= a.sequences) continue;
      f32 x[8];
      load_8(x, a.x + (i64)(first + r) * a.width + c * 8);
      UNROLL
      for (i32 i = 0; i < 8; i++) sums[r] = fused(w[i], x[i], sums[r]);
    }
  }
  const f32 bias = half_to_f32(load_u16(a.bias + output));
  UNROLL
  for (i32 r = 0; r < POOLER_ROWS; r++) {
    const f32 sum = warp_sum(sums[r]);
    if (lane == r && first + r < a.sequences) store_f32(a.out + (i64)(first + r) * a.width + output, activate(sum + bias, a.function));
  }
}

struct ClassifierArgs {
  const float* pooled;  // [sequences][width]
  const u16* weight;    // [labels][width]
  const u16* bias;      // [labels]
  float* logits;        // [sequences][labels]
  u32* not_finite;      // a counter
  i32 labels, width;
};

KERNEL(ROW_THREADS) classifier(ClassifierArgs a) {
  const i32 label = block_x() * ROW_WARPS + thread_x() / 32, lane = thread_x() % 32, sequence = block_y();
  if (label >= a.labels) return;
  f32 sum = 0.0f;
  for (i32 c = lane; c < a.width / 8; c += 32) {
    f32 w[8], x[8];
    load_8(w, a.weight + (i64)label * a.width + c * 8);
    load_8(x, a.pooled + (i64)sequence * a.width + c * 8);
    UNROLL
    for (i32 i = 0; i < 8; i++) sum = fused(w[i], x[i], sum);
  }
  sum = warp_sum(sum);
  if (lane != 0) return;
  const f32 logit = sum + half_to_f32(load_u16(a.bias + label));
  store_f32(a.logits + (i64)sequence * a.labels + label, logit);
  if (!(magnitude(logit) <= 3.40282347e38f)) count_one(a.not_finite);
}

#ifdef ON_HOST
// `negative` of the pooled numbers are below zero before the function.
inline shim::Cost pooler_cost(u64 sequences, u64 width, i32 function, u64 negative) {
  const u64 groups = (sequences + POOLER_ROWS - 1) / POOLER_ROWS, numbers = sequences * width;
  const u64 functions = (numbers - negative) * activate_flops(function, false) + negative * activate_flops(function, true);
  return {groups * width * (2 * width + 64) + sequences * width * 2 * width, numbers * 4,
          numbers * 2 * width + groups * width * POOLER_ROWS * 160 + numbers + functions, 0};
}
inline shim::Cost classifier_cost(u64 sequences, u64 labels, u64 width) {
  const u64 logits = sequences * labels;
  return {logits * (6 * width + 2), logits * 4, logits * (2 * width + 160 + 1), 0};
}
#endif
