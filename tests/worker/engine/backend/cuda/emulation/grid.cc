// Launches: checks of the shape, shared memory, and running the blocks of a grid one after another.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "cuda_emulation/launch.h"
#include "worker/engine/backend/cuda/emulation/block_runner.h"
#include "worker/engine/backend/cuda/emulation/devices.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace gp::cuda_emulation {
namespace {

constexpr int kPoison = 0xff;
// Bytes after a block's dynamic shared memory. Check() detects writes to them after the block;
// AddressSanitizer detects reads.
constexpr size_t kCanaryBytes = 256;
constexpr unsigned char kCanary = 0xa5;
constexpr size_t kMostSharedBytes = size_t{256} << 10;
// The limit for a kernel that does not request more.
constexpr size_t kDefaultSharedBytes = size_t{48} << 10;

struct Range {
  void* begin;
  size_t bytes;
};

// The shared memory of every kernel that has run so far, and the dynamic memory of the running
// block.
struct SharedMemory {
  std::vector<Range> ranges;
  alignas(1024) std::byte dynamic[kMostSharedBytes + kCanaryBytes];
};
SharedMemory shared;  // used by the thread that holds running_kernel

Mutex running_kernel;
bool is_falling = false;  // whether the next block starts with its last thread

Mutex attributes_mutex;
std::map<const void*, size_t> dynamic_limits GUARDED_BY(attributes_mutex);

#if defined(__SANITIZE_ADDRESS__)
void HideCanary(std::byte* canary) { __asan_poison_memory_region(canary, kCanaryBytes); }
void ShowCanary(std::byte* canary) { __asan_unpoison_memory_region(canary, kCanaryBytes); }
#else
void HideCanary(std::byte*) {}
void ShowCanary(std::byte*) {}
#endif

// The dynamic shared memory of one block.
class DynamicRange {
 public:
  explicit DynamicRange(size_t bytes) : bytes_(bytes), canary_(shared.dynamic + bytes) {
    std::memset(canary_, kCanary, kCanaryBytes);
    HideCanary(canary_);
  }
  ~DynamicRange() { ShowCanary(canary_); }
  DynamicRange(const DynamicRange&) = delete;
  DynamicRange& operator=(const DynamicRange&) = delete;

  void Poison() { std::memset(shared.dynamic, kPoison, bytes_); }
  void Check(uint3 block) {
    ShowCanary(canary_);
    const bool intact = std::all_of(canary_, canary_ + kCanaryBytes,
                                    [](std::byte value) { return value == std::byte{kCanary}; });
    if (!intact) {
      throw KernelError("block (" + std::to_string(block.x) + ", " + std::to_string(block.y) +
                        ", " + std::to_string(block.z) + ") wrote past the end of its " +
                        std::to_string(bytes_) + " bytes of dynamic shared memory");
    }
    HideCanary(canary_);
  }

 private:
  size_t bytes_;
  std::byte* canary_;
};

std::vector<int> awaited;  // number of AwaitPrevious calls of each thread of the running block

void CheckAwaited(const LaunchShape& shape, uint3 block) {
  if (!shape.awaits_previous) return;
  const auto found =
      std::find_if(awaited.begin(), awaited.end(), [](int calls) { return calls != 1; });
  if (found == awaited.end()) return;
  throw KernelError("thread " + std::to_string(found - awaited.begin()) + " of block (" +
                    std::to_string(block.x) + ", " + std::to_string(block.y) + ", " +
                    std::to_string(block.z) + ") called AwaitPrevious " + std::to_string(*found) +
                    " times; every thread must call it once, and first");
}

void RunBlock(const LaunchShape& shape, uint3 block, DynamicRange& dynamic,
              const std::function<void()>& thread) {
  static auto* runner = new BlockRunner;  // its fibers are reused for every launch of the process
  dynamic.Poison();
  for (const Range& range : shared.ranges) std::memset(range.begin, kPoison, range.bytes);
  awaited.assign(size_t{shape.block.x} * shape.block.y * shape.block.z, 0);
  runner->Run(shape, block, is_falling, thread);
  CheckAwaited(shape, block);
  is_falling = !is_falling;
  dynamic.Check(block);
}

size_t DynamicLimitOf(const void* kernel) {
  MutexLock lock(attributes_mutex);
  const auto found = dynamic_limits.find(kernel);
  return found == dynamic_limits.end() ? kDefaultSharedBytes : found->second;
}

}  // namespace

SharedRange::SharedRange(void* begin, size_t bytes) {
  shared.ranges.push_back({begin, bytes});
  std::memset(begin, kPoison, bytes);
}

void* DynamicShared() { return shared.dynamic; }

void NoteAwaited() {
  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  ++awaited[thread];
}

cudaError_t CheckShape(const void* kernel, const LaunchShape& shape) {
  const dim3 grid = shape.grid, block = shape.block;
  const size_t threads = size_t{block.x} * block.y * block.z;
  const bool grid_fits = grid.x >= 1 && grid.x <= 2147483647u && grid.y >= 1 && grid.y <= 65535 &&
                         grid.z >= 1 && grid.z <= 65535;
  if (!grid_fits || threads < 1 || threads > 1024 || block.z > 64) {
    return SetLastError(cudaErrorInvalidConfiguration);
  }
  if (shape.shared_bytes > DynamicLimitOf(kernel)) return SetLastError(cudaErrorInvalidValue);
  return cudaSuccess;
}

void RunGrid(const LaunchShape& shape, const std::function<void()>& thread) {
  MutexLock lock(running_kernel);
  DynamicRange dynamic(shape.shared_bytes);
  for (unsigned int z = 0; z < shape.grid.z; ++z) {
    for (unsigned int y = 0; y < shape.grid.y; ++y) {
      for (unsigned int x = 0; x < shape.grid.x; ++x) RunBlock(shape, {x, y, z}, dynamic, thread);
    }
  }
}

}  // namespace gp::cuda_emulation

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  using namespace gp::cuda_emulation;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const size_t most = Devices().sharedMemPerBlockOptin;
  if (value < 0 || static_cast<size_t>(value) > most) return SetLastError(cudaErrorInvalidValue);
  gp::MutexLock lock(attributes_mutex);
  dynamic_limits[kernel] = static_cast<size_t>(value);
  return cudaSuccess;
}
