// A stand-in for NVIDIA's driver and cublasLt, as far as the CUDA engine calls them: a library by their names, so that the code that talks
// to a device runs without one. Kernels are those of dispatch.cpp, products are computed here.
//
// It is as late as a device may be: what is sent to a stream runs when somebody waits for it, from memory as it is then; a copy from
// memory that is not pinned arrives when the context is waited for. So a buffer that is filled too early, an event that is not waited for,
// or an argument that did not live long enough give wrong numbers, and not only on a bad day. What a driver would refuse is refused,
// and what would be a crash ends the process.
//
// One device (an H200's limits), one thread at a time.
#include "shim.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

extern "C" i32 groundline_launch(const char* name, const void* argument, u64 bytes, const u64* grid);

namespace {

enum Status : i32 {
  OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NOT_FOUND = 500,
  CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901,
};
enum ProductStatus : i32 { PRODUCT_INVALID = 7, PRODUCT_INTERNAL = 14, PRODUCT_UNSUPPORTED = 15 };

// A grid without blocks.
constexpr u64 NOTHING[5] = {0, 0, 32, 0, 0};

using Work = std::function<void()>;
struct Graph {
  std::vector<Work> works;
};
struct Stream {
  std::deque<Work> queue;
  u64 sent = 0, done = 0;
  std::unique_ptr<Graph> capture;
  bool is_broken = false;  // its capture

  void run(u64 until) {
    for (; done < until; done++) {
      const Work work = std::move(queue.front());
      queue.pop_front();
      work();
    }
  }
};
struct Event {
  Stream* stream = nullptr;
  u64 mark = 0;
};
struct Function {
  std::string name;
  u64 most_shared = 48 << 10;
};

std::map<std::string, u64> calls;
std::map<std::string, std::pair<u64, i32>> faults;  // by function: after how many calls, and what it answers then
std::map<u64, u64> memories;                        // of the device: where, and how many bytes
std::set<Stream*> streams;
std::deque<Work> copies;  // from memory that is not pinned
std::map<std::string, std::unique_ptr<Function>> functions;
u64 alive = 0, memory_limit = 1ull << 40, memory_used = 0, product_version = 130000;
i32 contexts = 0, lost = OK;

// A fault for a process that cannot call `fake_fault`: FAKE_FAULT=function:after:status.
const bool has_fault_of_environment = [] {
  const char* const text = getenv("FAKE_FAULT");
  char function[64];
  unsigned long long after;
  i32 status;
  if (!text || sscanf(text, "%63[^:]:%llu:%d", function, &after, &status) != 3) return false;
  faults[function] = {after, status};
  return true;
}();

// What a function answers in place of doing what it should.
i32 fault(const char* function) {
  calls[function]++;
  if (lost) return lost;
  const auto found = faults.find(function);
  if (found == faults.end() || found->second.first-- > 0) return OK;
  const i32 status = found->second.second;
  faults.erase(found);
  if (status >= 700 && status < 800 && status != 701) lost = status;
  return status;
}
#define ENTER                       \
  if (const i32 status = fault(__func__)) return status; \
  if (!contexts) shim::fail("a call without a context")

void send(Stream* stream, Work work) {
  if (stream->capture) return stream->capture->works.push_back(std::move(work));
  stream->queue.push_back(std::move(work));
  stream->sent++;
}
void expect_idle(const char* what) {
  for (const Stream* stream : streams)
    if (stream->done < stream->sent && !lost) shim::fail(what);
}
void run_copies() {
  for (; !copies.empty(); copies.pop_front()) copies.front()();
}
// Whether these bytes are the device's.
void expect_memory(u64 at, u64 bytes) {
  const auto after = memories.upper_bound(at);
  if (after == memories.begin() || at + bytes > std::prev(after)->first + std::prev(after)->second) shim::fail("a copy past the device's memory");
}

}  // namespace

