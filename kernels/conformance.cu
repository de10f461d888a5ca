// Each wrapper of device.h by itself, on numbers that the caller chooses.
//
// Why. What the host run proves about the other kernels rests on each wrapper doing what its twin in host/shim.h does. This kernel
// runs on a device and, as the same source, on the CPU; `gpu-check` compares what the two wrote, to the bit, or within the units
// in the last place that PTX allows where an instruction is approximate. The engine never launches it.
//
// Assumes: `in` has twelve words a thread and `out` takes eight, both aligned to 16 bytes.
//
// Launch: block = 128, grid = rows / 128; shared memory = 256 * 16 bytes.
//
// Bytes: read 48 and written 32 a thread, and what the operation itself moves. FLOPs: a handful.
#include "device.h"

constexpr i32 CONFORMANCE_THREADS = 128;
constexpr i32 CONFORMANCE_SHARED_BYTES = 2 * CONFORMANCE_THREADS * 16;

// What is done; the numbers are those of the caller's table.
constexpr i32 OP_LOAD = 0, OP_STORE = 1, OP_UNPACK = 2, OP_PACK = 3, OP_ARITHMETIC = 4, OP_EXP = 5, OP_RECIPROCAL = 6, OP_ROOT = 7,
              OP_SHUFFLE = 8, OP_MATMUL = 9, OP_MATRICES = 10, OP_COPY = 11, OP_BARRIER = 12, OP_COUNT = 13, OP_PLACE = 14;

struct ConformanceArgs {
  const u32* in;  // [rows][12]
  u32* out;       // [rows][8]
  u32* counter;   // counts in OP_COUNT
  i32 operation;  // OP_*
};

// Words through shared memory by copies that are waited for one after another, and zeros in place of every third.
DEVICE void conform_copy(u32 (&r)[8], Vec16* shared, const u32* in, i32 thread) {
  Vec16* const second = shared + CONFORMANCE_THREADS + thread;
  copy_async_16(shared + thread, in, thread % 3 != 0);
  copy_commit();
  copy_async_16(second, in + 4, true);
  copy_commit();
  copy_wait<1>();
  UNROLL
  for (i32 i = 0; i < 4; i++) r[i] = shared[thread].w[i];
  copy_wait<0>();
  UNROLL
  for (i32 i = 0; i < 4; i++) r[4 + i] = second->w[i];
}

// What another thread left: of the other warp of a pair, of the whole block, and of the same warp.
DEVICE void conform_barrier(u32 (&r)[8], Vec16* shared, Vec16 x, i32 thread) {
  shared[thread].w[0] = x.w[0];
  barrier_group(1 + thread / 64, 64);
  r[0] = shared[thread ^ 32].w[0];
  shared[thread].w[1] = x.w[1];
  barrier_block();
  r[1] = shared[CONFORMANCE_THREADS - 1 - thread].w[1];
  shared[thread].w[2] = x.w[2];
  barrier_warp();
  r[2] = shared[thread ^ 1].w[2];
}

// Eight rows of a warp's own, as they lie and turned.
DEVICE void conform_matrices(u32 (&r)[8], Vec16* shared, Vec16 x, i32 thread) {
  shared[thread] = x;
  barrier_warp();
  u32 straight[4], turned[4];
  load_matrices<false>(straight, shared + (thread ^ 5));
  load_matrices<true>(turned, shared + (thread ^ 18));
  UNROLL
  for (i32 i = 0; i < 4; i++) {
    r[i] = straight[i];
    r[4 + i] = turned[i];
  }
}

DEVICE void conform_load(u32 (&r)[8], const u32* in, const u32* first) {
  const Vec16 x = load_16(in);
  UNROLL
  for (i32 i = 0; i < 4; i++) r[i] = x.w[i];
  const u16* const halves = (const u16*)in;
  r[4] = load_u16(halves) | (u32)load_u16(halves + 1) << 16;
  r[5] = f32_to_bits(load_f32((const float*)in + 1));
  r[6] = (u32)load_uniform((const i32*)first);
  r[7] = (u32)recomputed((i32)x.w[3]);
}

