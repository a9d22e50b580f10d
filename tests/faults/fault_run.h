// FaultRun: the one training of the fault tests: a model so small that a step takes milliseconds,
// with everything that could betray a lost or repeated step: dropout, accumulation, four logical
// shards, a schedule.
#pragma once

#include <cstdint>
#include <string>

#include "integration/cluster.h"

namespace gp::testing {

// What each rank computes on. A GPU is the host here, which the tests' stand-ins for NVML and NCCL
// pass off as one: agent, trainer and collectives go the way of GPUs. With kGpuZero1 each rank
// keeps its part of the optimizer's state alone.
enum class RankDevice { kCpu, kGpu, kGpuZero1 };

// $GP_FAULT_SEED, or a random one. A test prints the seed that it uses.
uint64_t FaultSeed();

// The run file for `workers` ranks; its text is in <directory>/text.txt.
std::string FaultRun(int workers, int steps, RankDevice device = RankDevice::kCpu);

// A worker with `slots` of them.
WorkerSetup NodeWith(const Cluster& cluster, int slots, RankDevice device);

// Writes text.txt into the cluster's directory.
void WriteText(const Cluster& cluster);

// The bytes of model.safetensors of the run's newest sealed checkpoint; the test fails if there is
// none.
std::string FinalWeights(Cluster& cluster, const std::string& run);

// Trains `steps` with one rank and without disturbance, once per process and device, and returns
// the final weights.
const std::string& UndisturbedWeights(int steps, RankDevice device = RankDevice::kCpu);

}  // namespace gp::testing
