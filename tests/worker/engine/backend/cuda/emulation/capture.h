// A stream capture in progress: the submitted work in order, and the streams that take part. Used
// under the lock of streams.cc.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "cuda_runtime.h"

namespace gp::cuda_emulation {

struct Capture {
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  bool valid = true;
  std::vector<std::function<void()>> work;
  // `members` joined through an event; the origin has not waited for those in `unjoined` since
  // their last work.
  std::set<cudaStream_t> members;
  std::set<cudaStream_t> unjoined;
};

// Returns an error if a capture in progress forbids the calling thread to allocate or wait; the
// attempt invalidates the capture.
cudaError_t ForbidDuringCapture();

// FinishAllWork runs the queued work of all streams; FinishLegacyWork only that of the legacy
// stream and of the streams that synchronise with it.
void FinishAllWork();
void FinishLegacyWork();

}  // namespace gp::cuda_emulation
