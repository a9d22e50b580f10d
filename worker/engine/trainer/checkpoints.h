// Saving and restoring the training state. Checkpoints is rank 0's: it keeps the one save that may
// be in flight and tells of those that ended. A save that the training ends with is tried again
// until it succeeds: what it holds is nowhere else. RestoreState is every rank's. One thread calls;
// errors are TrainingErrors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "formats/checkpoint_manifest.h"
#include "worker/engine/checkpoint/checkpoint_writer.h"
#include "worker/engine/trainer/prepared_run.h"
#include "worker/engine/trainer/run_budget.h"
#include "worker/engine/trainer/trainer.h"

namespace gp::engine {

class Checkpoints {
 public:
  struct Events {
    // A save is found to have ended.
    std::function<void(const SavedCheckpoint& saved)> written;
    // The save that the training ends with failed. Returns when `pause` has passed, to try it
    // again; throws when there is no time for that.
    std::function<void(const std::string& reason, std::chrono::nanoseconds pause)> await_retry;
  };

  // `run` outlives me. `events` are called from the calling thread.
  Checkpoints(const TrainingPlace& place, PreparedRun& run, Events events);

  // Begins to save the state; waits for the save in flight first, for less time than the peers
  // wait. If it is still in flight then, the later ones are skipped with a warning; a failure is a
  // warning, too. Without memory for copies (checkpoint.snapshot_memory: 0) the save ends before
  // the call returns.
  void Save(Trainer& trainer, const RunBudget& budget, std::optional<double> validation_loss);

  // Saves what the training ends with, if it is not saved yet, and tries again until that has
  // succeeded. `final`: all steps are done.
  void SaveLast(Trainer& trainer, const RunBudget& budget, std::optional<double> validation_loss,
                bool final);

  // Returns when the optimizer may overwrite values [first, last) of the state.
  void BeforeOverwrite(int64_t first, int64_t last) { writer_.BeforeOverwrite(first, last); }

  // Where all ranks' moments are to be gathered before the next Save, of a trainer with shards;
  // nullptr when that Save will pass, which SaveLast does not. Waits for the save in flight.
  HostMoments* MomentsToFill(bool last);

  bool in_flight() const { return writer_.in_flight(); }

  // Reports a save that has ended meanwhile.
  void Poll();

  // Why the newest save that failed did, once; the log has it already.
  std::optional<std::string> TakeWarning() { return std::exchange(warning_, std::nullopt); }

  // Waits for the save in flight, once.
  void Drain();

 private:
  CheckpointState StateOf(Trainer& trainer, const RunBudget& budget,
                          std::optional<double> validation_loss) const;
  StatusOr<SavedCheckpoint> SaveNow(const CheckpointState& state);
  void Conclude(const StatusOr<SavedCheckpoint>& result);
  void Announce(const SavedCheckpoint& saved);
  std::string WhyNot(const Status& status) const;

  PreparedRun& run_;
  const std::string directory_;
  const Events events_;
  HostMoments moments_;  // for a trainer with optimizer shards: the save in flight reads it
  CheckpointWriter writer_;
  bool overdue_ = false;                 // the last wait for a save ran out of time
  std::optional<int64_t> written_step_;  // step of the newest save that succeeded
  std::optional<std::string> warning_;
};

// Why the checkpoint in `directory` could not be read: damaged, as it looks from here, or a failure
// of the storage, which may pass. One that no rank of the group sees where its siblings are looks
// damaged. Under the service a second reader decides.
link::ExitCause CauseOfUnreadable(const Status& status, const std::string& directory);

// Parameters, moments, step and what the budget knows, from the checkpoint that `place` resumes
// from. The checkpoint's validation loss, if it was evaluated.
std::optional<double> RestoreState(const link::ResumePoint& resume, PreparedRun& run,
                                   Trainer& trainer, RunBudget& budget);

}  // namespace gp::engine
