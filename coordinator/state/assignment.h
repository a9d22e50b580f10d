// Assignment: a rank that should run on a node, derived from the cluster. The agent compares the
// whole list with the ranks that it runs: it starts what is missing, and kills every rank that is
// not listed (worker/agent/reconcile.h). Pure; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct RefusedSeal {
  int64_t step = 0;
  std::string reason;

  bool operator==(const RefusedSeal&) const = default;
};

struct Assignment {
  std::shared_ptr<const Run> run;
  Epoch epoch = 0;  // of the run; of a joiner: as in Joiner
  int rank = 0;
  SlotId slot;
  std::string incarnation = {};  // as in Placement
  bool joins = false;            // it is one of Run::joiners
  bool regroups = false;         // the run goes on in place when this rank leaves
  // The checkpoint of Run::resume_step, of a joiner the newest one: it takes settings from it, not
  // its state. Absent: the rank begins from the run file's init_from.
  std::optional<SealedCheckpoint> resume;
  std::string nccl_id;    // for a group that reduces on GPUs; empty until rank 0 reports it
  bool stop = false;      // the run is being cancelled or drained: save the step in progress, exit
  bool stop_now = false;  // with `stop`: exit without saving
  std::string stop_reason;
  // Answers to the checkpoints that the rank reported as written.
  std::vector<int64_t> sealed_steps;
  std::vector<RefusedSeal> refused_seals;
};

// In the order of submission. Empty for an unknown node.
std::vector<Assignment> AssignmentsOf(const Cluster& cluster, const NodeId& node);

// Why a checkpoint written in this epoch can never be sealed; empty when it can be, or is.
std::string SealRefusal(const Run& run, const contract::WrittenCheckpoint& written);

}  // namespace gp::coordinator
