// The functions between layers, from exp_base2 and a reciprocal alone: the same source on every target, no library.
#pragma once
#include "device.h"

constexpr i32 ACT_NONE = 0, ACT_GELU = 1, ACT_TANH = 2, ACT_RELU = 3;

// The complement of the error function for x >= 0, relative error below 1.2e-7 (Numerical Recipes, "erfcc"): relative, because
// gelu of a negative number is a small difference that an absolute error would drown.
DEVICE f32 erfc_of_positive(f32 x) {
  const f32 t = reciprocal(fused(x, 0.5f, 1.0f));
  f32 p = 0.17087277f;
  p = fused(p, t, -0.82215223f);
  p = fused(p, t, 1.48851587f);
  p = fused(p, t, -1.13520398f);
  p = fused(p, t, 0.27886807f);
  p = fused(p, t, -0.18628806f);
  p = fused(p, t, 0.09678418f);
  p = fused(p, t, 0.37409196f);
  p = fused(p, t, 1.00002368f);
  p = fused(p, t, -1.26551223f);
  return t * exp_base2((p - x * x) * 1.44269504f);
}
// x times the normal distribution's cumulative function, not its tanh approximation. Infinities and NaN give what they should.
DEVICE f32 gelu(f32 x) {
  // Beyond 9 the tail is below the smallest number that a half can hold.
  const f32 a = larger(-9.0f, -magnitude(x));
  const f32 tail = 0.5f * erfc_of_positive(-a * 0.70710678f);
  const f32 small = tail * a;  // gelu(-|x|)
  // gelu(x) = x + gelu(-x) for x >= 0
  return x < 0.0f ? small : x + small;
}
DEVICE f32 tanh_of(f32 x) {
  const f32 a = -larger(-10.0f, -magnitude(x));
  const f32 e = exp_base2(a * -2.88539008f);
  const f32 r = (1.0f - e) * reciprocal(1.0f + e);
  return x < 0.0f ? -r : r;
}
DEVICE f32 activate(f32 x, i32 function) {
  // NaN stays NaN: the maxima above and below drop it.
  if (!(x <= 0.0f) && !(x > 0.0f)) return x;
  if (function == ACT_GELU) return gelu(x);
  if (function == ACT_TANH) return tanh_of(x);
  if (function == ACT_RELU) return larger(x, 0.0f);
  return x;
}

#ifdef ON_HOST
// Scalar operations of one call.
inline u64 activate_flops(i32 function, bool negative) {
  if (function == ACT_GELU) return 29 + (negative ? 0 : 1);
  return function == ACT_TANH ? 6 : 0;
}
#endif
