// Checks this machine for training on GPUs, from the output of gp-worker and gp-trainer-cuda,
// because these programs will do the training. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/gpctl/doctor/check.h"

namespace gp::gpctl {

// Driver and GPUs, from the document that `gp-worker --print-gpus` prints.
struct GpuFindings {
  std::vector<Check> checks;
  int gpus = 0;
};
GpuFindings CheckGpus(const std::string& document);

// The libraries of gp-trainer-cuda with their versions, and what each device can compute in, from
// the document that `gp-trainer-cuda --support` prints. `gpus`, the machine's number of GPUs,
// decides which libraries are needed.
std::vector<Check> CheckSupport(const std::string& document, int gpus);

// NCCL's processes on one machine communicate through /dev/shm; containers get 64 MiB by default.
Check CheckSharedMemory(uint64_t bytes, int gpus);
// RLIMIT_MEMLOCK: InfiniBand pins the memory that it sends.
Check CheckLockedMemory(uint64_t bytes);

}  // namespace gp::gpctl
