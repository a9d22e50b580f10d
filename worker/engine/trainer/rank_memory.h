// What a rank of a group may take of its machine's memory, and whether its run fits into that. Any
// thread, the one that speaks to the group; errors are TrainingErrors.
#pragma once

#include "base/available_memory.h"
#include "runspec/run_spec.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

struct MachineMemory {
  AvailableMemory free = ReadAvailableMemory();
  AvailableMemory limit = ReadMemoryLimit();
  bool is_shared = true;  // with the other ranks of the machine; a device is one rank's
};

// What the run's plan is to fit into: the machine's memory, or the device's.
MachineMemory MemoryFor(const runspec::RunSpec& spec);

// The share of one of `world_size` ranks, as many of which may be on this machine as its
// processors hold. Careful rather than exact: for a choice, not for a refusal.
AvailableMemory MemoryOfARank(const AvailableMemory& machine, int world_size, int threads);

// Ends a run that does not fit, with its ranks that are known to draw on the same memory: kConfig
// where it could not fit even if nobody else used any, kOutOfMemory, which is tried again, where it
// is others' use (such as a process of the last epoch) that is in the way. Every rank of the group
// calls it, none returns before all have looked, and all throw if one does. REQUIRES: micro_batch
// is a number.
void RefuseWhatDoesNotFit(const runspec::RunSpec& spec, const runspec::BatchPlan& plan, int threads,
                          const MachineMemory& memory, Communicator& communicator);

}  // namespace gp::engine
