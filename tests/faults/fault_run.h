// FaultRun: the training run of the fault tests. Its model is so small that a step takes
// milliseconds, and it uses everything that would reveal a lost or repeated step: dropout, gradient
// accumulation, four logical shards, and a learning-rate schedule.
#pragma once

#include <cstdint>
#include <string>

#include "integration/cluster.h"

namespace gp::testing {

// The device that each rank uses. A GPU is simulated on the host with the tests' fakes of NVML and
// NCCL, so agent, trainer and collectives use their GPU code paths. With kGpuZero1 each rank keeps
// only its part of the optimizer's state.
enum class RankDevice { kCpu, kGpu, kGpuZero1 };

// $GP_FAULT_SEED, or a random seed. A test prints the seed that it uses.
uint64_t FaultSeed();

// The run file for `workers` ranks. It reads <directory>/text.txt.
std::string FaultRun(int workers, int steps, RankDevice device = RankDevice::kCpu);

// A worker with `slots` slots of this device.
WorkerSetup NodeWith(const Cluster& cluster, int slots, RankDevice device);

// Writes text.txt into the cluster's directory.
void WriteText(const Cluster& cluster);

// The content of model.safetensors in the run's newest sealed checkpoint; fails the test if there
// is none.
std::string FinalWeights(Cluster& cluster, const std::string& run);

// The final weights after `steps` on one rank without faults. Trained once per process and device.
const std::string& UndisturbedWeights(int steps, RankDevice device = RankDevice::kCpu);

}  // namespace gp::testing
