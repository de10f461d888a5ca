// A stand-in for the GPU: the twins of device.h on a CPU, so that the kernels' own source runs under a C++ compiler.
//
// One block at a time, one fiber a thread. A fiber runs until it reaches a barrier or a warp-wide operation; which fiber runs
// next is the schedule, and three of them are run because a missing barrier shows in one and not in another. Shared memory
// starts as NaN; an asynchronous copy arrives no sooner than it is waited for; a misaligned access, a warp that disagrees about
// what it does and a barrier that nobody completes end the run.
//
// Counted on the way: bytes of global memory, floating-point operations (a fused multiply-add is two), tensor operations.
// Not modelled: bank conflicts, memory order weaker than barriers, the tensor cores' order of summation, the last bits of
// ex2.approx and rsqrt.approx.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>
#if defined(__F16C__)
#include <immintrin.h>
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

#define ON_HOST 1
#define DEVICE inline
#define KERNEL(max_threads) inline void
#define SHARED_MEMORY(name) char* name = shim::block->shared.data()
#define UNROLL
#define ROLLED

namespace shim {

// What a kernel moved and computed.
struct Cost {
  u64 read = 0, written = 0;  // bytes of global memory
  u64 flops = 0;              // f32 operations outside tensor cores
  u64 tensor = 0;             // floating-point operations of tensor cores
};
extern Cost cost;

// Which fiber runs next.
enum class Schedule {
  Ascending,   // a warp at a time as far as it gets, the lowest first
  Descending,  // the same, the highest first
  Random,      // lanes of all warps mixed
};

struct Copy {
  void* to;
  const void* from;
  i32 bytes;
};
struct Fiber {
  void* stack_pointer = nullptr;
  i32 id = 0, lane = 0, warp = 0;
  bool done = false, at_barrier = false;
  std::vector<Copy> open;  // copies since the last commit
  std::vector<std::vector<Copy>> groups;
};
struct Warp {
  u32 in[32][16];
  u32 out[32][8];
  i32 arrived = 0;
  u64 generation = 0;
  const char* operation = nullptr;
};
struct Barrier {
  i32 arrived = 0, expected = 0;
  u64 generation = 0;
};
struct Block {
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Barrier barriers[16];
  u64 passed = 0;  // barriers completed, for the scheduler
  i32 alive = 0;
  i32 x = 0, y = 0, threads = 0, grid_x = 0;
  std::vector<char> shared;
};
extern Block* block;
extern Fiber* fiber;

struct Launch {
  i32 grid_x = 1, grid_y = 1, threads = 1;
  size_t shared_bytes = 0;
  Schedule schedule = Schedule::Ascending;
  u64 seed = 1;
};
// Runs every block of a grid, in ascending order.
void launch(const Launch& how, const std::function<void()>& kernel);

void yield();
void barrier(i32 name, i32 expected);
[[noreturn]] void fail(const char* what);

inline float from_half(u16 h) {
#if defined(__F16C__)
  return _cvtsh_ss(h);
#else
  _Float16 x;
  memcpy(&x, &h, 2);
  return (float)x;
#endif
}
inline u16 to_half(float f) {
#if defined(__F16C__)
  return _cvtss_sh(f, 0);
#else
  _Float16 x = (_Float16)f;
  u16 h;
  memcpy(&h, &x, 2);
  return h;
#endif
}

// Every lane leaves its input; the last to arrive computes for the warp; then each takes its result.
template <class Compute> inline void collective(const char* operation, const u32* in, i32 inputs, u32* out, i32 outputs, Compute compute) {
  Warp& warp = block->warps[fiber->warp];
  const i32 lane = fiber->lane;
  memcpy(warp.in[lane], in, 4 * inputs);
  if (warp.arrived && warp.operation != operation) fail("the lanes of a warp do different things");
  warp.operation = operation;
  const u64 generation = warp.generation;
  if (++warp.arrived == 32) {
    compute(warp);
    warp.arrived = 0;
    warp.generation++;
  }
  while (warp.generation == generation) yield();
  memcpy(out, warp.out[lane], 4 * outputs);
}

inline void aligned(const void* p, u64 bytes, const char* what) {
  if ((u64)p % bytes) fail(what);
}

}  // namespace shim

