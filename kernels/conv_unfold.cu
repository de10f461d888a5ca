// The windows of a convolution over packed sequences, side by side, so that the convolution is a product:
// out[t][k] = x[t + k - taps / 2] where that token is of the same sequence, else zeros ("same" padding, each sequence alone).
//
// Why this way. DeBERTa-v2-xlarge convolves the embeddings once a forward pass; a copy of 2 * taps bytes a number and the
// library's product take less time to run, and much less to write, than a kernel of its own. Groups of channels are zeros in
// the weight matrix. The kernel needs only each token's place in its sequence: places count up by one within a sequence and
// start at 0 after it, so `place[t + d] == place[t] + d` holds within the sequence and nowhere else.
//
// Assumes: width a multiple of 8; taps odd; pointers aligned to 16 bytes.
//
// Launch: block = 128, grid = (ceil(rows / 4), taps); a warp a row and tap; no shared memory.
//
// Bytes: read 8 a row and tap whose row lies within the batch (none where the tap leads past either end of it), 2 w for each token
// found; written 2 w a row and tap. FLOPs: none.
#include "rows.h"

struct UnfoldArgs {
  const u16* x;      // [rows][width]
  const i32* place;  // [rows] place in the sequence, from 0
  u16* out;          // [rows][taps][width]
  i32 rows, width, taps;
};

KERNEL(ROW_THREADS) conv_unfold(UnfoldArgs a) {
  const i32 row = block_x() * ROW_WARPS + thread_x() / 32, lane = thread_x() % 32, tap = block_y(), shift = tap - a.taps / 2;
  if (row >= a.rows) return;
  const i32 from = row + shift;
  const bool inside = from >= 0 && from < a.rows && load_uniform(a.place + from) == load_uniform(a.place + row) + shift;
  u16* const to = a.out + ((i64)row * a.taps + tap) * a.width;
  const Vec16 zero = {{0, 0, 0, 0}};
  for (i32 c = lane; c < a.width / 8; c += 32) store_16(to + c * 8, inside ? load_16(a.x + (i64)from * a.width + c * 8) : zero);
}

#ifdef ON_HOST
inline shim::Cost unfold_cost(const std::vector<i32>& lengths, u64 width, i32 taps) {
  shim::Cost c;
  i64 rows = 0;
  for (i64 length : lengths) rows += length;
  for (i64 shift = -(taps / 2); shift <= taps / 2; shift++) {
    const i64 off = shift < 0 ? -shift : shift;
    c.read += 8 * (rows - std::min(off, rows));
    for (i64 length : lengths) c.read += std::max<i64>(length - off, 0) * 2 * width;
  }
  c.written = rows * taps * 2 * width;
  return c;
}
#endif
