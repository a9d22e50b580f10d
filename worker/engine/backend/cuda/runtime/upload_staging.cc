#include "worker/engine/backend/cuda/runtime/upload_staging.h"

#include <cstring>

namespace gp::engine {
namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

UploadStaging::UploadStaging(const CudaStream& stream)
    : stream_(stream),
      memory_(kSegments * kSegmentBytes),
      done_{CudaEvent(CudaEvent::Timing::kOff), CudaEvent(CudaEvent::Timing::kOff),
            CudaEvent(CudaEvent::Timing::kOff), CudaEvent(CudaEvent::Timing::kOff)} {}

void UploadStaging::Upload(void* to, const void* from, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  if (bytes > kSegmentBytes) {
    CheckCuda(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, stream_.get()),
              "cudaMemcpyAsync to the device");
    stream_.Synchronize();
    return;
  }
  if (filled_ + bytes > kSegmentBytes) NextSegment();
  std::byte* staged = memory_.data() + segment_ * kSegmentBytes + filled_;
  std::memcpy(staged, from, size);
  CheckCuda(cudaMemcpyAsync(to, staged, size, cudaMemcpyHostToDevice, stream_.get()),
            "cudaMemcpyAsync to the device");
  filled_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void UploadStaging::NextSegment() {
  done_[static_cast<size_t>(segment_)].Record(stream_);
  segment_ = (segment_ + 1) % kSegments;
  filled_ = 0;
  done_[static_cast<size_t>(segment_)].Synchronize();
}

}  // namespace gp::engine
