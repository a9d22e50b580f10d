// Agent: the loop of gp-worker. It owns the ranks of this node and their processes. In each turn it
// compares them with the coordinator's desired state (worker/agent/reconcile.h) and acts.
// Everything happens on the thread that calls Run, which must live as long as the trainers
// (worker/agent/trainer_process.h); other threads reach it through the Inbox.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "worker/agent/coordinator_port.h"
#include "worker/agent/inbox.h"
#include "worker/agent/load/machine_load.h"
#include "worker/agent/load/process_use.h"
#include "worker/agent/load/storage_space.h"
#include "worker/agent/metrics.h"
#include "worker/agent/progress_watch.h"
#include "worker/agent/rank.h"
#include "worker/agent/reconcile.h"
#include "worker/agent/run_files.h"
#include "worker/agent/slots.h"
#include "worker/agent/trainer_groups.h"
#include "worker/agent/trainer_process.h"

namespace gp::agent {

struct AgentOptions {
  std::string trainer_program;
  std::vector<std::string> trainer_environment;  // "NAME=value"
  std::string gpu_trainer_program;               // for GPU slots
  std::vector<std::string> gpu_environment;      // additional variables for trainers on GPUs
  FilePolicy files;                              // files that trainers may access
  std::optional<daemon::Account>
      account;                      // the user that trainers run as; absent: this process' user
  TrainerGroups* groups = nullptr;  // null: trainers share the agent's control group
  std::string data_address = "127.0.0.1";  // host that trainers listen on
  std::string version;                     // sent to trainers
  bool pin_trainers = true;                // to the cores of their slot
  ReconcileOptions reconcile;
  // The longest time that a stopping agent waits, after its last trainer has ended, for the
  // coordinator to record how the trainers ended. It exits earlier once all are recorded.
  std::chrono::nanoseconds farewell = std::chrono::seconds(5);
  std::function<void()> on_registered = [] {
  };  // called the first time that a coordinator accepts this agent
};

class Agent {
 public:
  Agent(AgentOptions options, SlotTable slots, const Clock& clock, Inbox& inbox,
        CoordinatorPort& coordinator, AgentMetrics& metrics);

  // Runs until StopRequested arrives. Then it stops every trainer with time to save, reaps it, and
  // sends the last report. Later StopRequests are ignored, except hurried ones, which kill the
  // trainers.
  void Run();

 private:
  struct Running {
    std::unique_ptr<TrainerGroup> group;  // null if it has no group of its own
    std::unique_ptr<TrainerProcess> process;
    uint64_t memory_kills_before = 0;  // OutOfMemoryKills() of the machine when it was started
  };
  struct Executor;

  void WaitForEvents();
  void DrainInbox();
  void HandleItem(const InboxItem& item);

  void ServeTrainers();
  void Serve(const RankKey& key, Running& running);
  void ForwardLines(const RankKey& key, TrainerProcess& process);
  void HandleMessages(Rank& rank, TrainerProcess& process, int count_max);
  void KillForProtocolError(Rank& rank, TrainerProcess& process, const std::string& what);
  void HandleMessage(Rank& rank, const link::Message& message);
  void HandleExit(Rank& rank, Running& running, int wait_status);
  static bool WasKilledForMemory(const Running& running);

  // Notes which trainers hang, and what the next report says about their progress.
  void WatchProgress();
  void Reconcile();
  void StartTrainer(const v1::Assignment& assignment);
  StatusOr<TrainerCommand> CommandFor(const v1::Assignment& assignment, const SlotInfo& slot) const;
  void ContinueRank(const RankKey& from, const RankKey& to);
  void LaunchTrainer(const v1::Assignment& assignment, const TrainerCommand& command,
                     const SlotInfo& slot, Rank& rank);
  // Makes a control group for the process. Null, with the reason logged, if that is not possible;
  // an error if the settings need a group.
  StatusOr<std::unique_ptr<TrainerGroup>> GroupFor(const Rank& rank, pid_t pid);
  void RecordExit(Rank& rank, ExitReport exit);
  void Send(const RankKey& key, const link::Message& message);
  void HandleStop(bool hurried);
  void Leave();
  void KillTrainers();
  bool HasLeft() const;
  void HandleSlotHealth(const SlotHealths& healths);

  // Measures what the trainers use, when the load of the machine is measured, too.
  void MeasureUse(v1::AgentReport& report);
  void Publish();
  v1::AgentReport MakeReport();

  const AgentOptions options_;
  SlotTable slots_;
  MachineLoad load_;
  ProcessUse process_use_;
  std::map<std::string, v1::ResourceUse> slot_use_;  // by slot, of the newest measurement
  std::optional<StorageSpace> storage_space_;        // absent without a storage root
  const Clock& clock_;
  Inbox& inbox_;
  CoordinatorPort& coordinator_;
  AgentMetrics& metrics_;

  RunningTime running_time_;
  NewestDesiredState desired_;
  RankTable ranks_;
  std::map<RankKey, Running> running_;
  std::map<RankKey, uint64_t> exit_reports_;  // number of the first report that has the exit
  bool registered_ = false;
  AgentMode mode_ = AgentMode::kServing;
  MonotonicTime last_exit_;  // time of the last exit, or of the request to stop if later
  bool changed_ = true;      // since the last urgent report
  bool stepped_ = false;     // a rank took a step since the last report
};

}  // namespace gp::agent
