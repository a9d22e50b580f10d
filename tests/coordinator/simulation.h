// Simulation: the real Reconciler over a MemoryStore, model agents with model trainers, and a
// network between them, all in one thread and driven by one seed. During chaos, trainers, agents
// and the coordinator are killed at any time; the last write of a killed coordinator may be lost;
// messages are lost, repeated and delayed; and time jumps. Ranks hang, alone or because the ranks
// of their group cannot reach each other any more. Ranks join the groups that lack some. Some
// checkpoints are damaged, and one node reports intact ones as damaged. An operator cordons, drains
// and uncordons nodes. A user submits a sweep by halving, and may cancel it. The invariants are
// checked after every turn. Once the chaos ends, every run and the sweep must end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "coordinator/control/reconciler.h"
#include "coordinator/model_agent.h"
#include "coordinator/store/memory_store.h"
#include "fakes/fake_clock.h"

namespace gp::coordinator {

class Simulation {
 public:
  explicit Simulation(uint64_t seed);
  ~Simulation();

  // Runs with faults. Fails the test at the first error and names the seed.
  void Run(int chaos_turns);
  // Runs without faults: only users and the operator act.
  void RunCalmly(int turns);

  int coordinator_kills() const { return coordinator_kills_; }
  int failures() const;
  int quarantined() const;
  int drains() const;      // number of drained runs
  int regroups() const;    // groups that went on without ranks that died, or with new ones
  int joins() const;       // of these: groups with ranks that joined
  int stalls() const;      // failures because a rank made no progress
  int promotions() const;  // how often a trial of the sweep trained on to another rung

 private:
  class CrashingStore;
  class Recorder;
  // An agent, its connection, and the messages in flight.
  struct Peer {
    ModelAgent agent;
    bool connected = false;
    std::deque<Event> up;
    struct DesiredState {
      uint64_t revision = 0;
      std::vector<Assignment> assignments;
    };
    std::deque<DesiredState> down;
  };

  bool Chance(double probability);
  int Pick(int least, int most);

  void FinishRuns();
  void Turn();
  void UserTurn();
  void OperatorTurn();
  void Request(EventBody body);
  void PeerTurn(Peer& peer);
  bool MayConnect(const RankReport& rank, const Assignment& assignment);
  void TrainerTurn(Peer& peer, RankReport& rank);
  void LosePeer(RankReport& rank, const Assignment& assignment);
  void EnterGroup(RankReport& rank, const Assignment& assignment);
  void PrepareToJoin(RankReport& rank);
  bool Hangs(RankReport& rank, const Assignment& assignment);
  void WriteCheckpoint(RankReport& rank, const Assignment& assignment);
  void RunStep(RankReport& rank, const Assignment& assignment);
  bool FindsDamaged(const Peer& peer, const Assignment& assignment);
  void ReadSuspected();
  void Deliver(Peer& peer);
  void CoordinatorTurn();
  void StartCoordinator();
  void KillCoordinator();
  bool PeerIsGone(const Assignment& assignment) const;
  void Submit();
  void SubmitSweep();
  void CheckSweepEnd() const;
  void Check();
  void CheckPlacements(const Cluster& cluster);
  static void CheckSweeps(const Cluster& cluster);
  bool AllEnded() const;

  std::mt19937_64 random_;
  FakeClock clock_;
  MemoryStore::Disk disk_;
  std::unique_ptr<CrashingStore> store_;
  std::unique_ptr<BatchObserver> observer_;
  std::unique_ptr<Reconciler> reconciler_;
  std::vector<Peer> peers_;
  bool chaos_ = true;  // faults happen
  bool busy_ = true;   // users and the operator make requests
  int paused_turns_ = 0;
  int coordinator_kills_ = 0;
  uint64_t sessions_ = 0;
  int addresses_ = 0;
  int submits_ = 0;
  bool has_sweep_ = false;  // it was requested
  std::set<RunId> acknowledged_;
  // The NCCL id with which the ranks of each epoch connected.
  std::map<std::pair<RunId, Epoch>, std::string> connected_with_;
  std::map<RunId, Epoch> epochs_;    // newest epoch seen
  std::map<RunId, Epoch> stepping_;  // newest epoch in which a rank committed a step
  std::map<RunId, RunState> ends_;   // final states seen by users
  // sealed digests as trainers were told them
  std::map<std::pair<RunId, int64_t>, std::string> seals_;
  std::set<std::string> damaged_;  // digests of damaged checkpoints
  // The epochs whose ranks cannot reach each other any more, and the trainers that hang alone.
  std::set<std::pair<RunId, Epoch>> cut_;
  std::set<std::string> hung_;
  std::set<RunId> has_hung_;
};

}  // namespace gp::coordinator
