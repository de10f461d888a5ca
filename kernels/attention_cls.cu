// Attention of each sequence's first token only: what the last layer needs where the head reads that token alone.
//
//   out = sum_j softmax_j(score(0, j)) v_j, with the scores of attention_disentangled.cu or attention_plain.cu
//
// Why this way. The head reads one row, so the last layer computes keys and values for all tokens but queries, attention,
// projection and feed-forward for one row a sequence: exact, and 20/24 of a layer saved. One query has no use for tensor cores:
// d / 8 lanes share a key (16 bytes each), each such team keeps its own online softmax over every key that is its turn, and the
// teams of a block are merged at the end. No length limit, and shared memory does not grow with the length.
//
// Assumes: as the two kernels named; `slot` of the distances 0, -1, ... -(reach - 1) lies behind lut[0], lut[-1], ...; a sequence
// without tokens (a slot of a captured graph that this batch does not use) gets zeros. Pointers are aligned to 16 bytes.
//
// Launch: block = 128, grid = (sequences, heads); shared memory = 128 * 8 * 4 + 256 * 4 bytes.
//
// Bytes: 4 d a key, 4 d more for the two tables, 4 with a bias, 2 d a query and 2 d an output. FLOPs: 2 d a key for each
// product of its score, 2 d for its value, 6 and the team's sum beside them. Exactly: see below.
#include "rows.h"

constexpr i32 CLS_THREADS = 128;
constexpr i32 CLS_SHARED_BYTES = CLS_THREADS * 8 * 4 + 2 * CLS_THREADS * 4;

struct ClsArgs {
  const u16* q;      // [sequences][heads][d]
  const u16* k;      // head 0 of token 0
  const u16* v;      // the same
  const u16* pk;     // [heads][table_slots][d], pre-scaled by log2(e) / sqrt(3 d)
  const u16* pq;     // the same
  const u16* lut;    // the slot of distance 0
  const float* bias; // of head 0 and distance 0, times log2(e); null without; only without tables
  u16* out;          // [sequences][heads][d]
  const i32* cu;     // [sequences + 1] first token of each
  i32 heads, kv_stride;  // halves from token to token of k and v
  i32 table_slots, reach, bias_stride;
  float scale;
};

DEVICE f32 dot(const f32 (&a)[8], const f32 (&b)[8], f32 sum) {
  UNROLL
  for (i32 i = 0; i < 8; i++) sum = fused(a[i], b[i], sum);
  return sum;
}

