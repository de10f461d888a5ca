// x = f(x + bias) in place, for the strip between the two feed-forward products: erf GELU, tanh (the convolution of
// DeBERTa-v2-xlarge) or ReLU (T5).
//
// Why its own kernel. The library's fused GELU is the tanh form, which differs from the checkpoint's erf by up to 5e-4, and a
// pass of its own costs 4 bytes a number. Bound by memory: a thread takes 16 bytes, adds the bias in f32 and rounds once.
//
// Assumes: width a multiple of 8; pointers aligned to 16 bytes.
//
// Launch: block = 256, grid = ceil(rows * width / 8 / 256), at most 2^31 - 1; no shared memory.
//
// Bytes: read 2 a number and 2 for the bias (from cache), written 2. FLOPs a number: 1, and 30 (29 below zero) for GELU, 6 for
// tanh, none for ReLU.
#include "functions.h"
#include "rows.h"

constexpr i32 ACTIVATION_THREADS = 256;

struct ActivationArgs {
  u16* x;           // [rows][width]
  const u16* bias;  // [width], or null
  i32 rows, width;
};

template <i32 FUNCTION> DEVICE void bias_activate(const ActivationArgs& a) {
  const i64 chunk = (i64)block_x() * ACTIVATION_THREADS + thread_x();
  const i32 chunks = a.width / 8;
  if (chunk >= (i64)a.rows * chunks) return;
  f32 x[8];
  load_8(x, a.x + chunk * 8);
  if (a.bias) {
    f32 bias[8];
    load_8(bias, a.bias + chunk % chunks * 8);
    add_8(x, bias);
  }
  UNROLL
  for (i32 i = 0; i < 8; i++) x[i] = activate(x[i], FUNCTION);
  store_8(a.x + chunk * 8, x);
}

KERNEL(ACTIVATION_THREADS) bias_gelu(ActivationArgs a) { bias_activate<ACT_GELU>(a); }
KERNEL(ACTIVATION_THREADS) bias_tanh(ActivationArgs a) { bias_activate<ACT_TANH>(a); }
KERNEL(ACTIVATION_THREADS) bias_relu(ActivationArgs a) { bias_activate<ACT_RELU>(a); }

#ifdef ON_HOST
// `negative` of the numbers are below zero after the bias.
inline shim::Cost activation_cost(i32 function, u64 numbers, u64 negative, bool bias) {
  const u64 flops = (numbers - negative) * activate_flops(function, false) + negative * activate_flops(function, true);
  return {numbers * (bias ? 4 : 2), numbers * 2, numbers * (bias ? 1 : 0) + flops, 0};
}
#endif
