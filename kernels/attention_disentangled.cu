// Fused attention with relative positions, as DeBERTa-v2 and v3 define it (He et al., arXiv 2006.03654), over packed sequences.
//
//   score(i, j) = q_i . k_j + q_i . PK[s] + k_j . PQ[s],  s = slot(i - j);  out_i = sum_j softmax_j(score(i, j) / sqrt(3 d)) v_j
//
// The published transposition and sign flip of the position-to-content term cancel, so one slot serves both terms.
//
// Why this way. Every public implementation writes the products with PK and PQ to global memory and gathers from there, one
// element at a time. Within a tile of 64 queries and 64 keys the slots are neighbours: 16 queries against 64 keys meet at most 79
// of them. So each warp multiplies its 16 rows with 80 rows of the table on tensor cores (a band), keeps the 16 x 80 result in
// shared memory as halves, and reads it along the diagonals. Nothing but q, k, v, the tables and the output touches global
// memory. In the linear zone (|i - j| <= linear) the place in the band is an affine function of i and j; beyond, where
// distances share logarithmic buckets, it comes from a table of slots.
//   The tables are resident: the rows that the longest sequence of the launch can meet lie in shared memory for the life of
// the block, and up to three groups share them. Where they do not fit, the streaming variant brings the 128 rows that a tile
// needs together with its keys. PK and PQ come pre-scaled by log2(e) / sqrt(3 d), which keeps them small in half precision and
// makes the softmax base 2; a term that a model lacks is a table of zeros and another scale.
//
// Assumes: d = 32 or 64; slot() is monotone and steps by at most 1 (check it at load: it holds for M - 1 > e * B / 2); from
// distance `reach` on, either way, it no longer changes, or no sequence is so long; `slots` covers every distance of the longest
// sequence rounded up to a multiple of 64 tokens. Pointers are aligned to 16 bytes.
//   Rows of a band past the last slot hold whatever lies behind the table in shared memory (always the block's own memory);
// no distance leads there, and a column of a product depends on no other.
//
// Launch: block = 128 * groups (1 to 3), grid = (blocks, heads), any number of blocks; shared memory = layout(...).bytes.
// Items are taken in order, so put the longest sequences first. `stages` 2 brings the next keys while the present ones are
// worked on; 1 needs less memory.
//
// Bytes: d * 4 * slots a block where resident; 2 * d * 2 a key and item, 4 * d a query; streaming 4 * d * (rows of the
// slice, at most 128) a tile. FLOPs: 9 d a pair of query and key on tensor cores, with both rounded up to 64: 2 d for the
// product, 2 d for the values, 2.5 d for each band (a plain attention has 4 d); 6 a pair beside them. Exactly: see below.
#include "attention.h"

constexpr i32 BAND = 80;          // slots that 16 rows of one side meet with 64 of the other, rounded up to 16
constexpr i32 BAND_STRIDE = 88;   // halves from row to row of a band: 80 would put diagonals into the same banks
constexpr i32 SLICE = 128;        // slots that a whole tile meets, rounded up

struct DisentangledArgs {
  const u16* qkv;      // [tokens][3][heads][d]
  const u16* pk;       // [heads][table_slots][d], pre-scaled
  const u16* pq;       // the same
  const u16* lut;      // the slot of distance 0; slots of -(reach - 1) to reach - 1 lie around it
  u16* out;            // [tokens][heads][d]
  const i32* cu;       // [sequences + 1] first token of each
  const i32* tiles;    // [n_tiles][2] sequence and first query, a multiple of 64
  const i32* n_tiles;  // a device number, so that a captured graph serves every batch of its size
  i32 heads, table_slots;
  i32 first_slot, slots;  // those in use by this launch
  i32 reach, linear;      // `linear`: B / 2, or M - 1 without buckets
  i32 stages;             // 1 or 2
  float scale;            // log2(e) / sqrt(3 d)
};

