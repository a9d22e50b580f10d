// Node: one agent and its slots as seen by the coordinator. After a restart of the coordinator only
// the cordon, the name of a cordoned node, desired_revision and `withdrawn` are known, from the
// replayed events; the rest comes back when the agent connects. A value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/state/ids.h"
#include "coordinator/state/rank.h"
#include "coordinator/state/time.h"

namespace gp::coordinator {

struct Slot {
  SlotId id;
  std::string device;  // "cpu" or a GPU's UUID
  std::vector<int> cores;
  uint64_t memory_bytes = 0;
  std::string device_name = {};         // this and compute_capability: empty for CPU cores
  std::string compute_capability = {};  // "9.0"
  std::string problem = {};             // why nothing new is placed here; empty when it is usable

  bool is_gpu() const { return device != "cpu"; }
};

// An operator keeps new ranks away from a node. It belongs to the node's id, so it outlives
// restarts of the agent and of the coordinator.
//
//        ┌── cordon ──▶ CORDONED ── drain ──┐
//   OPEN │                                  ▼
//    ▲   └── drain ──────────────────▶  DRAINED       drain: what runs there saves and leaves
//    └────────────── uncordon ──────────────┘
struct Cordon {
  bool drain = false;
  std::string reason;  // in the operator's words; may be empty
  std::string actor;   // the user who asked for it
  Timestamp since{};
};

// The load of the node's machine, by all programs that run there.
struct MachineLoad {
  double runnable_threads = 0;
  int cores = 0;
  double swap_bytes_per_second = 0;
  double busy_cores = -1;  // -1: unknown
  uint64_t memory_bytes = 0;
  uint64_t available_memory_bytes = 0;
  uint64_t storage_bytes = 0;
  uint64_t free_storage_bytes = 0;
};

// What a trainer uses.
struct ResourceUse {
  double cores = 0;
  uint64_t memory_bytes = 0;
};

// A trainer of this run ended by itself on the node (RankFailed::own_exit).
struct OwnExit {
  RunId run;
  Timestamp at{};
};

// How long a node's own exits are remembered.
inline constexpr std::chrono::hours kOwnExitMemory{1};

struct Node {
  NodeId id;
  std::string name;
  std::string incarnation;  // identifies the agent process
  std::string version;      // of gp, as its agent reports it
  std::vector<Slot> slots;
  std::string data_address;
  std::string gpu_driver;       // "580.65.06, CUDA 13.0"; empty without GPUs
  std::string gpu_problem;      // why this node's GPUs are not slots; empty when all is well
  std::string storage_problem;  // why nothing can be placed here; empty if it sees storage.root
  // Directories below which runs may name files; empty: any file for runs of the socket's owner, no
  // file for other runs. Nullopt: its agent does not report them. The agent enforces this
  // (worker/agent/run_files.h); here it only serves DataRootsWarning.
  std::optional<std::vector<std::string>> data_roots;

  std::optional<Cordon> cordon;    // durable; while set, no new ranks are placed here
  std::vector<OwnExit> own_exits;  // durable; the oldest first, none before the newest uncordon

  bool leaving = false;  // its agent is being stopped
  bool connected = false;
  uint64_t session = 0;  // the agent stream that speaks for this node
  Instant last_heard{};
  Timestamp last_heard_at{};
  std::vector<RankReport> ranks;  // the newest report, whole
  std::optional<MachineLoad> load;
  std::map<SlotId, ResourceUse> slot_use;  // of the trainers in the slots, as far as it is known

  // desired_revision: number of the newest durable event that changed this node's assignment.
  // applied_revision: the newest that the agent has applied.
  uint64_t desired_revision = 0;
  uint64_t applied_revision = 0;
  // Slots that were taken from a run, with the number of that event. A trainer may still be in the
  // slot until the agent has applied that revision.
  std::map<SlotId, uint64_t> withdrawn;

  const RankReport* FindRank(const RunId& run, Epoch epoch, int rank) const {
    for (const RankReport& report : ranks) {
      if (report.run == run && report.epoch == epoch && report.rank == rank) return &report;
    }
    return nullptr;
  }
};

}  // namespace gp::coordinator
