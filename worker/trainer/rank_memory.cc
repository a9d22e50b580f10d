#include "worker/trainer/rank_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/memory_forecast.h"
#include "worker/engine/backend/device_backend.h"
#include "worker/engine/collectives/node_group.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

// A hash of the machine and the memory limit, never 0. Ranks with equal numbers use the same
// memory; a collision has the probability 2^-52.
double NumberOf(const AvailableMemory& memory) {
  std::error_code error;
  const auto groups = std::filesystem::read_symlink("/proc/self/ns/cgroup", error);
  const std::string name = MachineIdentity() + " " + groups.string() + " " + memory.limit;
  return static_cast<double>((std::hash<std::string>()(name) >> 12) + 1);
}

// The number of ranks, including this one, that use the same memory.
int RanksThatShare(const AvailableMemory& memory, Communicator& communicator) {
  const double own = NumberOf(memory);
  std::vector<double> numbers(static_cast<size_t>(communicator.size()));
  numbers[static_cast<size_t>(communicator.rank())] = own;
  communicator.AllReduceMax(numbers);
  return static_cast<int>(std::count(numbers.begin(), numbers.end(), own));
}

std::string Shared(const std::string& limit, int ranks) {
  return ranks == 1 ? limit : fmt::format("{}, shared by {} ranks", limit, ranks);
}

}  // namespace

MachineMemory MemoryFor(const runspec::RunSpec& spec) {
  if (spec.resources.device != "gpu") return {};
  const DeviceInfo device = FindDevice();
  return {.free = {device.free_bytes, "free on the " + device.name},
          .limit = {device.memory_bytes, "all of the " + device.name},
          .is_shared = false};
}

AvailableMemory MemoryOfARank(const AvailableMemory& machine, int world_size, int threads) {
  const int64_t beside = runspec::RanksBeside(sysconf(_SC_NPROCESSORS_ONLN), threads, world_size);
  return {machine.bytes / beside, machine.limit};
}

void RefuseWhatDoesNotFit(const runspec::RunSpec& spec, const runspec::BatchPlan& plan, int threads,
                          const MachineMemory& memory, Communicator& communicator) {
  const int ranks = memory.is_shared ? RanksThatShare(memory.limit, communicator) : 1;
  const auto problem_with = [&](const AvailableMemory& shared) {
    return runspec::MemoryProblem(spec, plan, threads, shared.bytes / ranks,
                                  Shared(shared.limit, ranks), communicator.size());
  };
  const std::optional<std::string> hopeless = problem_with(memory.limit);
  const std::optional<std::string> full = problem_with(memory.free);
  double refused[] = {hopeless || full ? 1.0 : 0.0};
  communicator.AllReduceMax(refused);
  if (hopeless) throw TrainingError(ExitCause::kConfig, *hopeless);
  if (full) throw TrainingError(ExitCause::kOutOfMemory, *full);
  if (refused[0] == 0) return;
  throw TrainingError(ExitCause::kCollective, "the run does not fit into another rank's memory");
}

}  // namespace gp::engine