// A float that counts what is done with it.
struct f32 {
  float value;
  f32() = default;
  f32(float x) : value(x) {}
  f32(double x) : value((float)x) {}
  f32(i32 x) : value((float)x) {}
  explicit operator float() const { return value; }
};
inline f32 counted(float x, i32 operations = 1) {
  shim::cost.flops += operations;
  return x;
}
inline f32 operator+(f32 a, f32 b) { return counted(a.value + b.value); }
inline f32 operator-(f32 a, f32 b) { return counted(a.value - b.value); }
inline f32 operator*(f32 a, f32 b) { return counted(a.value * b.value); }
inline f32 operator-(f32 a) { return f32(-a.value); }
inline f32& operator+=(f32& a, f32 b) { return a = a + b; }
inline f32& operator*=(f32& a, f32 b) { return a = a * b; }
inline bool operator<(f32 a, f32 b) { return a.value < b.value; }
inline bool operator<=(f32 a, f32 b) { return a.value <= b.value; }
inline bool operator>(f32 a, f32 b) { return a.value > b.value; }

struct Vec16 {
  u32 w[4];
};

inline i32 thread_x() { return shim::fiber->id; }
inline i32 block_x() { return shim::block->x; }
inline i32 block_y() { return shim::block->y; }
inline i32 grid_x() { return shim::block->grid_x; }
inline i32 block_threads() { return shim::block->threads; }

template <class T> inline T shim_load(const void* p, const char* what) {
  shim::aligned(p, sizeof(T), what);
  shim::cost.read += sizeof(T);
  T v;
  memcpy(&v, p, sizeof(T));
  return v;
}
template <class T> inline void shim_store(void* p, T v, const char* what) {
  shim::aligned(p, sizeof(T), what);
  shim::cost.written += sizeof(T);
  memcpy(p, &v, sizeof(T));
}
inline Vec16 load_16(const void* p) { return shim_load<Vec16>(p, "load_16 is misaligned"); }
inline void store_16(void* p, Vec16 v) { shim_store(p, v, "store_16 is misaligned"); }
inline u16 load_u16(const u16* p) { return shim_load<u16>(p, "load_u16 is misaligned"); }
inline f32 load_f32(const float* p) { return f32(shim_load<float>(p, "load_f32 is misaligned")); }
inline i32 load_uniform(const i32* p) {
  shim::cost.read += shim::fiber->lane == 0 ? 4 : 0;
  return *p;
}
inline void store_u32(void* p, u32 v) { shim_store(p, v, "store_u32 is misaligned"); }
inline void store_f32(float* p, f32 v) { shim_store(p, v.value, "store_f32 is misaligned"); }
inline void count_one(u32* p) { ++*p; }

inline f32 half_to_f32(u16 h) { return shim::from_half(h); }
inline f32 low_half(u32 x) { return shim::from_half(x & 0xffff); }
inline f32 high_half(u32 x) { return shim::from_half(x >> 16); }
inline u32 pack_halves(f32 low, f32 high) { return shim::to_half(low.value) | (u32)shim::to_half(high.value) << 16; }
inline f32 bits_to_f32(u32 x) {
  float r;
  memcpy(&r, &x, 4);
  return r;
}
inline u32 f32_to_bits(f32 x) {
  u32 r;
  memcpy(&r, &x.value, 4);
  return r;
}
inline f32 infinity() { return bits_to_f32(0x7f800000u); }
inline f32 fused(f32 a, f32 b, f32 c) { return counted(fmaf(a.value, b.value, c.value), 2); }
// As PTX has it: plus zero is larger than minus zero, and where one is NaN, also a signalling one, the other. fmaxf promises neither.
inline f32 larger(f32 a, f32 b) {
  if (std::isnan(a.value)) return b;
  if (std::isnan(b.value)) return a;
  if (a.value == b.value) return std::signbit(a.value) ? b : a;
  return a.value < b.value ? b : a;
}
inline f32 magnitude(f32 a) { return fabsf(a.value); }
inline f32 exp_base2(f32 x) {
  const float r = exp2f(x.value);
  return counted(r < 1.17549435e-38f ? 0.0f : r);
}
inline f32 reciprocal(f32 x) { return counted(1.0f / x.value); }
inline f32 reciprocal_root(f32 x) { return counted(1.0f / sqrtf(x.value)); }

inline i32 recomputed(i32 x) { return x; }