DEVICE void conform_matmul(u32 (&r)[8], Vec16 x, Vec16 y, Vec16 z) {
  f32 sum[4] = {bits_to_f32(y.w[2]), bits_to_f32(y.w[3]), bits_to_f32(z.w[0]), bits_to_f32(z.w[1])};
  const u32 left[4] = {x.w[0], x.w[1], x.w[2], x.w[3]};
  mma_16x8x16(sum, left, y.w[0], y.w[1]);
  UNROLL
  for (i32 i = 0; i < 4; i++) r[i] = f32_to_bits(sum[i]);
}

DEVICE void conform_arithmetic(u32 (&r)[8], const f32 (&f)[4]) {
  r[0] = f32_to_bits(fused(f[0], f[1], f[2]));
  r[1] = f32_to_bits(larger(f[0], f[1]));
  r[2] = f32_to_bits(larger(f[1], f[0]));
  r[3] = f32_to_bits(magnitude(f[0]));
  r[4] = f32_to_bits(infinity());
}

DEVICE void conform_unpack(u32 (&r)[8], Vec16 x) {
  r[0] = f32_to_bits(half_to_f32((u16)(x.w[0] & 0xffff)));
  r[1] = f32_to_bits(half_to_f32((u16)(x.w[0] >> 16)));
  UNROLL
  for (i32 i = 1; i < 4; i++) {
    r[2 * i] = f32_to_bits(low_half(x.w[i]));
    r[2 * i + 1] = f32_to_bits(high_half(x.w[i]));
  }
}

// One number at a time.
DEVICE void conform_number(u32 (&r)[8], const f32 (&f)[4], i32 operation) {
  UNROLL
  for (i32 i = 0; i < 4; i++) {
    if (operation == OP_PACK) r[i] = pack_halves(f[i], f[(i + 1) % 4]);
    if (operation == OP_EXP) r[i] = f32_to_bits(exp_base2(f[i]));
    if (operation == OP_RECIPROCAL) r[i] = f32_to_bits(reciprocal(f[i]));
    if (operation == OP_ROOT) r[i] = f32_to_bits(reciprocal_root(f[i]));
    if (operation == OP_SHUFFLE) {
      r[i] = f32_to_bits(shuffle_xor(f[i], 1 << i));
      r[4 + i] = f32_to_bits(shuffle_xor(f[i], 31 - i));
    }
  }
}

KERNEL(CONFORMANCE_THREADS) conformance(ConformanceArgs a) {
  SHARED_MEMORY(memory);
  Vec16* const shared = (Vec16*)memory;
  const i32 thread = thread_x(), row = block_x() * CONFORMANCE_THREADS + thread;
  const u32* const in = a.in + (i64)row * 12;
  u32* const out = a.out + (i64)row * 8;
  const Vec16 x = load_16(in), y = load_16(in + 4), z = load_16(in + 8);
  const f32 f[4] = {bits_to_f32(x.w[0]), bits_to_f32(x.w[1]), bits_to_f32(x.w[2]), bits_to_f32(x.w[3])};
  u32 r[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (a.operation == OP_LOAD) conform_load(r, in, a.in + (i64)(row - thread) * 12);
  if (a.operation == OP_UNPACK) conform_unpack(r, x);
  if (a.operation == OP_ARITHMETIC) conform_arithmetic(r, f);
  if (a.operation == OP_MATMUL) conform_matmul(r, x, y, z);
  if (a.operation == OP_MATRICES) conform_matrices(r, shared, x, thread);
  if (a.operation == OP_COPY) conform_copy(r, shared, in, thread);
  if (a.operation == OP_BARRIER) conform_barrier(r, shared, x, thread);
  if (a.operation == OP_COUNT && (x.w[0] & 1)) count_one(a.counter);
  if (a.operation == OP_PLACE) {
    r[0] = (u32)thread;
    r[1] = (u32)block_x();
    r[2] = (u32)block_y();
    r[3] = (u32)grid_x();
    r[4] = (u32)block_threads();
  }
  conform_number(r, f, a.operation);
  if (a.operation == OP_STORE) {
    store_u32(out, x.w[0]);
    store_f32((float*)out + 1, f[1]);
    store_u32(out + 2, shared_address(shared + thread) - shared_address(shared));
    store_u32(out + 3, y.w[3]);
  } else {
    store_16(out, {{r[0], r[1], r[2], r[3]}});
  }
  store_16(out + 4, {{r[4], r[5], r[6], r[7]}});
}
