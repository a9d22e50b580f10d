// A fiber: a stack and the point where it stopped. The scheduler resumes a fiber, which runs until
// it suspends itself. A switch takes a few instructions and no system call. Only one fiber of the
// process runs at a time, whichever host thread resumes it. For x86-64 with the System V calling
// convention.
#pragma once

#include <cstddef>
#include <memory>

namespace gp::cuda_emulation {

class Fiber {
 public:
  // `entry` is called by the first Resume; it must not return or throw.
  explicit Fiber(void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the fiber until it calls Suspend. Must not be called inside a fiber.
  void Resume();
  // Returns to the caller that resumed the running fiber.
  static void Suspend();
  // Abandons the fiber's stack; the next Resume starts at the entry again.
  void Restart();

 private:
  void (*entry_)();
  std::byte* stack_ = nullptr;  // with a guard page below
  void* stack_pointer_ = nullptr;
  void* fake_stack_ = nullptr;  // for AddressSanitizer
};

}  // namespace gp::cuda_emulation