template <i32 D, bool TABLES> DEVICE void attend_cls(const ClsArgs& a) {
  SHARED_MEMORY(memory);
  constexpr i32 LANES = D / 8, TEAMS = CLS_THREADS / LANES;
  const i32 thread = thread_x(), team = thread / LANES, part = thread % LANES, head = block_y(), sequence = block_x();
  const i32 first = load_uniform(a.cu + sequence), length = load_uniform(a.cu + sequence + 1) - first;
  f32 q[8];
  unpack_halves(q, load_16(a.q + ((i64)sequence * a.heads + head) * D + part * 8));
  f32 out[8], top = -infinity(), total = 0.0f;
  UNROLL
  for (i32 i = 0; i < 8; i++) out[i] = 0.0f;
  // The lanes of a warp stay together for the shuffles, also past the end.
  for (i32 j0 = 0; j0 < length; j0 += TEAMS) {
    const i32 j = j0 + team;
    const bool valid = j < length;
    f32 score = 0.0f, value[8];
    if (valid) {
      const i64 row = (i64)(first + j) * a.kv_stride + head * D + part * 8;
      f32 key[8];
      unpack_halves(key, load_16(a.k + row));
      score = dot(q, key, 0.0f) * a.scale;
      if (TABLES) {
        const i32 slot = load_u16(a.lut - (j < a.reach ? j : a.reach - 1));
        const i64 entry = ((i64)head * a.table_slots + slot) * D + part * 8;
        f32 position[8];
        unpack_halves(position, load_16(a.pk + entry));
        score = dot(q, position, score);
        unpack_halves(position, load_16(a.pq + entry));
        score = dot(key, position, score);
      }
      unpack_halves(value, load_16(a.v + row));
    }
    UNROLL
    for (i32 m = 1; m < LANES; m *= 2) score += shuffle_xor(score, m);
    if (valid) {
      if (!TABLES && a.bias) score += load_f32(a.bias + (i64)head * a.bias_stride - (j < a.reach ? j : a.reach - 1));
      const f32 higher = larger(top, score), shrink = exp_base2(top - higher), weight = exp_base2(score - higher);
      top = higher;
      total = fused(total, shrink, weight);
      UNROLL
      for (i32 i = 0; i < 8; i++) out[i] = fused(weight, value[i], out[i] * shrink);
    }
  }
  // Every thread leaves its eight sums; then a thread for each number merges the teams in order.
  float* const sums = (float*)memory;
  float* const tops = sums + CLS_THREADS * 8;
  float* const totals = tops + CLS_THREADS;
  UNROLL
  for (i32 i = 0; i < 8; i++) sums[team * D + part * 8 + i] = (float)out[i];
  if (part == 0) {
    tops[team] = (float)top;
    totals[team] = (float)total;
  }
  barrier_block();
  if (thread >= D / 2) return;
  const i32 teams = length < TEAMS ? length : TEAMS;
  f32 highest = -infinity(), sum = 0.0f, low = 0.0f, high = 0.0f;
  for (i32 t = 0; t < teams; t++) highest = larger(highest, tops[t]);
  for (i32 t = 0; t < teams; t++) {
    const f32 weight = exp_base2(f32(tops[t]) - highest);
    sum = fused(totals[t], weight, sum);
    low = fused(sums[t * D + 2 * thread], weight, low);
    high = fused(sums[t * D + 2 * thread + 1], weight, high);
  }
  const f32 scale = length ? reciprocal(sum) : f32(0.0f);
  store_u32(a.out + ((i64)sequence * a.heads + head) * D + 2 * thread, pack_halves(low * scale, high * scale));
}

KERNEL(CLS_THREADS) attention_cls_disentangled_d64(ClsArgs a) { attend_cls<64, true>(a); }
KERNEL(CLS_THREADS) attention_cls_disentangled_d32(ClsArgs a) { attend_cls<32, true>(a); }
KERNEL(CLS_THREADS) attention_cls_plain_d64(ClsArgs a) { attend_cls<64, false>(a); }
KERNEL(CLS_THREADS) attention_cls_plain_d32(ClsArgs a) { attend_cls<32, false>(a); }

#ifdef ON_HOST
inline shim::Cost cls_cost(u64 d, bool tables, bool bias, u64 heads, const std::vector<i32>& lengths) {
  shim::Cost c;
  u64 keys = 0, teams = 0, rounds = 0, divisions = 0;
  const u64 lanes = d / 8, most = CLS_THREADS / lanes, sums = lanes == 8 ? 3 : 2;
  for (const u64 length : lengths) {
    keys += length;
    divisions += length > 0;
    teams += length < most ? length : most;
    rounds += (length + most - 1) / most;
  }
  const u64 n = lengths.size();
  c.read = heads * (n * (CLS_THREADS / 32 * 8 + CLS_THREADS * 16) + keys * (4 * d + (tables ? 4 * d + 2 * lanes : 0) + (bias ? 4 * lanes : 0)));
  c.written = heads * n * 2 * d;
  c.flops = heads * (keys * ((tables ? 6 : 2) * d + lanes + (bias ? lanes : 0) + lanes * (4 + 2) + 3 * d) + rounds * CLS_THREADS * sums + d / 2 * (teams * 8 + n * 2 + divisions));
  return c;
}
#endif
