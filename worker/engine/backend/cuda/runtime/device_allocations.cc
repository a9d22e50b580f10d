#include "worker/engine/backend/cuda/runtime/device_allocations.h"

#include <cstring>
#include <new>
#include <string>

#include "plan/gpu_workspace.h"
#include "worker/engine/backend/cuda/runtime/cuda_error.h"

namespace gp::engine {
namespace {

// std::bad_alloc with a message that names the memory and says what to do.
class DeviceMemoryFull : public std::bad_alloc {
 public:
  explicit DeviceMemoryFull(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

std::byte* PieceOf(std::byte* begin, const runspec::ModelShape& shape,
                   const runspec::ArenaOptions& options, const std::string& name) {
  return begin + runspec::GpuWorkspacePieceOf(shape, options, name).offset_bytes;
}

}  // namespace

void* DeviceAllocations::Device(int64_t bytes) {
  try {
    device_.emplace_back(bytes);
  } catch (const CudaError& error) {
    if (error.code() == cudaErrorMemoryAllocation) throw DeviceMemoryFull(error.what());
    throw;
  }
  device_bytes_ += bytes;
  return device_.back().data();
}

void* DeviceAllocations::Host(int64_t bytes) {
  host_.emplace_back(bytes);
  std::memset(host_.back().data(), 0, static_cast<size_t>(bytes));
  return host_.back().data();
}

CudaWorkspace::CudaWorkspace(const runspec::ModelShape& shape, const runspec::ArenaOptions& options)
    : bytes_(runspec::GpuWorkspaceBytes(shape, options)),
      begin_(static_cast<std::byte*>(memory_.Device(bytes_))),
      matmul_(PieceOf(begin_, shape, options, "matmul")),
      scalar_(PieceOf(begin_, shape, options, "scalars")),
      scratch_(PieceOf(begin_, shape, options, "scratch"),
               runspec::GpuWorkspacePieceOf(shape, options, "scratch").size_bytes) {}

}  // namespace gp::engine
