#include "worker/engine/backend/cuda/emulation/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the callee-saved registers on the running stack and the stack pointer in *from, then
// continues where `to` was saved.
extern "C" void gp_fiber_switch(void** from, void* to);
asm(R"(
  .pushsection .text
  .globl gp_fiber_switch
  .type gp_fiber_switch, @function
gp_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size gp_fiber_switch, . - gp_fiber_switch
  .popsection
)");

namespace gp::cuda_emulation {
namespace {

// Enough for a kernel's frames, even with sanitizers.
constexpr size_t kStackBytes = size_t{128} << 10;
constexpr size_t kGuardBytes = 4096;
constexpr size_t kSavedRegisters = 6;

// The point where the scheduler stopped, and its stack, which AddressSanitizer must know.
struct Scheduler {
  void* stack_pointer = nullptr;
  Fiber* running = nullptr;
  const void* stack_bottom = nullptr;
  size_t stack_bytes = 0;
};
// A global, because a fiber may be resumed by another host thread than the one that started it.
Scheduler scheduler;

#if defined(__SANITIZE_ADDRESS__)
void StartSwitch(void** fake_stack, const void* bottom, size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
void FinishSwitch(void* fake_stack, const void** bottom, size_t* bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, bottom, bytes);
}
void ForgetFrames(const void* stack, size_t bytes) { __asan_unpoison_memory_region(stack, bytes); }
#else
void StartSwitch(void**, const void*, size_t) {}
void FinishSwitch(void*, const void**, size_t*) {}
void ForgetFrames(const void*, size_t) {}
#endif

}  // namespace

Fiber::Fiber(void (*entry)()) : entry_(entry) {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kGuardBytes, PROT_NONE);
  stack_ = static_cast<std::byte*>(memory);
  Restart();
}

Fiber::~Fiber() { munmap(stack_, kGuardBytes + kStackBytes); }

void Fiber::Restart() {
  ForgetFrames(stack_ + kGuardBytes, kStackBytes);
  // The values that gp_fiber_switch pops: zeroed registers, then the entry point. Above them is the
  // return address of the first frame, which also aligns the stack as after a call.
  auto* top = reinterpret_cast<uintptr_t*>(stack_ + kGuardBytes + kStackBytes);
  *--top = 0;
  *--top = reinterpret_cast<uintptr_t>(+[] {
    FinishSwitch(nullptr, &scheduler.stack_bottom, &scheduler.stack_bytes);
    scheduler.running->entry_();
  });
  for (size_t i = 0; i < kSavedRegisters; ++i) *--top = 0;
  stack_pointer_ = top;
  fake_stack_ = nullptr;
}

void Fiber::Resume() {
  scheduler.running = this;
  void* fake_stack = nullptr;
  StartSwitch(&fake_stack, stack_ + kGuardBytes, kStackBytes);
  gp_fiber_switch(&scheduler.stack_pointer, stack_pointer_);
  FinishSwitch(fake_stack, nullptr, nullptr);
}

void Fiber::Suspend() {
  Fiber* self = scheduler.running;
  StartSwitch(&self->fake_stack_, scheduler.stack_bottom, scheduler.stack_bytes);
  gp_fiber_switch(&self->stack_pointer_, scheduler.stack_pointer);
  FinishSwitch(self->fake_stack_, &scheduler.stack_bottom, &scheduler.stack_bytes);
}

}  // namespace gp::cuda_emulation
