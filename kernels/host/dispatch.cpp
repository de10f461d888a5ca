// The kernels by name, for a caller that is not C++: the CUDA engine's tests load this as a library and run the very list of launches that
// a GPU would get. A kernel's argument comes as bytes, as cuLaunchKernel takes it; its size must be that of the struct.
#include "../kernels.cu"

#include <cstring>

namespace {

enum Answer : i32 { DONE = 0, NO_SUCH_KERNEL = 1, ARGUMENT_HAS_ANOTHER_SIZE = 2 };

template <class Args> i32 run(void (*kernel)(Args), const void* argument, u64 bytes, const shim::Launch& how) {
  if (bytes != sizeof(Args)) return ARGUMENT_HAS_ANOTHER_SIZE;
  Args args;
  memcpy(&args, argument, sizeof args);
  shim::launch(how, [&] { kernel(args); });
  return DONE;
}

}  // namespace

// `grid` has blocks in x and y, threads of a block, bytes of shared memory and the schedule, 0 to 2.
extern "C" i32 groundline_launch(const char* name, const void* argument, u64 bytes, const u64* grid) {
  const shim::Launch how{(i32)grid[0], (i32)grid[1], (i32)grid[2], (size_t)grid[3], (shim::Schedule)grid[4], 3};
#define ENTRY(kernel) \
  if (strcmp(name, #kernel) == 0) return run(kernel, argument, bytes, how)
  ENTRY(gather_rows);
  ENTRY(embed_norm_512);
  ENTRY(embed_norm_1024);
  ENTRY(embed_norm_2048);
  ENTRY(attention_disentangled_d64_resident);
  ENTRY(attention_disentangled_d64_streaming);
  ENTRY(attention_disentangled_d32_resident);
  ENTRY(attention_disentangled_d32_streaming);
  ENTRY(attention_plain_d64);
  ENTRY(attention_plain_d64_bias);
  ENTRY(attention_plain_d32);
  ENTRY(attention_plain_d32_bias);
  ENTRY(attention_cls_disentangled_d64);
  ENTRY(attention_cls_disentangled_d32);
  ENTRY(attention_cls_plain_d64);
  ENTRY(attention_cls_plain_d32);
  ENTRY(add_norm_512);
  ENTRY(add_norm_1024);
  ENTRY(add_norm_2048);
  ENTRY(add_norm_f32_512);
  ENTRY(add_norm_f32_1024);
  ENTRY(add_norm_f32_2048);
  ENTRY(bias_gelu);
  ENTRY(bias_tanh);
  ENTRY(bias_relu);
  ENTRY(conv_unfold);
  ENTRY(pooler);
  ENTRY(classifier);
  ENTRY(mean_pool);
  ENTRY(conformance);
#undef ENTRY
  return NO_SUCH_KERNEL;
}
