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

// The memory for as many of options.streams as fit into memory_bytes_max. ResourceExhausted when
// not even one stream fits; FailedPrecondition when the sampler would refuse the checkpoint because
// it does not support the recorded precision.
StatusOr<uint64_t> SamplerMemory(const formats::CheckpointManifest& manifest,
                                 const SamplerMemoryOptions& options);

}  // namespace gp::gateway
