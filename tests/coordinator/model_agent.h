// ModelAgent: models a node's agent and its trainers without processes. It makes the node's ranks
// match the coordinator's desired state; the test decides what the trainers do. A value type, not
// thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coordinator/state/assignment.h"
#include "coordinator/state/event.h"

namespace gp::coordinator {

// The number of SIGKILL.
inline constexpr int kKillSignal = 9;

class ModelAgent {
 public:
  ModelAgent(std::string name, int slot_count, int gpu_count = 0);

  const NodeId& id() const { return id_; }
  const std::string& name() const { return id_.value(); }
  std::vector<RankReport>& ranks() { return ranks_; }
  const std::vector<RankReport>& ranks() const { return ranks_; }
  RankReport* Find(const RunId& run, int rank);

  // Opens a new stream with the number `session`.
  NodeConnected Hello(uint64_t session);
  NodeReported Report() const;
  NodeDisconnected Goodbye() const { return {id_, session_}; }
  uint64_t session() const { return session_; }
  int gpu_count() const { return gpu_count_; }

  // Ends ranks that are not listed, starts new ones, and removes ranks that ended and are no longer
  // listed. Ignores a revision older than the one applied.
  void Obey(uint64_t revision, const std::vector<Assignment>& assignments);

  // The newest assignment for this rank, or null.
  const Assignment* AssignmentFor(const RankReport& rank) const;

  // LoseGpu: the GPU falls off the bus and its ranks end. Mend: all GPUs are back.
  void LoseGpu(int number);
  void Mend() { slot_problems_.clear(); }

  // kill -9 of the agent: its trainers die with it, and it starts again with a new incarnation.
  void Crash();

  std::string storage_problem;
  std::string gpu_problem;
  bool silent = false;   // connected, but sends nothing
  bool leaving = false;  // it is being stopped

 private:
  void ContinueRanks();
  bool SlotIsBusy(const SlotId& slot) const;

  NodeId id_;
  int slot_count_;
  int gpu_count_;
  int incarnation_ = 1;
  uint64_t session_ = 0;
  uint64_t revision_ = 0;
  int trainers_started_ = 0;
  std::vector<RankReport> ranks_;
  std::map<SlotId, std::string> slot_problems_;
  std::vector<Assignment> assignments_;
};

}  // namespace gp::coordinator