extern "C" {

// For tests: the `after`-th next call of a function answers `status`; how often it was called; what is alive; and all as it was.
void fake_fault(const char* function, u64 after, i32 status) { faults[function] = {after, status}; }
u64 fake_calls(const char* function) { return calls[function]; }
u64 fake_alive() { return alive; }
u64 fake_pending() {
  u64 pending = 0;
  for (const Stream* stream : streams) pending += stream->sent - stream->done;
  return pending;
}
void fake_memory(u64 bytes) { memory_limit = bytes; }
void fake_product_version(u64 version) { product_version = version; }
void fake_reset() {
  faults.clear();
  calls.clear();
  lost = OK;
  memory_limit = 1ull << 40;
  product_version = 130000;
}

i32 cuInit(u32) { return fault(__func__); }
i32 cuDriverGetVersion(i32* version) { return *version = 13000, OK; }
i32 cuDeviceGetCount(i32* count) { return *count = 1, fault(__func__); }
i32 cuDeviceGet(i32* device, i32 ordinal) { return ordinal ? NO_DEVICE : (*device = 0, OK); }
i32 cuDeviceGetName(char* name, i32 length, i32) { return snprintf(name, length, "a fake"), OK; }
i32 cuDeviceTotalMem_v2(size_t* bytes, i32) { return *bytes = 1ull << 37, OK; }
i32 cuDeviceGetAttribute(i32* number, i32 attribute, i32) {
  switch (attribute) {
    case 16: return *number = 132, OK;        // multiprocessors
    case 75: return *number = 9, OK;          // capability
    case 76: return *number = 0, OK;
    case 81: return *number = 228 << 10, OK;  // shared memory of a multiprocessor
    case 97: return *number = 227 << 10, OK;  // of a block that asks
    default: return INVALID_VALUE;
  }
}
i32 cuDevicePrimaryCtxRetain(void** context, i32) {
  if (const i32 status = fault(__func__)) return status;
  contexts++;
  return *context = &contexts, OK;
}
i32 cuDevicePrimaryCtxRelease_v2(i32) { return contexts ? (contexts--, OK) : INVALID_CONTEXT; }
i32 cuCtxSetCurrent(void* context) { return context == &contexts ? OK : INVALID_CONTEXT; }
i32 cuCtxSynchronize() {
  ENTER;
  run_copies();
  for (Stream* stream : streams) stream->run(stream->sent);
  return OK;
}

i32 cuModuleLoadData(void** module, const char* image) {
  ENTER;
  if (memcmp(image, "\x7f" "ELF", 4)) return INVALID_IMAGE;
  alive++;
  return *module = &functions, OK;
}
i32 cuModuleUnload(void*) {
  expect_idle("kernels are unloaded while something is under way");
  functions.clear();
  return alive--, OK;
}
i32 cuModuleGetFunction(void** function, void*, const char* name) {
  ENTER;
  if (groundline_launch(name, nullptr, 0, NOTHING) == 1) return NOT_FOUND;
  auto& slot = functions[name];
  if (!slot) slot.reset(new Function{name});
  return *function = slot.get(), OK;
}
i32 cuFuncSetAttribute(Function* function, i32 attribute, i32 number) {
  ENTER;
  if (attribute != 8 || number > 227 << 10) return INVALID_VALUE;
  return function->most_shared = number, OK;
}
i32 cuLaunchKernel(Function* function, u32 x, u32 y, u32 z, u32 threads, u32 threads_y, u32 threads_z, u32 shared, Stream* stream, void** arguments, void**) {
  ENTER;
  if (!x || !y || z != 1 || y > 65535 || !threads || threads > 1024 || threads_y != 1 || threads_z != 1) return INVALID_VALUE;
  if (shared > function->most_shared) return INVALID_VALUE;
  // The driver knows how long the argument is; the kernels tell which length is theirs.
  u64 bytes = 8;
  while (groundline_launch(function->name.c_str(), arguments[0], bytes, NOTHING)) bytes += 8;
  const std::vector<char> argument((const char*)arguments[0], (const char*)arguments[0] + bytes);
  const std::string name = function->name;
  send(stream, [=] {
    const u64 grid[5] = {x, y, threads, shared, 0};
    groundline_launch(name.c_str(), argument.data(), argument.size(), grid);
  });
  return OK;
}

i32 cuMemAlloc_v2(u64* address, size_t bytes) {
  ENTER;
  if (memory_used + bytes > memory_limit) return OUT_OF_MEMORY;
  const u64 rounded = (bytes + 255) / 256 * 256;
  char* const at = (char*)aligned_alloc(256, rounded);
  memset(at, 0xff, rounded);
  memories[(u64)at] = bytes;
  memory_used += bytes;
  return alive++, *address = (u64)at, OK;
}
i32 cuMemFree_v2(u64 address) {
  expect_idle("memory is freed while something is under way");
  const auto found = memories.find(address);
  if (found == memories.end()) shim::fail("memory is freed that was not taken");
  // As the driver does, which lets its own copies end before it frees.
  run_copies();
  memory_used -= found->second;
  memories.erase(found);
  free((void*)address);
  return alive--, OK;
}
i32 cuMemHostAlloc(void** address, size_t bytes, u32) {
  ENTER;
  return alive++, *address = aligned_alloc(256, (bytes + 255) / 256 * 256), OK;
}
i32 cuMemFreeHost(void* address) {
  expect_idle("pinned memory is freed while something is under way");
  free(address);
  return alive--, OK;
}
i32 cuMemcpyHtoD_v2(u64 to, const char* from, size_t bytes) {
  ENTER;
  expect_memory(to, bytes);
  const std::vector<char> staged(from, from + bytes);
  copies.push_back([=] { memcpy((void*)to, staged.data(), staged.size()); });
  return OK;
}
i32 cuMemcpyDtoH_v2(void* to, u64 from, size_t bytes) {
  ENTER;
  expect_memory(from, bytes);
  run_copies();
  return memcpy(to, (const void*)from, bytes), OK;
}
i32 cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, Stream* stream) {
  ENTER;
  expect_memory(to, bytes);
  return send(stream, [=] { memcpy((void*)to, from, bytes); }), OK;
}
i32 cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, Stream* stream) {
  ENTER;
  expect_memory(from, bytes);
  return send(stream, [=] { memcpy(to, (const void*)from, bytes); }), OK;
}
i32 cuMemsetD8Async(u64 to, u8 value, size_t bytes, Stream* stream) {
  ENTER;
  expect_memory(to, bytes);
  return send(stream, [=] { memset((void*)to, value, bytes); }), OK;
}

