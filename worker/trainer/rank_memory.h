// The share of its machine's memory that a rank may use, and whether its run fits into it.
// Functions with a Communicator: on the thread that uses the group; others: on any. Errors are
// TrainingErrors.
#pragma once

#include "base/machine/available_memory.h"
#include "plan/run_spec.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

struct MachineMemory {
  AvailableMemory free = ReadAvailableMemory();
  AvailableMemory limit = ReadMemoryLimit();
  bool is_shared = true;  // with the other ranks on the machine; a device belongs to one rank
};

// The memory that the run's plan must fit into: the machine's, or the device's.
MachineMemory MemoryFor(const runspec::RunSpec& spec);

// The memory for one of `world_size` ranks, if as many of them are on this machine as its
// processors allow. A low estimate: use it to choose sizes, not to refuse a run.
AvailableMemory MemoryOfARank(const AvailableMemory& machine, int world_size, int threads);

// Throws if the run does not fit, together with its other ranks that use the same memory. kConfig
// when it could not fit even if no other process used memory. kOutOfMemory, which is retried, when
// the memory of other processes (such as one of the last epoch) is the reason. A collective
// operation: no rank returns before all have checked, and all throw if one does; a rank that fits
// itself throws kCollective. REQUIRES: micro_batch is a number.
void RefuseWhatDoesNotFit(const runspec::RunSpec& spec, const runspec::BatchPlan& plan, int threads,
                          const MachineMemory& memory, Communicator& communicator);

}  // namespace gp::engine
