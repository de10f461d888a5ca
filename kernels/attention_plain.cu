// Fused attention without disentangled terms over packed sequences: BERT and RoBERTa (no bias), T5 (a bias for each head and
// distance).
//
//   out_i = sum_j softmax_j(scale q_i . k_j + bias[head][i - j]) v_j
//
// Why this way: the tile of attention.h as it stands; the bias of one head is a small table by distance in shared memory, so a
// checkpoint's buckets are expanded once at load, and logarithmic buckets need no code here. A block keeps the bias for its
// life, and its groups share it.
//
// Assumes: d = 32 or 64; the bias no longer changes from distance `reach` on, either way, or no sequence is so long (T5 with 32
// buckets up to 128: reach = 129); scale and bias carry log2(e). Pointers are aligned to 16 bytes.
//
// Launch: block = 128 * groups (1 to 3), grid = (blocks, heads); shared memory = plain_layout(...).bytes. The rest as in
// attention_disentangled.cu.
//
// Bytes: 2 * d * 2 a key and item, 4 * d a query, 4 * (2 reach - 1) a block with a bias. FLOPs: 4 d a pair of query and key on
// tensor cores, both rounded up to 64; 4 a pair beside them, 5 with a bias. Exactly: see below.
#include "attention.h"

struct PlainArgs {
  const u16* qkv;      // [tokens][3][heads][d]
  const float* bias;   // that of head 0 and distance 0, times log2(e); null without
  u16* out;            // [tokens][heads][d]
  const i32* cu;       // [sequences + 1] first token of each
  const i32* tiles;    // [n_tiles][2] sequence and first query, a multiple of 64
  const i32* n_tiles;  // a device number
  i32 heads;
  i32 reach;           // 0 without a bias
  i32 bias_stride;     // numbers from head to head
  i32 stages;          // 1 or 2
  float scale;         // log2(e) / sqrt(d); log2(e) for T5, which does not scale
};

// Shared memory of a block, in halves: the bias, then a region for each group.
struct PlainLayout {
  i32 groups, stage, queries, group, bytes;
};
DEVICE PlainLayout plain_layout(i32 d, i32 reach, i32 stages, i32 groups) {
  PlainLayout l;
  l.groups = reach ? (2 * (2 * reach - 1) + 63) / 64 * 64 : 0;
  l.stage = 2 * TILE * d;
  l.queries = stages * l.stage;
  l.group = l.queries + TILE * d;
  l.bytes = 2 * (l.groups + groups * l.group);
  return l;
}