i32 cuStreamCreate(Stream** stream, u32) {
  ENTER;
  *stream = new Stream;
  streams.insert(*stream);
  return alive++, OK;
}
i32 cuStreamDestroy_v2(Stream* stream) {
  expect_idle("a stream is destroyed while something is under way");
  streams.erase(stream);
  delete stream;
  return alive--, OK;
}
i32 cuStreamSynchronize(Stream* stream) {
  ENTER;
  if (stream->capture) return stream->is_broken = true, CAPTURE_UNSUPPORTED;
  return stream->run(stream->sent), OK;
}
i32 cuStreamBeginCapture_v2(Stream* stream, i32) {
  ENTER;
  if (stream->capture) shim::fail("a capture within a capture");
  stream->capture.reset(new Graph);
  stream->is_broken = false;
  return OK;
}
i32 cuStreamEndCapture(Stream* stream, Graph** graph) {
  std::unique_ptr<Graph> captured = std::move(stream->capture);
  *graph = nullptr;
  ENTER;
  if (!captured) shim::fail("no capture was begun");
  if (stream->is_broken) return CAPTURE_INVALIDATED;
  return alive++, *graph = captured.release(), OK;
}
i32 cuGraphInstantiateWithFlags(Graph** ready, const Graph* graph, u64) {
  ENTER;
  return alive++, *ready = new Graph(*graph), OK;
}
i32 cuGraphLaunch(const Graph* ready, Stream* stream) {
  ENTER;
  for (const Work& work : ready->works) send(stream, work);
  return OK;
}
i32 cuGraphDestroy(Graph* graph) { return delete graph, alive--, OK; }
i32 cuGraphExecDestroy(Graph* ready) {
  expect_idle("a graph is destroyed while something is under way");
  return delete ready, alive--, OK;
}

