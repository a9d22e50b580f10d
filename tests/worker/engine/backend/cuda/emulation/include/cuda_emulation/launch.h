// The host's side of a launch, the memory of a block, and what the fake of another CUDA library
// needs to queue work on a stream.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <type_traits>

#include "cuda_emulation/runtime_api.h"
#include "cuda_emulation/vector_types.h"

namespace gp::cuda_emulation {

// A kernel did something that makes a device hang, fault or return garbage.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs `work` in stream order, or records it if the stream is being captured.
cudaError_t Submit(cudaStream_t stream, std::function<void()> work);

// The dynamic shared memory of the running block, aligned to 16 bytes.
void* DynamicShared();

// Memory shared by the threads of one block. When a block begins, every byte is 0xff, so every
// float is NaN. Created by GP_SHARED; exists until the process ends.
class SharedRange {
 public:
  SharedRange(void* begin, size_t bytes);
  SharedRange(const SharedRange&) = delete;
  SharedRange& operator=(const SharedRange&) = delete;
};

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  bool awaits_previous = false;  // every thread must call NoteAwaited
};

// Records that the running thread called AwaitPrevious, where a device would wait for the previous
// kernel.
void NoteAwaited();

// cudaErrorInvalidConfiguration or cudaErrorInvalidValue if a device would refuse the shape.
cudaError_t CheckShape(const void* kernel, const LaunchShape& shape);
// Calls thread() for each thread of each block.
void RunGrid(const LaunchShape& shape, const std::function<void()>& thread);

template <typename... Parameters>
cudaError_t LaunchKernel(void (*kernel)(Parameters...), const LaunchShape& shape,
                         cudaStream_t stream, std::type_identity_t<Parameters>... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "kernel arguments travel to the device as bytes");
  const cudaError_t error = CheckShape(reinterpret_cast<const void*>(kernel), shape);
  if (error != cudaSuccess) return error;
  return Submit(stream, [=] { RunGrid(shape, [&] { kernel(arguments...); }); });
}

}  // namespace gp::cuda_emulation