template <i32 D, bool BIAS> DEVICE void attend_plain(const PlainArgs& a) {
  SHARED_MEMORY(memory);
  const Place home = place();
  const i32 groups = block_threads() / GROUP_THREADS, head = block_y(), most = a.reach - 1;
  const PlainLayout layout = plain_layout(D, BIAS ? a.reach : 0, a.stages, groups);
  float* const biases = (float*)memory;
  u16* const region = (u16*)memory + layout.groups + home.group * layout.group;
  u16* const own = region + layout.queries + home.warp * 16 * D;
  if (BIAS) {
    const float* const from = a.bias + (i64)head * a.bias_stride - most;
    for (i32 x = thread_x(); x < 2 * a.reach - 1; x += block_threads()) biases[x] = (float)load_f32(from + x);
    barrier_block();
  }
  const i32 n_tiles = load_uniform(a.n_tiles), stride = 3 * a.heads * D;
  for (i32 item = block_x() * groups + home.group; item < n_tiles; item += grid_x() * groups) {
    const i32 sequence = load_uniform(a.tiles + 2 * item), q0 = load_uniform(a.tiles + 2 * item + 1);
    const i32 first = load_uniform(a.cu + sequence), length = load_uniform(a.cu + sequence + 1) - first;
    const u16* const rows = a.qkv + (i64)first * stride + head * D;
    const Source q = {rows, stride, length}, k = {rows + a.heads * D, stride, length}, v = {rows + 2 * a.heads * D, stride, length};
    auto bring = [&](i32 tile) {
      u16* const stage = region + (tile % a.stages) * layout.stage;
      copy_rows<D, TILE, GROUP_THREADS>(stage, k, tile * TILE, home.local);
      copy_rows<D, TILE, GROUP_THREADS>(stage + TILE * D, v, tile * TILE, home.local);
      copy_commit();
    };
    copy_rows<D, 16, 32>(own, q, q0 + home.warp * 16, home.lane);
    u32 queries[D / 16][4];
    Running<D> run;
    start(run);
    const i32 key_tiles = (length + TILE - 1) / TILE;
    i32 brought = 0;
    ROLLED
    for (i32 tile = 0; tile < key_tiles; tile++) {
      const Place at = recomputed(home);
      const i32 j0 = tile * TILE;
      // As many tiles ahead as there are stages; the first time together with the queries.
      ROLLED
      for (; brought < key_tiles && brought < tile + a.stages; brought++) bring(brought);
      if (brought > tile + 1)
        copy_wait<1>();
      else
        copy_wait<0>();
      barrier_group(1 + at.group, GROUP_THREADS);
      const u16* const keys = region + (tile % a.stages) * layout.stage;
      if (tile == 0) load_left<D>(queries, own, 0, at.lane);
      f32 scores[8][4];
      score<D>(scores, queries, keys, recomputed(at.lane));
      UNROLL
      for (i32 n = 0; n < 8; n++) {
        UNROLL
        for (i32 x = 0; x < 4; x++) {
          if (BIAS) {
            const i32 d = q0 + at.warp * 16 + at.row + 8 * (x >> 1) - (j0 + n * 8 + at.column + (x & 1));
            scores[n][x] = fused(scores[n][x], a.scale, biases[most + (d < -most ? -most : d > most ? most : d)]);
          } else {
            scores[n][x] = scores[n][x] * a.scale;
          }
        }
      }
      if (j0 + TILE > length) mask(scores, length - j0, at.column);
      absorb<D>(run, scores, keys + TILE * D, recomputed(at.lane));
      barrier_group(1 + at.group, GROUP_THREADS);  // the stage may be overwritten
    }
    const i32 row0 = q0 + home.warp * 16;
    finish<D>(run, a.out + ((i64)(first + row0) * a.heads + head) * D, a.heads * D, length - row0, home);
  }
}

KERNEL(GROUP_THREADS* MAX_GROUPS) attention_plain_d64(PlainArgs a) { attend_plain<64, false>(a); }
KERNEL(GROUP_THREADS* MAX_GROUPS) attention_plain_d32(PlainArgs a) { attend_plain<32, false>(a); }
KERNEL(GROUP_THREADS* MAX_GROUPS) attention_plain_d64_bias(PlainArgs a) { attend_plain<64, true>(a); }
KERNEL(GROUP_THREADS* MAX_GROUPS) attention_plain_d32_bias(PlainArgs a) { attend_plain<32, true>(a); }

#ifdef ON_HOST
inline shim::Cost plain_cost(u64 d, bool bias, const PlainArgs& a, u64 grid_x, u64 groups, const std::vector<i32>& lengths) {
  shim::Cost c;
  u64 items = 0, pairs = 0, tokens = 0, keys = 0;
  for (const u64 length : lengths) {
    const u64 tiles = (length + TILE - 1) / TILE;
    items += tiles;
    pairs += tiles * tiles;
    keys += tiles * length;
    tokens += length;
  }
  const u64 heads = a.heads, blocks = grid_x * heads;
  c.read = blocks * ((bias ? (2 * a.reach - 1) * 4 : 0) + groups * WARPS * 4) + heads * (items * WARPS * 16 + keys * 4 * d + tokens * 2 * d);
  c.written = heads * tokens * 2 * d;
  c.tensor = heads * pairs * TILE * TILE * 4 * d;
  c.flops = heads * (pairs * TILE * TILE * (bias ? 2 : 1) + absorb_flops(pairs, d) + finish_flops(items, tokens, d));
  return c;
}
#endif
