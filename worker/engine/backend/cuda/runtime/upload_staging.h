// UploadStaging: page-locked memory through which small host arrays reach the device without a
// wait. Segments are filled in turn. Before a segment is reused, Upload waits for its last copy,
// which has usually finished: the other segments were filled since. Belongs to the owner of a
// stream. One thread calls.
#pragma once

#include <array>
#include <cstdint>

#include "worker/engine/backend/cuda/runtime/runtime.h"

namespace gp::engine {

class UploadStaging {
 public:
  static constexpr int64_t kSegmentBytes = int64_t{1} << 20;
  static constexpr int kSegments = 4;

  explicit UploadStaging(const CudaStream& stream);

  // Device memory := host memory, in the order of the stream; `from` is free again on return. An
  // array of more than kSegmentBytes is copied from `from` directly, and the call waits for it.
  void Upload(void* to, const void* from, int64_t bytes);

 private:
  void NextSegment();

  const CudaStream& stream_;
  PinnedMemory memory_;
  std::array<CudaEvent, kSegments> done_;  // the last copy out of each segment
  int segment_ = 0;
  int64_t filled_ = 0;
};

}  // namespace gp::engine
