// Fibers and schedules behind shim.h.
#include "shim.h"

#include <algorithm>
#include <random>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace shim {

Cost cost;
Block* block;
Fiber* fiber;

static const std::function<void()>* body;
static const size_t STACK_BYTES = 64 * 1024;

void fail(const char* what) {
  fprintf(stderr, "shim: %s (block %d,%d thread %d)\n", what, block->x, block->y, fiber ? fiber->id : -1);
  fflush(stdout);
  exit(3);
}

static void run_body() {
  (*body)();
  if (!fiber->open.empty() || !fiber->groups.empty()) fail("a copy was never waited for");
  fiber->done = true;
  block->alive--;
  // Who has left counts as arrived at the block's barrier.
  Barrier& whole = block->barriers[0];
  if (block->alive && whole.arrived == block->alive) {
    whole.arrived = 0;
    whole.generation++;
    block->passed++;
  }
  yield();
  abort();
}

#if defined(__x86_64__)
// Saves the registers that a call preserves and the stack pointer, and goes on where `to` was saved.
extern "C" void shim_switch(void** save, void* to);
asm(R"(
.text
.globl shim_switch
.globl _shim_switch
shim_switch:
_shim_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
)");
static void* scheduler;
void yield() { shim_switch(&fiber->stack_pointer, scheduler); }
static void resume(Fiber& f) { shim_switch(&scheduler, f.stack_pointer); }
static void prepare(Fiber& f, char* stack) {
  void** top = (void**)((uintptr_t)(stack + STACK_BYTES) & ~(uintptr_t)63);
  *--top = nullptr;
  *--top = (void*)run_body;
  for (i32 i = 0; i < 6; i++) *--top = nullptr;
  f.stack_pointer = top;
}
#else
// Slower, for every other machine.
static ucontext_t scheduler;
static std::vector<ucontext_t> contexts;
void yield() { swapcontext(&contexts[fiber->id], &scheduler); }
static void resume(Fiber& f) { swapcontext(&scheduler, &contexts[f.id]); }
static void prepare(Fiber& f, char* stack) {
  contexts.resize(std::max<size_t>(contexts.size(), f.id + 1));
  getcontext(&contexts[f.id]);
  contexts[f.id].uc_stack.ss_sp = stack;
  contexts[f.id].uc_stack.ss_size = STACK_BYTES;
  makecontext(&contexts[f.id], run_body, 0);
}
#endif

void barrier(i32 name, i32 expected) {
  Barrier& b = block->barriers[name];
  if (name == 0) expected = block->alive;
  if (name != 0 && b.arrived && b.expected != expected) fail("threads disagree on the size of a barrier");
  b.expected = expected;
  const u64 generation = b.generation;
  fiber->at_barrier = true;
  if (++b.arrived == expected) {
    b.arrived = 0;
    b.generation++;
    block->passed++;
  }
  while (b.generation == generation) yield();
  fiber->at_barrier = false;
}

// Runs the fibers of one block until all are done.
class Scheduler {
 public:
  Scheduler(Block& block, const Launch& how) : block_(block), how_(how), random_(how.seed + 7919 * block.x + 104729 * block.y) {
    for (i32 i = 0; i < block.threads; i++) order_.push_back(i);
  }
  void run() {
    while (block_.alive) {
      const u64 before = progress();
      if (how_.schedule == Schedule::Random) {
        std::shuffle(order_.begin(), order_.end(), random_);
        for (i32 i : order_) step(i);
        if (progress() == before)
          for (i32 i : order_) step(i);
      } else {
        const i32 warps = (i32)block_.warps.size();
        for (i32 k = 0; k < warps; k++) run_warp(how_.schedule == Schedule::Descending ? warps - 1 - k : k);
      }
      if (block_.alive && progress() == before) fail("deadlock: a barrier or a warp-wide operation that nobody completes");
    }
  }

 private:
  void step(i32 i) {
    Fiber& f = block_.fibers[i];
    if (f.done) return;
    fiber = &f;
    resume(f);
  }
  // One warp as far as it gets without another.
  void run_warp(i32 warp) {
    const i32 first = warp * 32, last = std::min(first + 32, block_.threads);
    for (;;) {
      const u64 before = progress();
      for (i32 i = first; i < last; i++) step(i);
      bool waits = true;
      for (i32 i = first; i < last; i++) waits = waits && (block_.fibers[i].done || block_.fibers[i].at_barrier);
      if (waits && progress() == before) return;
      if (progress() == before) {
        for (i32 i = first; i < last; i++) step(i);
        if (progress() == before) return;
      }
    }
  }
  u64 progress() const {
    u64 sum = block_.passed * 1000003u + block_.alive;
    for (const Warp& w : block_.warps) sum += w.generation * 17;
    return sum;
  }
  Block& block_;
  const Launch& how_;
  std::mt19937_64 random_;
  std::vector<i32> order_;
};

void launch(const Launch& how, const std::function<void()>& kernel) {
  static std::vector<char> stacks;
  stacks.resize(std::max(stacks.size(), STACK_BYTES * (how.threads + 1)));
  if (how.threads % 32) fail("a block is not made of whole warps");
  body = &kernel;
  Block here;
  block = &here;
  for (i32 y = 0; y < how.grid_y; y++)
    for (i32 x = 0; x < how.grid_x; x++) {
      here = Block();
      here.x = x;
      here.y = y;
      here.threads = here.alive = how.threads;
      here.grid_x = how.grid_x;
      here.warps.resize(how.threads / 32);
      here.fibers.resize(how.threads);
      here.shared.assign(how.shared_bytes + 128, (char)0xff);  // halves and floats of all ones are NaN
      for (i32 i = 0; i < how.threads; i++) {
        Fiber& f = here.fibers[i];
        f.id = i;
        f.lane = i % 32;
        f.warp = i / 32;
        prepare(f, stacks.data() + STACK_BYTES * i);
      }
      Scheduler(here, how).run();
    }
  fiber = nullptr;
}

}  // namespace shim
