// Placement: which slots a gang gets. All or nothing. Pure; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The slots a plan may still give away. Made once per plan and reduced by each placement.
struct FreeSlots {
  struct NodeSlots {
    NodeId node;
    std::string name;
    std::vector<Slot> free;
    int cpu_total = 0;  // free or not
    int gpu_total = 0;
  };
  std::vector<NodeSlots> nodes;  // usable ones, by name
  int cpu_total = 0;             // slots of usable nodes, free or not
  int gpu_total = 0;
  std::string unusable;      // why some nodes do not count; empty when all do
  std::string unusable_gpu;  // why some GPUs do not count; empty when all do

  int Count(bool gpu) const;
  int Total(bool gpu) const { return gpu ? gpu_total : cpu_total; }
};

// Usable slots of connected nodes with proven storage that no run holds, no trainer occupies, and
// no agent still has to empty.
FreeSlots FindFreeSlots(const Cluster& cluster, const Policy& policy);

// What of `free` the run may use: not the nodes that cannot compute what its record demands.
FreeSlots UsableBy(const Run& run, FreeSlots free);

// Whether the run takes GPUs: what its first placement decided, else what was asked for; where
// either will do, GPUs when `all` has enough of them, free or not.
bool TakesGpus(const Run& run, const FreeSlots& all);

// A node that holds the whole gang is preferred, the one with the fewest slots left over; otherwise
// nodes are filled from the one with the most free slots. Nodes whose storage has failed the run
// are used only when the others have no room. Takes the slots out of `free`. Nothing
// when the gang does not fit.
std::optional<std::vector<Placement>> Place(const Run& run, FreeSlots& free);

// Why the gang cannot be placed and what would help: "placement: needs 2 slots, 1 free of 4".
std::string WhyNotPlaced(const Run& run, const FreeSlots& all);
// Even with every slot free the gang would not fit.
bool IsTooLarge(const Run& run, const FreeSlots& all);

// The smallest number of cores among the slots of a placement, at least 1.
int CoresPerRank(const Cluster& cluster, const std::vector<Placement>& placement);

}  // namespace gp::coordinator
