// The memory of a CudaBackend: the memory that it returns to callers, and its workspace. Belongs to
// the backend. One thread calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "plan/arena_plan.h"
#include "plan/model_shape.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"

namespace gp::engine {

// Memory that lives as long as this object.
class DeviceAllocations {
 public:
  // Zeroed memory of the device. Throws std::bad_alloc, with a message, when it is full.
  void* Device(int64_t bytes);
  // Zeroed page-locked memory of the host.
  void* Host(int64_t bytes);
  int64_t device_bytes() const { return device_bytes_; }

 private:
  std::vector<DeviceMemory> device_;
  std::deque<PinnedMemory> host_;
  int64_t device_bytes_ = 0;
};

// The workspace as plan/gpu_workspace.h lays it out.
class CudaWorkspace {
 public:
  CudaWorkspace(const runspec::ModelShape& shape, const runspec::ArenaOptions& options);

  int64_t bytes() const { return bytes_; }
  void* matmul() const { return matmul_; }
  double* scalar() const { return reinterpret_cast<double*>(scalar_); }
  ScratchMemory& scratch() { return scratch_; }

 private:
  DeviceAllocations memory_;
  const int64_t bytes_;
  std::byte* const begin_;
  std::byte* const matmul_;
  std::byte* const scalar_;
  ScratchMemory scratch_;
};

}  // namespace gp::engine