i32 cuEventCreate(Event** event, u32) {
  ENTER;
  return alive++, *event = new Event, OK;
}
i32 cuEventDestroy_v2(Event* event) { return delete event, alive--, OK; }
i32 cuEventRecord(Event* event, Stream* stream) {
  ENTER;
  return event->stream = stream, event->mark = stream->sent, OK;
}
i32 cuEventSynchronize(Event* event) {
  ENTER;
  if (event->stream) event->stream->run(event->mark);
  return OK;
}
i32 cuEventElapsedTime_v2(float* milliseconds, Event*, Event*) { return *milliseconds = 1.0f, OK; }

}  // extern "C"

// The library of products: numbers of the types that the engine asks for, matrices by columns.
namespace {

enum Number : i32 { SINGLE = 0, HALF = 2 };
enum Epilogue : u32 { PLAIN = 1, BIAS = 4, GELU = 32 };
struct Matrix {
  i32 number;
  u64 rows, columns;
  i64 stride;
};
struct Operation {
  i32 transposed_a = 0, transposed_b = 0, bias_number = -1;
  u32 epilogue = PLAIN;
  const void* bias = nullptr;
};
struct Preference {
  u64 workspace = 0;
};
struct Algorithm {
  u64 data[8];
};
struct Found {
  Algorithm algorithm;
  size_t workspace;
  i32 state;
  float waves;
  i32 reserved[4];
};
constexpr u64 CHOSEN = 0x6772756e64;

float number_at(const void* from, i32 number, u64 at) { return number == HALF ? shim::from_half(((const u16*)from)[at]) : ((const float*)from)[at]; }

// Whether the library would compute it: the shapes go together, and the fast kernels' alignment.
i32 suits(const Operation& o, const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d) {
  if (!o.transposed_a || o.transposed_b || a.number != HALF || b.number != HALF) return PRODUCT_UNSUPPORTED;
  if (a.rows != b.rows || d.rows != a.columns || d.columns != b.columns) return PRODUCT_INVALID;
  if (c.rows != d.rows || c.columns != d.columns || c.number != d.number) return PRODUCT_INVALID;
  for (const Matrix* m : {&a, &b, &d})
    if (!m->rows || !m->columns || m->stride < (i64)m->rows || m->stride % 8) return PRODUCT_INVALID;
  if (o.epilogue == BIAS && o.bias_number != d.number) return PRODUCT_UNSUPPORTED;
  return OK;
}

}  // namespace