inline void barrier_block() { shim::barrier(0, 0); }
inline void barrier_group(i32 name, i32 threads) { shim::barrier(name, threads); }
inline void barrier_warp() {
  static const char* const name = "barrier_warp";
  const u32 in = 0;
  u32 out;
  shim::collective(name, &in, 1, &out, 0, [](shim::Warp&) {});
}
inline f32 shuffle_xor(f32 x, i32 mask) {
  static const char* const name = "shuffle_xor";
  const u32 in[2] = {f32_to_bits(x), (u32)mask};
  u32 out;
  shim::collective(name, in, 2, &out, 1, [](shim::Warp& w) {
    for (i32 l = 0; l < 32; l++) w.out[l][0] = w.in[l ^ (w.in[l][1] & 31)][0];
  });
  return bits_to_f32(out);
}

// The fragments of the PTX manual: g = lane / 4, t = 2 (lane % 4).
inline void mma_16x8x16(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  static const char* const name = "mma_16x8x16";
  u32 in[10] = {a[0], a[1], a[2], a[3], b0, b1}, out[4];
  memcpy(in + 6, d, 16);
  shim::collective(name, in, 10, out, 4, [](shim::Warp& w) {
    alignas(32) float left[16][16], right[16][8], sum[16][8];
    for (i32 l = 0; l < 32; l++) {
      const i32 g = l >> 2, t = (l & 3) * 2;
      const u32* r = w.in[l];
      for (i32 q = 0; q < 4; q++) {
        const i32 row = g + 8 * (q & 1), k = t + 8 * (q >> 1);
        left[row][k] = shim::from_half(r[q] & 0xffff);
        left[row][k + 1] = shim::from_half(r[q] >> 16);
      }
      for (i32 q = 0; q < 2; q++) {
        right[t + 8 * q][g] = shim::from_half(r[4 + q] & 0xffff);
        right[t + 8 * q + 1][g] = shim::from_half(r[4 + q] >> 16);
      }
      memcpy(&sum[g][t], r + 6, 8);
      memcpy(&sum[g + 8][t], r + 8, 8);
    }
    for (i32 row = 0; row < 16; row++)
      for (i32 k = 0; k < 16; k++)
        for (i32 column = 0; column < 8; column++) sum[row][column] += left[row][k] * right[k][column];
    for (i32 l = 0; l < 32; l++) {
      const i32 g = l >> 2, t = (l & 3) * 2;
      memcpy(w.out[l], &sum[g][t], 8);
      memcpy(w.out[l] + 2, &sum[g + 8][t], 8);
    }
    shim::cost.tensor += 2 * 16 * 8 * 16;
  });
  memcpy(d, out, 16);
}
template <bool TRANSPOSED> inline void load_matrices(u32 (&r)[4], const void* row) {
  static const char* const name = TRANSPOSED ? "load_matrices transposed" : "load_matrices";
  shim::aligned(row, 16, "load_matrices is misaligned");
  const u64 address = (u64)row;
  const u32 in[2] = {(u32)address, (u32)(address >> 32)};
  shim::collective(name, in, 2, r, 4, [](shim::Warp& w) {
    for (i32 m = 0; m < 4; m++) {
      const u16* rows[8];
      for (i32 i = 0; i < 8; i++) rows[i] = (const u16*)(w.in[m * 8 + i][0] | (u64)w.in[m * 8 + i][1] << 32);
      for (i32 l = 0; l < 32; l++) {
        const i32 g = l >> 2, t = (l & 3) * 2;
        w.out[l][m] = TRANSPOSED ? rows[t][g] | (u32)rows[t + 1][g] << 16 : rows[g][t] | (u32)rows[g][t + 1] << 16;
      }
    }
  });
}
inline u32 shared_address(const void* p) { return (u32)((const char*)p - shim::block->shared.data()); }
inline void copy_async_16(void* shared, const void* global, bool valid) {
  shim::aligned(shared, 16, "copy_async_16 is misaligned");
  shim::aligned(global, 16, "copy_async_16 is misaligned");
  shim::cost.read += valid ? 16 : 0;
  shim::fiber->open.push_back({shared, global, valid ? 16 : 0});
}
inline void copy_commit() {
  shim::fiber->groups.push_back(std::move(shim::fiber->open));
  shim::fiber->open.clear();
}
template <i32 PENDING> inline void copy_wait() {
  auto& groups = shim::fiber->groups;
  while ((i32)groups.size() > PENDING) {
    for (const shim::Copy& copy : groups[0]) {
      memset(copy.to, 0, 16);
      memcpy(copy.to, copy.from, copy.bytes);
    }
    groups.erase(groups.begin());
  }
}
