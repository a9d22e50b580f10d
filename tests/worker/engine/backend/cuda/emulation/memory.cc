// Device and pinned memory: ordinary allocations, listed in one table so that copies can be
// checked.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "worker/engine/backend/cuda/emulation/capture.h"
#include "worker/engine/backend/cuda/emulation/devices.h"
#include "worker/engine/backend/cuda/emulation/work_queue.h"

namespace gp::cuda_emulation {
namespace {

constexpr size_t kAlignment = 256;
constexpr int kPoison = 0xff;  // NaN in every float type

struct Allocation {
  size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeDevice;
};

struct Table {
  std::map<uintptr_t, Allocation> allocations;
  size_t device_bytes = 0;
};
Mutex table_mutex;
Table& TheTable() REQUIRES(table_mutex) {
  static auto* table = new Table;
  return *table;
}

cudaError_t Allocate(void** pointer, size_t bytes, cudaMemoryType type) {
  if (pointer == nullptr) return SetLastError(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (DeviceCount() == 0) return SetLastError(cudaErrorNoDevice);
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = ForbidDuringCapture(); error != cudaSuccess) return error;
  const bool is_device = type == cudaMemoryTypeDevice;
  MutexLock lock(table_mutex);
  Table& table = TheTable();
  if (is_device && bytes > Devices().totalGlobalMem - table.device_bytes) {
    return SetLastError(cudaErrorMemoryAllocation);
  }
  // Exactly the requested size, so that AddressSanitizer detects the first byte after it.
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes) != 0) {
    return SetLastError(cudaErrorMemoryAllocation);
  }
  std::memset(memory, kPoison, bytes);
  table.allocations[reinterpret_cast<uintptr_t>(memory)] = {bytes, type};
  if (is_device) table.device_bytes += bytes;
  *pointer = memory;
  return cudaSuccess;
}

cudaError_t Release(void* pointer, cudaMemoryType type) {
  if (pointer == nullptr) return cudaSuccess;
  if (const cudaError_t error = ForbidDuringCapture(); error != cudaSuccess) return error;
  FinishAllWork();  // queued work may use the memory
  MutexLock lock(table_mutex);
  Table& table = TheTable();
  const auto found = table.allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == table.allocations.end() || found->second.type != type) {
    return SetLastError(cudaErrorInvalidValue);
  }
  if (type == cudaMemoryTypeDevice) table.device_bytes -= found->second.bytes;
  table.allocations.erase(found);
  std::free(pointer);
  return cudaSuccess;
}

// The kind of memory at [pointer, pointer + bytes). Sets *fits if the range lies within one
// allocation.
cudaMemoryType TypeOf(const void* pointer, size_t bytes, bool* fits) {
  MutexLock lock(table_mutex);
  const auto& allocations = TheTable().allocations;
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  auto found = allocations.upper_bound(at);
  *fits = true;
  if (found == allocations.begin()) return cudaMemoryTypeUnregistered;
  --found;
  const size_t offset = at - found->first;
  if (offset >= found->second.bytes) return cudaMemoryTypeUnregistered;
  *fits = bytes <= found->second.bytes - offset;
  return found->second.type;
}

cudaError_t CheckEnd(const void* pointer, size_t bytes, bool must_be_device, bool must_be_host) {
  bool fits = true;
  const bool is_device = TypeOf(pointer, bytes, &fits) == cudaMemoryTypeDevice;
  const bool wrong = (must_be_device && !is_device) || (must_be_host && is_device);
  return fits && !wrong ? cudaSuccess : SetLastError(cudaErrorInvalidValue);
}

cudaError_t CheckCopy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool checked = kind != cudaMemcpyDefault;
  const cudaError_t error = CheckEnd(to, bytes, to_device, checked && !to_device);
  return error != cudaSuccess ? error : CheckEnd(from, bytes, from_device, checked && !from_device);
}

}  // namespace
}  // namespace gp::cuda_emulation

using namespace gp::cuda_emulation;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return Allocate(pointer, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaFree(void* pointer) { return Release(pointer, cudaMemoryTypeDevice); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return Allocate(pointer, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int) {
  return Allocate(pointer, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* pointer) { return Release(pointer, cudaMemoryTypeHost); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = Devices().totalGlobalMem;
  gp::MutexLock lock(table_mutex);
  *free = *total - TheTable().device_bytes;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  bool fits = true;
  const cudaMemoryType type = TypeOf(pointer, 1, &fits);
  auto* memory = const_cast<void*>(pointer);
  *attributes = {type, 0, type == cudaMemoryTypeUnregistered ? nullptr : memory,
                 type == cudaMemoryTypeHost ? memory : nullptr};
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = ForbidDuringCapture(); error != cudaSuccess) return error;
  if (const cudaError_t error = CheckCopy(to, from, bytes, kind); error != cudaSuccess) {
    return error;
  }
  FinishLegacyWork();
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const cudaError_t error = CheckCopy(to, from, bytes, kind);
  if (error != cudaSuccess) return error;
  bool fits = true;
  const bool from_pageable = TypeOf(from, bytes, &fits) == cudaMemoryTypeUnregistered;
  const bool to_pageable = TypeOf(to, bytes, &fits) == cudaMemoryTypeUnregistered;
  if (from_pageable && !to_pageable && IsDeferred()) {
    // Pageable memory is copied to a staging buffer before the call returns.
    const auto* first = static_cast<const std::byte*>(from);
    return Submit(stream, [to, staged = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    });
  }
  return Submit(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return cudaMemsetAsync(pointer, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const cudaError_t error = CheckEnd(pointer, bytes, true, false);
  if (error != cudaSuccess) return error;
  return Submit(stream, [=] { std::memset(pointer, value, bytes); });
}
