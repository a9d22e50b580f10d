// Saves and restores the training state. Only rank 0 has a Checkpoints object: it keeps the one
// save that may be in flight and reports saves that have ended. The last save of a training is
// tried again until it succeeds, because its state is stored nowhere else. Every rank calls
// RestoreState. One thread calls; errors are TrainingErrors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "contract/exit_cause.h"
#include "contract/written_checkpoint.h"
#include "formats/checkpoint_manifest.h"
#include "worker/checkpoint/checkpoint_writer.h"
#include "worker/engine/step/training_step.h"
#include "worker/trainer/prepared_run.h"
#include "worker/trainer/run_budget.h"
#include "worker/trainer/run_storage.h"

namespace gp::engine {

class Checkpoints {
 public:
  struct Events {
    // Called when a save has succeeded: all files are synced.
    std::function<void(SavedCheckpoint saved)> written;
    // Called when the last save of the training failed. Returns after `pause`, then the save is
    // tried again; throws when there is no time for that.
    std::function<void(const std::string& reason, std::chrono::nanoseconds pause)> await_retry;
  };

  // `run` and `clock` must outlive this object. `events` are called from the calling thread.
  Checkpoints(const TrainingPlace& place, PreparedRun& run, Events events, const Clock& clock);

  // Begins to save the state. First waits for a save in flight, for less time than the peers wait
  // in a collective. If that save is still in flight, later saves are skipped with a warning until
  // it ends. A failed save is a warning too. Without memory for copies (checkpoint.snapshot_memory:
  // 0) the save ends before the call returns.
  void Save(TrainingStep& training_step, const RunBudget& budget,
            std::optional<double> validation_loss);

  // Saves the last state, if it is not saved yet, and tries again until it succeeds or
  // Events::await_retry throws. `final`: all steps are done.
  void SaveLast(TrainingStep& training_step, const RunBudget& budget,
                std::optional<double> validation_loss, bool final);

  // Returns when the optimizer may overwrite values [first, last) of the state.
  void BeforeOverwrite(int64_t first, int64_t last);

  // For a trainer with optimizer shards: where to gather all ranks' moments before the next Save.
  // Nullptr when that Save will be skipped; with `last` (SaveLast) it never is. Waits for the save
  // in flight.
  HostMoments* MomentsToFill(bool last);

  // Later saves belong to this epoch: the process has entered another group.
  void set_epoch(uint64_t epoch) { epoch_ = epoch; }

  bool in_flight() const { return writer_.in_flight(); }

  // Writes to the run's directory, also to a new one that replaced it.
  const Storage& storage() const { return *storage_; }

  // Reports a save that has ended since the last call.
  void Poll();

  // Why the newest failed save failed, or in which new directory saves continue; returned once. It
  // has been logged already.
  std::optional<std::string> TakeWarning() { return std::exchange(warning_, std::nullopt); }

  // The number of saves that failed or were skipped so far.
  int64_t failed_saves() const { return failed_saves_; }

  // How long the caller waited for the newest save so far.
  std::chrono::nanoseconds held_up() const { return held_up_; }

  // Waits at most 5 minutes for the save in flight. If it is still in flight then, later calls do
  // not wait for it.
  void Drain();

 private:
  CheckpointState StateOf(TrainingStep& training_step, const RunBudget& budget,
                          std::optional<double> validation_loss) const;
  Status Start(const CheckpointState& state);
  StatusOr<SavedCheckpoint> Await(std::chrono::nanoseconds timeout);
  StatusOr<SavedCheckpoint> SaveNow(const CheckpointState& state);
  void Conclude(const StatusOr<SavedCheckpoint>& result);
  void Announce(SavedCheckpoint saved);
  void TellOfNewDirectory(int64_t step);
  std::string WhyNot(const Status& status) const;

  PreparedRun& run_;
  const std::string run_directory_;
  const std::shared_ptr<RunStorage> storage_;
  const std::string directory_;
  uint64_t epoch_;
  const Events events_;
  const Clock& clock_;
  HostMoments moments_;  // for a trainer with optimizer shards: the save in flight reads it
  CheckpointWriter writer_;
  bool overdue_ = false;                 // the last wait for a save ran out of time
  std::optional<int64_t> written_step_;  // step of the newest save that succeeded
  std::optional<std::string> warning_;
  bool told_of_new_directory_ = false;
  int64_t failed_saves_ = 0;
  std::chrono::nanoseconds held_up_{0};  // how long the caller waited for the newest save
};

// The exit cause if the checkpoint in `directory` could not be read: kDamagedCheckpoint as far as
// this rank can tell, or kStorage, which may be temporary. A checkpoint that no rank of the group
// sees, while the directories beside it are there, counts as damaged. Under the service the
// coordinator reads it again and decides (coordinator/checkpoints/checkpoint_verifier.h).
contract::ExitCause CauseOfUnreadable(const Status& status, const std::string& directory);

// Where the run's counters of steps and tokens began: with init_data: keep at the checkpoint in
// init_from, which the run's own checkpoints record; otherwise at 0.
runspec::TrainingStart StartOf(const PreparedRun& run,
                               const std::optional<contract::ResumePoint>& resume);

// Loads parameters, moments, step, budget, loss scale and the stream's position from the checkpoint
// to resume from. Returns the checkpoint's validation loss, if it was evaluated.
std::optional<double> RestoreState(const contract::ResumePoint& resume, PreparedRun& run,
                                   TrainingStep& training_step, RunBudget& budget);

// The record of a checkpoint of this state: everything besides weights and moments.
formats::TrainingRecord RecordOf(const PreparedRun& run, TrainingStep& training_step,
                                 const RunBudget& budget);

// Continues after `step` steps with what RecordOf recorded. Parameters and moments are there
// already. `source` names in errors where it comes from.
void AdoptRecord(const formats::TrainingRecord& record, int64_t step, const std::string& source,
                 PreparedRun& run, TrainingStep& training_step, RunBudget& budget);

// Loads what the run keeps of init_from (run.kept): with the optimizer its parameters, moments,
// count of updates and loss scale; with the data its step, the stream's position and the state of
// early stopping, but not a number of steps that its wall time was converted to. REQUIRES: run.kept
// is set.
void TakeOver(PreparedRun& run, TrainingStep& training_step, RunBudget& budget);

}  // namespace gp::engine
