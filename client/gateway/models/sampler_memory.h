// The memory that a sampler of a checkpoint needs, computed before it is started. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"

namespace gp::gateway {

struct SamplerMemoryOptions {
  std::string precision = "auto";
  int threads = 1;
  int64_t streams = 1;
  uint64_t memory_bytes_max = 0;
};

// For as many of the streams as fit. ResourceExhausted when not even one fits; FailedPrecondition
// when the sampler will refuse the checkpoint because the recorded precision is unknown.
StatusOr<uint64_t> SamplerMemory(const formats::CheckpointManifest& manifest,
                                 const SamplerMemoryOptions& options);

}  // namespace gp::gateway
