// A fiber: a stack and the point where it stopped. The scheduler resumes one, which runs until it
// suspends itself. Switching takes a few instructions and no system call. One fiber of the process
// runs at a time, whichever host thread resumes it. x86-64, System V calling convention.
#pragma once

#include <cstddef>
#include <memory>

namespace gp::cuda_emulation {

class Fiber {
 public:
  // `entry` never returns and never lets an exception out; it starts at the first Resume.
  explicit Fiber(void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it calls Suspend. Not for use inside a fiber.
  void Resume();
  // Returns to the caller that resumed the running fiber.
  static void Suspend();
  // Abandons the fiber's stack; the next Resume starts at the entry again.
  void Restart();

 private:
  void (*entry_)();
  std::byte* stack_ = nullptr;  // with a guard page below
  void* stack_pointer_ = nullptr;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
};

}  // namespace gp::cuda_emulation
