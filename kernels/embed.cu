// The first hidden state of packed tokens.
//
//   gather_rows:  out[t] = table[index[t]]
//   embed_norm:   out[t] = LayerNorm(words[id] + positions[p] + types[type])
//
// Why embed_norm runs for each batch. Where a checkpoint has neither absolute positions nor token types at its input (every public
// DeBERTa-v3), the normed embedding is a function of the id alone, and a batch could be one gather from a table that was normed at
// load. The engine does not do that: a row costs 2 w read and 2 w written either way, what the table saves is gain and offset (4 w,
// from cache) and some FLOPs of a kernel that waits for memory, and the f32 variant would need the table a second time, in f32
// (4 w a word, half a gigabyte for v3-large), or lose what it is for. At 8,192 tokens of v3-large the whole step moves 34 MB of the
// pass's ten gigabytes or so. The host's checks do gather from such a table, which shows that both ways give the same.
// The table of positions or of types may be null. A projection of narrower embeddings is linear, so the engine projects the
// three tables at load and needs no kernel for it. gather_rows picks the first token of each sequence for the last layer and heads.
//
// Assumes: width a multiple of 8, at most 2048 for embed_norm; pointers aligned to 16 bytes; indices within their tables (the
// engine has checked ids). embed_norm writes the f32 copy of the hidden state only where `wide` is given.
//
// Launch: block = 128, grid = ceil(rows / 4); a warp a row; no shared memory. embed_norm_512, _1024 and _2048 take widths up to
// their number.
//
// Bytes: gather_rows 4 + 4 w a row. embed_norm (4 + 2 w) for each table given, 4 w for gain and offset, 2 w out and 4 w more
// for the wide copy. FLOPs: none; 7 w + 480 a row and w for each table after the first.
#include "rows.h"

struct GatherArgs {
  const u16* table;  // [..][width]
  const i32* index;  // [rows]
  u16* out;          // [rows][width]
  i32 rows, width;
};

KERNEL(ROW_THREADS) gather_rows(GatherArgs a) {
  const i32 row = block_x() * ROW_WARPS + thread_x() / 32, lane = thread_x() % 32;
  if (row >= a.rows) return;
  const u16* const from = a.table + (i64)load_uniform(a.index + row) * a.width;
  u16* const to = a.out + (i64)row * a.width;
  for (i32 c = lane; c < a.width / 8; c += 32) store_16(to + c * 8, load_16(from + c * 8));
}

struct EmbedArgs {
  const u16* words;      // [vocabulary][width]
  const u16* positions;  // [longest][width], or null
  const u16* types;      // [types][width], or null
  const i32* ids;        // [rows]
  const i32* position;   // [rows] place in the sequence, from 0; read where `positions` is given
  const i32* type;       // [rows]; read where `types` is given
  const u16* gain;       // [width]
  const u16* offset;     // [width]
  u16* out;              // [rows][width]
  float* wide;           // [rows][width], or null
  i32 rows, width;
  float eps;
};

template <i32 CHUNKS> DEVICE void embed_norm(const EmbedArgs& a) {
  const i32 row = block_x() * ROW_WARPS + thread_x() / 32, lane = thread_x() % 32;
  if (row >= a.rows) return;
  const u16* const word = a.words + (i64)load_uniform(a.ids + row) * a.width;
  const u16* const position = a.positions ? a.positions + (i64)load_uniform(a.position + row) * a.width : nullptr;
  const u16* const type = a.types ? a.types + (i64)load_uniform(a.type + row) * a.width : nullptr;
  Row<CHUNKS> r;
  UNROLL
  for (i32 c = 0; c < CHUNKS; c++) {
    const i32 at = (c * 32 + lane) * 8;
    if (at >= a.width) continue;
    load_8(r.x[c], word + at);
    f32 more[8];
    if (position) {
      load_8(more, position + at);
      add_8(r.x[c], more);
    }
    if (type) {
      load_8(more, type + at);
      add_8(r.x[c], more);
    }
  }
  normalise<CHUNKS>(r, a.width, a.gain, a.offset, a.eps, lane);
  UNROLL
  for (i32 c = 0; c < CHUNKS; c++) {
    const i32 at = (c * 32 + lane) * 8;
    if (at >= a.width) continue;
    store_8(a.out + (i64)row * a.width + at, r.x[c]);
    if (a.wide) store_8(a.wide + (i64)row * a.width + at, r.x[c]);
  }
}

KERNEL(ROW_THREADS) embed_norm_512(EmbedArgs a) { embed_norm<2>(a); }
KERNEL(ROW_THREADS) embed_norm_1024(EmbedArgs a) { embed_norm<4>(a); }
KERNEL(ROW_THREADS) embed_norm_2048(EmbedArgs a) { embed_norm<8>(a); }

#ifdef ON_HOST
inline shim::Cost gather_cost(u64 rows, u64 width) { return {rows * (4 + 2 * width), rows * 2 * width, 0, 0}; }
inline shim::Cost embed_cost(u64 rows, u64 width, u64 tables, bool wide) {
  return {rows * (tables * (4 + 2 * width) + 4 * width), rows * width * (wide ? 6 : 2), normalise_flops(rows, width) + rows * width * (tables - 1), 0};
}
#endif
