// The vocabulary that every kernel is written in, and the only file with inline PTX.
//
// Why one file: NVRTC alone compiles the kernels, without a CUDA or standard header, and each wrapper here has a twin in
// host/shim.h with the same name and meaning. What the host run proves about a kernel rests on these few lines being equal,
// so they are kept few and small, and a machine with a GPU can compare each with its twin.
//
// Half-precision numbers travel as their bits (u16, or two in a u32, the first in the low half). Arithmetic is in f32.
// Assumes compute capability 8.0 or higher and 64-bit pointers.
#pragma once
#ifndef __CUDACC_RTC__
#include "host/shim.h"
#else

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;
typedef float f32;

#define DEVICE __device__ __forceinline__
#define KERNEL(max_threads) extern "C" __global__ void __launch_bounds__(max_threads)
#define SHARED_MEMORY(name) extern __shared__ __align__(128) char name[]
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

// Sixteen bytes, as one load or store moves them.
struct Vec16 {
  u32 w[4];
};

DEVICE i32 thread_x() { return threadIdx.x; }
DEVICE i32 block_x() { return blockIdx.x; }
DEVICE i32 block_y() { return blockIdx.y; }
DEVICE i32 grid_x() { return gridDim.x; }
DEVICE i32 block_threads() { return blockDim.x; }

// Global memory. `p` is aligned to the size of what is moved.
DEVICE Vec16 load_16(const void* p) {
  Vec16 v;
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3]) : "l"(p) : "memory");
  return v;
}
DEVICE void store_16(void* p, Vec16 v) {
  asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3]) : "memory");
}
DEVICE u16 load_u16(const u16* p) {
  u16 v;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(p) : "memory");
  return v;
}
DEVICE f32 load_f32(const float* p) {
  f32 v;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
  return v;
}
// A number that every lane of the warp reads from the same place: one transaction.
DEVICE i32 load_uniform(const i32* p) {
  i32 v;
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
DEVICE void store_u32(void* p, u32 v) { asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
DEVICE void store_f32(float* p, f32 v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }
DEVICE void count_one(u32* p) { asm volatile("red.global.add.u32 [%0], 1;" ::"l"(p) : "memory"); }

// Conversions, rounding to nearest even; what is too large becomes infinite.
DEVICE f32 half_to_f32(u16 h) {
  f32 r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h));
  return r;
}
DEVICE f32 low_half(u32 x) { return half_to_f32((u16)(x & 0xffff)); }
DEVICE f32 high_half(u32 x) { return half_to_f32((u16)(x >> 16)); }
DEVICE u32 pack_halves(f32 low, f32 high) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
DEVICE f32 bits_to_f32(u32 x) {
  f32 r;
  asm("mov.b32 %0, %1;" : "=f"(r) : "r"(x));
  return r;
}
DEVICE u32 f32_to_bits(f32 x) {
  u32 r;
  asm("mov.b32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

DEVICE f32 infinity() { return bits_to_f32(0x7f800000u); }
// `a * b + c`, rounded once.
DEVICE f32 fused(f32 a, f32 b, f32 c) {
  f32 r;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));
  return r;
}
// The larger; where one is NaN, the other.
DEVICE f32 larger(f32 a, f32 b) {
  f32 r;
  asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
DEVICE f32 magnitude(f32 a) {
  f32 r;
  asm("abs.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
// Two to the power of x, within 2 units in the last place; 0 where the result would be denormal.
DEVICE f32 exp_base2(f32 x) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// 1 / x and 1 / sqrt(x), correctly rounded and within 2 units in the last place.
DEVICE f32 reciprocal(f32 x) {
  f32 r;
  asm("rcp.rn.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
DEVICE f32 reciprocal_root(f32 x) {
  f32 r;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// The same number, but the compiler does not know: what follows from it is computed again and not kept in registers. Inside a
// loop that needs its registers for sums, addresses are cheaper to make than to keep.
DEVICE i32 recomputed(i32 x) {
  i32 r;
  asm volatile("mov.b32 %0, %1;" : "=r"(r) : "r"(x));
  return r;
}

// Barriers: the whole block; `threads` of it (whole warps) that name the same barrier, 1 to 15; one warp.
DEVICE void barrier_block() { asm volatile("bar.sync 0;" ::: "memory"); }
DEVICE void barrier_group(i32 name, i32 threads) { asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory"); }
DEVICE void barrier_warp() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }
// The value of the lane whose number differs by `mask`. All 32 lanes take part.
DEVICE f32 shuffle_xor(f32 x, i32 mask) {
  f32 r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(r) : "f"(x), "r"(mask));
  return r;
}

// d += a b for a 16x16 (row major), b 16x8 (column major) and d 16x8, as the PTX manual spreads them over a warp.
DEVICE void mma_16x8x16(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// The compiler's own conversion, which it sees through: written in PTX it would keep 64-bit addresses in registers.
DEVICE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
// Four 8x8 matrices of halves from shared memory; lane l gives the 16-byte row l % 8 of matrix l / 8.
template <bool TRANSPOSED> DEVICE void load_matrices(u32 (&r)[4], const void* row) {
  const u32 s = shared_address(row);
  if (TRANSPOSED)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(s) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(s) : "memory");
}
// Sixteen bytes from global to shared memory, or zeros where `valid` is false; there after copy_wait and a barrier.
DEVICE void copy_async_16(void* shared, const void* global, bool valid) {
  const u32 s = shared_address(shared);
  const i32 bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(s), "l"(global), "r"(bytes) : "memory");
}
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `PENDING` of this thread's groups of copies are under way.
template <i32 PENDING> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

#endif
