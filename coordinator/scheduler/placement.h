// Placement: the slots that a gang gets. All or nothing. Pure; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The slots that a plan may still assign. Made once per plan and reduced by each placement.
struct FreeSlots {
  struct NodeSlots {
    NodeId node;
    std::string name;
    std::vector<Slot> free;
    int cpu_total = 0;  // usable slots, free or not
    int gpu_total = 0;
  };
  std::vector<NodeSlots> nodes;  // usable ones, by name
  int cpu_total = 0;             // usable slots of these nodes, free or not
  int gpu_total = 0;
  std::string unusable;      // why one node or slot, the last one found, is unusable; may be empty
  std::string unusable_gpu;  // the same for GPUs
  std::string cordoned;      // "1 of 3 nodes is drained: a (new kernel)"; empty if no node is
  int cpu_cordoned = 0;      // slots of cordoned and drained nodes
  int gpu_cordoned = 0;
  Instant data_reports_from{};  // older reports that a node lacks a run's data do not count

  int Count(bool gpu) const;
  int Total(bool gpu) const { return gpu ? gpu_total : cpu_total; }
  int Cordoned(bool gpu) const { return gpu ? gpu_cordoned : cpu_cordoned; }
};

// Usable slots of connected nodes that see the storage root and have an unexpired lease and no
// cordon. No run holds them, no trainer is in them, and no agent still has to stop a trainer there.
FreeSlots FindFreeSlots(const Cluster& cluster, const Policy& policy);

// The part of `free` that the run may use: without nodes that cannot compute with the run's
// kernels, and without nodes that lack its data. While the slots of the other nodes, free or not,
// are too few, nodes that lack the data are included again, those with the oldest report first.
FreeSlots UsableBy(const Run& run, FreeSlots free);

// Whether the run would fit, if every slot were free, without `node` and the nodes that lack its
// data.
bool FitsWithout(const NodeId& node, const Run& run, FreeSlots free);

// Whether the run needs GPUs. The run file sets it, and the first placement fixes it. With
// `device: auto` the run takes GPUs when `all` has enough of them, free or not, also counting those
// of cordoned nodes.
bool TakesGpus(const Run& run, const FreeSlots& all);

// Prefers a single node that holds the whole gang, the one with the fewest slots left over.
// Otherwise fills nodes in turn, beginning with the most free slots. Uses Run::doubtful_nodes only
// if the others have no room. Takes the slots out of `free`. Nullopt when the gang does not fit.
std::optional<std::vector<Placement>> Place(const Run& run, FreeSlots& free);

// A slot of CPU cores for one more rank of a run that trains; takes it out of `free`. Nullopt when
// there is none.
std::optional<Placement> PlaceOneMore(const Run& run, FreeSlots& free);

// Why the gang cannot be placed and what would help: "placement: needs 2 slots, 1 free of 4".
std::string WhyNotPlaced(const Run& run, const FreeSlots& all);
// True when the gang would not fit even if every slot of `all` were free. Nodes that cannot compute
// with the run's kernels do not count; nodes that lack its data do.
bool IsTooLarge(const Run& run, const FreeSlots& all);

// The smallest number of cores among the slots of a placement, at least 1.
int CoresPerRank(const Cluster& cluster, const std::vector<Placement>& placement);

}  // namespace gp::coordinator
