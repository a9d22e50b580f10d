// Math attention on its own stream, with scratch memory.
#pragma once

#include <optional>

#include "worker/engine/backend/cuda/attention/math_attention.h"
#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/products/cublas_lt.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/backend/cuda/runtime/scratch_memory.h"

namespace gp::engine {

class MathAttentionFixture : public DeviceTest {
 protected:
  explicit MathAttentionFixture(int64_t scratch_bytes) : scratch_bytes_(scratch_bytes) {}

  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    stream_.emplace();
    workspace_.emplace(CublasLt::kWorkspaceBytes);
    scratch_memory_.emplace(scratch_bytes_);
    scratch_.emplace(scratch_memory_->data(), scratch_memory_->bytes());
    products_.emplace(workspace_->data());
    math_.emplace(*products_, stream_->get(), false);
  }

  int64_t scratch_bytes_;
  std::optional<CudaStream> stream_;
  std::optional<DeviceMemory> workspace_;
  std::optional<DeviceMemory> scratch_memory_;
  std::optional<ScratchMemory> scratch_;
  std::optional<CublasLt> products_;
  std::optional<CudaMathAttention> math_;
};

}  // namespace gp::engine
