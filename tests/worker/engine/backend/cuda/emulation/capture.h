// A stream capture under way: work in the order it was submitted, and the streams that take part.
// Used under the lock of streams.cc.
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
  // Streams that joined through an event, and those that the origin has not waited for since their
  // last work.
  std::set<cudaStream_t> members;
  std::set<cudaStream_t> unjoined;
};

// An error where the calling thread may not allocate or wait because of a capture under way, which
// the attempt makes invalid.
cudaError_t ForbidDuringCapture();

// Runs all queued work: of every stream; of the legacy stream and those that synchronise with it.
void FinishAllWork();
void FinishLegacyWork();

}  // namespace gp::cuda_emulation