extern "C" {

u64 cublasLtGetVersion() { return product_version; }
i32 cublasLtCreate(void** handle) {
  if (const i32 status = fault(__func__)) return status;
  return alive++, *handle = &alive, OK;
}
i32 cublasLtDestroy(void*) { return alive--, OK; }
i32 cublasLtMatmulPreferenceCreate(Preference** preference) { return alive++, *preference = new Preference, OK; }
i32 cublasLtMatmulPreferenceDestroy(Preference* preference) { return delete preference, alive--, OK; }
i32 cublasLtMatmulPreferenceSetAttribute(Preference* preference, i32 attribute, const void* value, size_t bytes) {
  if (attribute != 1 || bytes != 8) return PRODUCT_INVALID;
  return memcpy(&preference->workspace, value, 8), OK;
}
i32 cublasLtMatrixLayoutCreate(Matrix** matrix, i32 number, u64 rows, u64 columns, i64 stride) { return alive++, *matrix = new Matrix{number, rows, columns, stride}, OK; }
i32 cublasLtMatrixLayoutDestroy(Matrix* matrix) { return delete matrix, alive--, OK; }
i32 cublasLtMatmulDescCreate(Operation** operation, i32 compute, i32 scale) {
  if (compute != 68 || scale != SINGLE) return PRODUCT_UNSUPPORTED;
  return alive++, *operation = new Operation, OK;
}
i32 cublasLtMatmulDescDestroy(Operation* operation) { return delete operation, alive--, OK; }
i32 cublasLtMatmulDescSetAttribute(Operation* operation, i32 attribute, const void* value, size_t bytes) {
  void* const to = attribute == 3 ? (void*)&operation->transposed_a : attribute == 4 ? &operation->transposed_b : attribute == 7 ? &operation->epilogue : attribute == 8 ? (void*)&operation->bias : attribute == 26 ? &operation->bias_number : nullptr;
  if (!to || bytes != (attribute == 8 ? 8 : 4)) return PRODUCT_INVALID;
  return memcpy(to, value, bytes), OK;
}
i32 cublasLtMatmulAlgoGetHeuristic(void*, const Operation* o, const Matrix* a, const Matrix* b, const Matrix* c, const Matrix* d, const Preference* preference, i32, Found* found, i32* count) {
  if (const i32 status = fault(__func__)) return status;
  // As of CUDA 13.3 not while a stream is captured.
  for (const Stream* stream : streams)
    if (stream->capture) return PRODUCT_INTERNAL;
  if (const i32 status = suits(*o, *a, *b, *c, *d)) return status;
  *found = Found{{{CHOSEN, a->rows, a->columns, b->columns, (u64)d->number, (u64)o->epilogue}}, preference->workspace, OK, 1.0f, {}};
  return *count = 1, OK;
}
i32 cublasLtMatmul(void*, const Operation* o, const float* alpha, const void* a, const Matrix* as, const void* b, const Matrix* bs, const float* beta, const void* c, const Matrix* cs, void* d, const Matrix* ds, const Algorithm* algorithm, void* workspace, size_t workspace_bytes, Stream* stream) {
  if (const i32 status = fault(__func__)) return status;
  if (const i32 status = suits(*o, *as, *bs, *cs, *ds)) return status;
  const u64 chosen[] = {CHOSEN, as->rows, as->columns, bs->columns, (u64)ds->number, (u64)o->epilogue};
  if (memcmp(chosen, algorithm->data, sizeof chosen) || *alpha != 1.0f || *beta != 0.0f || c != d) return PRODUCT_INVALID;
  for (const void* p : {a, b, (const void*)d, (const void*)workspace})
    if ((u64)p % 256) return PRODUCT_INVALID;
  if (o->epilogue == BIAS && (!o->bias || (u64)o->bias % 16)) return PRODUCT_INVALID;
  expect_memory((u64)a, as->columns * as->stride * 2);
  expect_memory((u64)b, bs->columns * bs->stride * 2);
  expect_memory((u64)d, ds->columns * ds->stride * (ds->number == HALF ? 2 : 4));
  expect_memory((u64)workspace, workspace_bytes);
  send(stream, [o = *o, a, as = *as, b, bs = *bs, d, ds = *ds, workspace, workspace_bytes] {
    // The library may use all of it.
    memset(workspace, 0xff, workspace_bytes < 4096 ? workspace_bytes : 4096);
    std::vector<float> weights(as.columns * as.rows), column(bs.rows);
    for (u64 i = 0; i < as.columns; i++)
      for (u64 k = 0; k < as.rows; k++) weights[i * as.rows + k] = number_at(a, as.number, i * as.stride + k);
    for (u64 j = 0; j < ds.columns; j++) {
      for (u64 k = 0; k < bs.rows; k++) column[k] = number_at(b, bs.number, j * bs.stride + k);
      for (u64 i = 0; i < ds.rows; i++) {
        const float* const row = &weights[i * as.rows];
        float sums[8] = {};
        for (u64 k = 0; k < bs.rows; k += 8)
          for (u64 lane = 0; lane < 8; lane++) sums[lane] += row[k + lane] * column[k + lane];
        float sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        if (o.epilogue == BIAS) sum += number_at(o.bias, o.bias_number, i);
        if (o.epilogue == GELU) sum = 0.5f * sum * (1.0f + tanhf(0.7978845608f * (sum + 0.044715f * sum * sum * sum)));
        const u64 at = j * ds.stride + i;
        if (ds.number == HALF)
          ((u16*)d)[at] = shim::to_half(sum);
        else
          ((float*)d)[at] = sum;
      }
    }
  });
  return OK;
}

}  // extern "C"