// Shared memory of a block, in halves: tables, slots of distances, then a region for each group.
struct DisentangledLayout {
  i32 lut, groups;                // where they start
  i32 stage, band, band_p, group; // sizes of a stage and of the warps' own bands, where the shared band starts, size of a region
  i32 bytes;
};
DEVICE DisentangledLayout disentangled_layout(i32 d, bool resident, i32 slots, i32 reach, i32 stages, i32 groups) {
  DisentangledLayout l;
  l.lut = resident ? 2 * slots * d : 0;
  l.groups = (l.lut + 2 * reach - 1 + 63) / 64 * 64;
  l.stage = (2 * TILE + (resident ? 0 : 2 * SLICE)) * d;
  l.band = stages * l.stage;
  l.band_p = l.band + WARPS * 16 * BAND_STRIDE;
  l.group = l.band_p + TILE * BAND_STRIDE;
  l.bytes = 2 * (l.groups + groups * l.group);
  return l;
}

DEVICE i32 slot_of(const u16* lut, i32 reach, i32 distance) {
  const i32 most = reach - 1;
  return lut[distance < -most ? -most : distance > most ? most : distance];
}

// band = 16 rows times the 80 table rows from `row0` on.
template <i32 D> DEVICE void band_product(u16* band, const u32 (&rows)[D / 16][4], const u16* table, i32 row0, const Place& at) {
  const u16* from[D / 16];
  UNROLL
  for (i32 k = 0; k < D / 16; k++) from[k] = table + swizzled<D>(row0 + (at.lane & 7) + ((at.lane >> 4) << 3), k * 2 + ((at.lane >> 3) & 1));
  u16* to = band + at.row * BAND_STRIDE + at.column;
  UNROLL
  for (i32 n = 0; n < BAND / 16; n++) {
    f32 left[4] = {0.0f, 0.0f, 0.0f, 0.0f}, right[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    UNROLL
    for (i32 k = 0; k < D / 16; k++) {
      u32 b[4];
      load_matrices<false>(b, from[k] + n * 16 * D);
      mma_16x8x16(left, rows[k], b[0], b[1]);
      mma_16x8x16(right, rows[k], b[2], b[3]);
    }
    *(u32*)&to[n * 16] = pack_halves(left[0], left[1]);
    *(u32*)&to[8 * BAND_STRIDE + n * 16] = pack_halves(left[2], left[3]);
    *(u32*)&to[n * 16 + 8] = pack_halves(right[0], right[1]);
    *(u32*)&to[8 * BAND_STRIDE + n * 16 + 8] = pack_halves(right[2], right[3]);
  }
}

// Adds both position terms where every distance of the tile has a slot of its own: straight reads along diagonals.
DEVICE void add_linear(f32 (&scores)[8][4], const u16* own, const u16* shared, float scale, const Place& at) {
  const u16* c = own + at.row * BAND_STRIDE + at.row + 63 - at.column;
  const u16* p = shared + at.column * BAND_STRIDE + (at.warp * 16 + at.row) - at.column + 15;
  UNROLL
  for (i32 n = 0; n < 8; n++) {
    UNROLL
    for (i32 q = 0; q < 4; q++) {
      const i32 odd = q & 1, down = 8 * (q >> 1);
      const f32 bias = half_to_f32(c[down * (BAND_STRIDE + 1) - n * 8 - odd]) + half_to_f32(p[(n * 8 + odd) * BAND_STRIDE + down - (n & 1) * 8 - odd]);
      scores[n][q] = fused(scores[n][q], scale, bias);
    }
  }
}

// The same anywhere. `distance` is that of the tile's first query and first key.
DEVICE void add_bucketed(f32 (&scores)[8][4], const u16* own, const u16* shared, const u16* lut, const DisentangledArgs& a, i32 distance, const Place& at) {
  const i32 own_first = slot_of(lut, a.reach, distance + at.warp * 16 - 63);
  UNROLL
  for (i32 n = 0; n < 8; n++) {
    const i32 shared_first = slot_of(lut, a.reach, distance - (n / 2 * 16 + 15));
    UNROLL
    for (i32 q = 0; q < 4; q++) {
      const i32 row = at.row + 8 * (q >> 1), column = n * 8 + at.column + (q & 1);
      const i32 slot = slot_of(lut, a.reach, distance + at.warp * 16 + row - column);
      const f32 bias = half_to_f32(own[row * BAND_STRIDE + slot - own_first]) + half_to_f32(shared[column * BAND_STRIDE + slot - shared_first]);
      scores[n][q] = fused(scores[n][q], a.scale, bias);
    }
  }
}

template <i32 D, bool RESIDENT> DEVICE void attend_disentangled(const DisentangledArgs& a) {
  SHARED_MEMORY(memory);
  const Place home = place();
  const i32 groups = block_threads() / GROUP_THREADS, head = block_y();
  const DisentangledLayout layout = disentangled_layout(D, RESIDENT, a.slots, a.reach, a.stages, groups);
  u16* const base = (u16*)memory;
  u16* const lut_store = base + layout.lut;
  const u16* const lut = lut_store + a.reach - 1;
  u16* const region = base + layout.groups + home.group * layout.group;
  u16* const own = region + layout.band + home.warp * 16 * BAND_STRIDE;  // this warp's content-to-position band; its queries before
  u16* const shared = region + layout.band_p;                          // the group's position-to-content bands

  const i64 table = ((i64)head * a.table_slots + a.first_slot) * D;
  const Source pk = {a.pk + table, D, a.slots}, pq = {a.pq + table, D, a.slots};
  if (RESIDENT) {
    for (i32 x = thread_x(); x < a.slots * (D / 8); x += block_threads()) {
      const i32 row = x / (D / 8), chunk = x % (D / 8);
      copy_async_16(base + swizzled<D>(row, chunk), pk.first + row * D + chunk * 8, true);
      copy_async_16(base + a.slots * D + swizzled<D>(row, chunk), pq.first + row * D + chunk * 8, true);
    }
    copy_commit();
  }
  for (i32 x = thread_x(); x < 2 * a.reach - 1; x += block_threads()) lut_store[x] = load_u16(a.lut - (a.reach - 1) + x) - a.first_slot;
  copy_wait<0>();
  barrier_block();

  const i32 n_tiles = load_uniform(a.n_tiles), stride = 3 * a.heads * D;
  for (i32 item = block_x() * groups + home.group; item < n_tiles; item += grid_x() * groups) {
    const i32 sequence = load_uniform(a.tiles + 2 * item), q0 = load_uniform(a.tiles + 2 * item + 1);
    const i32 first = load_uniform(a.cu + sequence), length = load_uniform(a.cu + sequence + 1) - first;
    const u16* const rows = a.qkv + (i64)first * stride + head * D;
    const Source q = {rows, stride, length}, k = {rows + a.heads * D, stride, length}, v = {rows + 2 * a.heads * D, stride, length};
    // Brings everything of the tile of keys from j0 on into its stage.
    auto bring = [&](i32 tile) {
      u16* const stage = region + (tile % a.stages) * layout.stage;
      copy_rows<D, TILE, GROUP_THREADS>(stage, k, tile * TILE, home.local);
      copy_rows<D, TILE, GROUP_THREADS>(stage + TILE * D, v, tile * TILE, home.local);
      if (!RESIDENT) {
        const i32 slice = slot_of(lut, a.reach, q0 - tile * TILE - 63);
        copy_rows<D, SLICE, GROUP_THREADS>(stage + 2 * TILE * D, pk, slice, home.local);
        copy_rows<D, SLICE, GROUP_THREADS>(stage + (2 * TILE + SLICE) * D, pq, slice, home.local);
      }
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
      const i32 j0 = tile * TILE, distance = q0 - j0;
      // As many tiles ahead as there are stages; the first time together with the queries.
      ROLLED
      for (; brought < key_tiles && brought < tile + a.stages; brought++) bring(brought);
      if (brought > tile + 1)
        copy_wait<1>();
      else
        copy_wait<0>();
      barrier_group(1 + at.group, GROUP_THREADS);
      const u16* const keys = region + (tile % a.stages) * layout.stage;
      const u16* const pk_rows = RESIDENT ? base : keys + 2 * TILE * D;
      const u16* const pq_rows = RESIDENT ? base + a.slots * D : keys + (2 * TILE + SLICE) * D;
      const i32 slice = RESIDENT ? 0 : slot_of(lut, a.reach, distance - 63);
      if (tile == 0) {
        load_left<D>(queries, own, 0, at.lane);
        barrier_warp();  // all lanes have their queries before the band overwrites them
      }
      {
        u32 key_rows[D / 16][4];
        load_left<D>(key_rows, keys, at.warp * 16, at.lane);
        const i32 row0 = slot_of(lut, a.reach, distance - (at.warp * 16 + 15)) - slice;
        band_product<D>(shared + at.warp * 16 * BAND_STRIDE, key_rows, pq_rows, row0, at);
      }
      band_product<D>(own, queries, pk_rows, slot_of(lut, a.reach, distance + at.warp * 16 - 63) - slice, at);
      barrier_group(1 + at.group, GROUP_THREADS);
      f32 scores[8][4];
      score<D>(scores, queries, keys, recomputed(at.lane));
      if (distance - 63 >= -a.linear && distance + 63 <= a.linear)
        add_linear(scores, own, shared, a.scale, at);
      else
        add_bucketed(scores, own, shared, lut, a, distance, at);
      if (j0 + TILE > length) mask(scores, length - j0, at.column);
      absorb<D>(run, scores, keys + TILE * D, recomputed(at.lane));
      barrier_group(1 + at.group, GROUP_THREADS);  // the stage and the bands may be overwritten
    }
    const i32 row0 = q0 + home.warp * 16;
    finish<D>(run, a.out + ((i64)(first + row0) * a.heads + head) * D, a.heads * D, length - row0, home);
  }
}

KERNEL(GROUP_THREADS* MAX_GROUPS) attention_disentangled_d64_resident(DisentangledArgs a) { attend_disentangled<64, true>(a); }
KERNEL(GROUP_THREADS* MAX_GROUPS) attention_disentangled_d64_streaming(DisentangledArgs a) { attend_disentangled<64, false>(a); }
KERNEL(GROUP_THREADS* MAX_GROUPS) attention_disentangled_d32_resident(DisentangledArgs a) { attend_disentangled<32, true>(a); }
KERNEL(GROUP_THREADS* MAX_GROUPS) attention_disentangled_d32_streaming(DisentangledArgs a) { attend_disentangled<32, false>(a); }

#ifdef ON_HOST
// How the engine launches, given the shared memory that a block of its device may have: resident tables first, then as many
// groups as fit (they hide each other's waits), then two stages. The order is a guess until a device has been measured.
struct DisentangledPlan {
  bool resident;
  i32 groups, stages, bytes;
};
inline DisentangledPlan disentangled_plan(i32 limit, i32 d, i32 slots, i32 reach) {
  const DisentangledPlan order[] = {{true, 3, 2, 0}, {true, 2, 2, 0}, {true, 3, 1, 0}, {true, 2, 1, 0}, {true, 1, 2, 0}, {true, 1, 1, 0}, {false, 2, 2, 0}, {false, 1, 2, 0}, {false, 2, 1, 0}, {false, 1, 1, 0}};
  for (DisentangledPlan plan : order) {
    plan.bytes = disentangled_layout(d, plan.resident, slots, reach, plan.stages, plan.groups).bytes;
    if (plan.bytes <= limit) return plan;
  }
  return {false, 0, 0, 0};
}

// What a launch over sequences of these lengths costs, with `slot` the slot of a distance counted from `first_slot`.
template <class Slot> inline shim::Cost disentangled_cost(u64 d, bool resident, const DisentangledArgs& a, u64 grid_x, u64 groups, const std::vector<i32>& lengths, Slot slot) {
  shim::Cost c;
  u64 items = 0, pairs = 0, tokens = 0, slices = 0, keys = 0;
  for (const i32 length : lengths) {
    const i32 tiles = (length + TILE - 1) / TILE;
    items += tiles;
    pairs += (u64)tiles * tiles;
    keys += (u64)tiles * length;
    tokens += length;
    for (i32 q = 0; q < tiles; q++)
      for (i32 k = 0; k < tiles; k++) {
        const i32 left = a.slots - slot((q - k) * TILE - 63);
        slices += left < SLICE ? left : SLICE;
      }
  }
  const u64 heads = a.heads, blocks = grid_x * heads;
  c.read = blocks * ((2 * a.reach - 1) * 2 + groups * WARPS * 4) + heads * (items * WARPS * 16 + keys * 4 * d + tokens * 2 * d);
  c.read += resident ? blocks * a.slots * 4 * d : heads * slices * 4 * d;
  c.written = heads * tokens * 2 * d;
  c.tensor = heads * pairs * TILE * TILE * 9 * d;
  c.flops = heads * (pairs * TILE * TILE * 3 + absorb_flops(pairs, d) + finish_flops(items, tokens, d));
  return c;
}
#endif
