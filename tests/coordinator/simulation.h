// Simulation: the real Reconciler over a MemoryStore, model agents with model trainers, and a
// network between them, all in one thread and driven by one seed. During chaos, trainers, agents
// and the coordinator are killed at any moment, the last write of a killed coordinator is lost or
// not, messages are lost, repeated and late, and time jumps. A few checkpoints are damaged, and one
// node reports an intact one as damaged. An operator cordons and drains nodes and opens them again.
// The invariants are checked after every turn; once the chaos ends every run must end by itself.
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

  // Fails the test, naming the seed, at the first thing that is wrong.
  void Run(int chaos_turns);
  // The same without faults: users and the operator alone act.
  void RunCalmly(int turns);

  int coordinator_kills() const { return coordinator_kills_; }
  int failures() const;
  int quarantined() const;
  int drains() const;  // of runs

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
  void RunStep(RankReport& rank, const Assignment& assignment);
  bool FindsDamaged(const Peer& peer, const Assignment& assignment);
  void ReadSuspected();
  void Deliver(Peer& peer);
  void CoordinatorTurn();
  void StartCoordinator();
  void KillCoordinator();
  bool PeerIsGone(const Assignment& assignment) const;
  void Submit();
  void Check();
  void CheckPlacements(const Cluster& cluster);
  bool AllEnded() const;

  std::mt19937_64 random_;
  FakeClock clock_;
  MemoryStore::Disk disk_;
  std::unique_ptr<CrashingStore> store_;
  std::unique_ptr<BatchObserver> observer_;
  std::unique_ptr<Reconciler> reconciler_;
  std::vector<Peer> peers_;
  bool chaos_ = true;  // faults happen
  bool busy_ = true;   // people want things
  int paused_turns_ = 0;
  int coordinator_kills_ = 0;
  uint64_t sessions_ = 0;
  int addresses_ = 0;
  int submits_ = 0;
  std::set<RunId> acknowledged_;
  // With which NCCL id the ranks of each epoch connected.
  std::map<std::pair<RunId, Epoch>, std::string> connected_with_;
  std::map<RunId, Epoch> epochs_;                           // the newest that was seen
  std::map<RunId, RunState> ends_;                          // as seen by users
  std::map<std::pair<RunId, int64_t>, std::string> seals_;  // digests, as told to trainers
  std::set<std::string> damaged_;                           // digests
};

}  // namespace gp::coordinator
