// Assignment: a rank that should run on a node, derived from the cluster. The agent compares the
// whole list with what it runs, and stops everything that is not listed. Pure; thread-safe.
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
  int rank = 0;
  SlotId slot;
  std::optional<SealedCheckpoint> resume;
  std::string nccl_id;  // for a group that reduces on GPUs; empty until rank 0 reports it
  bool stop = false;
  bool stop_now = false;
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
