#include "worker/trainer/standalone_training.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <stop_token>

#include "base/config_problem.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine/usable_cores.h"
#include "base/random_id.h"
#include "base/stop_signals.h"
#include "formats/checkpoint_directory.h"
#include "interop/model_format.h"
#include "runspec/run_file.h"
#include "storage/local_storage.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/checkpoint_retention.h"
#include "worker/trainer/checkpoints.h"
#include "worker/trainer/exit_code.h"
#include "worker/trainer/failure.h"
#include "worker/trainer/training_loop.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

constexpr std::chrono::seconds kTerminalInterval{1};
constexpr uint64_t kSpecBytesMax = 1 << 20;

std::string CurrentDirectory() { return std::filesystem::current_path().string(); }

TrainingPlace PlaceOf(const runspec::RunSpec& spec, const StandaloneOptions& options) {
  const std::string directory =
      options.out_directory.empty() ? JoinPath("runs", spec.name) : options.out_directory;
  TrainingPlace place;
  place.run_id = spec.name;
  place.run_name = spec.name;
  place.run_directory = AbsolutePath(directory, CurrentDirectory());
  place.incarnation = RandomId(10);
  place.threads = ThreadsOf(spec);
  return place;
}

std::string CheckpointsOf(const TrainingPlace& place) {
  return JoinPath(place.run_directory, "checkpoints");
}

// Trains from the newest undamaged checkpoint of the run, or from the first step when there is no
// checkpoint. Damaged checkpoints go into quarantine only after an older one was loaded in their
// place.
class StandaloneTraining final : public TrainingEvents {
 public:
  explicit StandaloneTraining(const StandaloneOptions& options)
      : spec_(LoadSpecFile(options)), place_(PlaceOf(spec_, options)) {
    if (spec_.stability.on_divergence != runspec::OnDivergence::kRollback) return;
    throw TrainingError(ExitCause::kConfig,
                        "stability.on_divergence: rollback needs the service, which decides where "
                        "the run goes on; submit it, or use skip or stop");
  }

  void Run(const Clock& clock, const std::stop_token& stop) {
    const auto found = ValueOrThrow(
        ExitCause::kStorage, formats::FindCheckpoints(LocalStorage(), CheckpointsOf(place_)));
    stop_ = stop;
    // The coordinator creates a run's directory under the service; standalone, this process does.
    ThrowIfError(ExitCause::kStorage, MakeDirectories(place_.run_directory));
    for (size_t i = 0; !joined_; ++i) {
      try {
        place_.resume = i < found.size() ? std::optional(PointOf(found[i])) : std::nullopt;
        place_.begun = place_.resume.has_value();
        Train(clock);
      } catch (const TrainingError& error) {
        if (error.cause() != ExitCause::kDamagedCheckpoint || joined_) throw;
        GoBack(found, i, error.what());
      }
    }
  }

  void StepCommitted(const link::StepReport&) override {}

  void CheckpointWritten(const SavedCheckpoint& saved) override {
    if (!saved.end_reason.empty()) LogInfo(saved.end_reason);
    const Status pruned = PruneCheckpoints(LocalStorage(), CheckpointsOf(place_), spec_.checkpoint);
    if (!pruned.ok()) LogWarning("old checkpoints stay", {{"reason", Message(pruned)}});
  }

  void AwaitRetry(const std::string& reason, std::chrono::nanoseconds pause) override {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, stop_, pause, [] { return false; });
    if (stop_.stop_requested()) throw TrainingError(ExitCause::kStorage, reason);
  }

 private:
  struct Damaged {
    std::string directory;
    std::string reason;
  };

  static contract::ResumePoint PointOf(const formats::FoundCheckpoint& found) {
    ThrowIfError(CauseOfUnreadable(found.manifest.status(), found.directory),
                 found.manifest.status());
    LogInfo("resuming", {{"step", found.manifest->step}, {"checkpoint", found.directory}});
    return {.step = found.manifest->step, .directory = found.directory, .manifest_digest = ""};
  }

  // It never goes back to the first step: a person must decide that.
  void GoBack(const std::vector<formats::FoundCheckpoint>& found, size_t damaged,
              const std::string& reason) {
    if (damaged + 1 >= found.size()) {
      throw TrainingError(
          ExitCause::kDamagedCheckpoint,
          fmt::format("{}; no earlier checkpoint is intact: remove {} to begin at the first step",
                      reason, CheckpointsOf(place_)));
    }
    LogWarning("going back to the checkpoint before a damaged one", {{"reason", reason}});
    damaged_.push_back({found[damaged].directory, reason});
  }

  void QuarantineDamaged() const {
    for (const auto& [directory, reason] : damaged_) {
      const Status status = formats::Quarantine(LocalStorage(), directory, reason);
      if (!status.ok()) LogWarning("damaged checkpoint stays", {{"reason", Message(status)}});
    }
  }

  void Train(const Clock& clock) {
    TrainingLoop training(spec_, place_, *this, clock, kTerminalInterval);
    const auto group = MakeLocalGroup(1, training.plan().logical_shards);
    training.Join(*group[0]);
    joined_ = true;
    QuarantineDamaged();
    try {
      training.Run({.at_once = stop_});
      LogInfo("training finished",
              {{"step", training.step()}, {"directory", place_.run_directory}});
    } catch (const TrainingStopped&) {
      if (training.CanSave()) training.SaveNow();
      LogInfo("training stopped; the same command continues from here",
              {{"step", training.step()}});
    }
  }

  const runspec::RunSpec spec_;
  TrainingPlace place_;           // resumes from the checkpoint being tried
  std::stop_token stop_;          // set by Run
  std::vector<Damaged> damaged_;  // newer than the one being tried
  bool joined_ = false;
};

}  // namespace

runspec::RunSpec LoadSpecFile(const StandaloneOptions& options) {
  const std::string text =
      ValueOrThrow(ExitCause::kConfig, ReadFile(options.spec_path, kSpecBytesMax));
  const std::string path = AbsolutePath(options.spec_path, CurrentDirectory());
  const auto loaded = runspec::LoadRunFile(
      text, options.spec_path, options.overrides,
      {.base_directory = DirectoryOf(path),
       .override_directory = CurrentDirectory(),
       .find_initial_model = [](const std::string& reference, const std::string& base) {
         return interop::FindModelAt(AbsolutePath(reference, base));
       }});
  std::fputs(RenderProblems(loaded.warnings, "warning").c_str(), stderr);
  if (loaded.spec) return *loaded.spec;
  throw TrainingError(ExitCause::kConfig, RenderProblems(loaded.problems));
}

int ThreadsOf(const runspec::RunSpec& spec) {
  return spec.resources.threads > 0 ? spec.resources.threads : CountUsableCores();
}

int PrintFailure(const link::Failed& failed) {
  // A list of located problems already has "error:" in each line, and a final line end.
  const bool located = failed.message.starts_with("error: ");
  const std::string text = located ? failed.message : "gp-trainer: " + failed.message + "\n";
  std::fputs(text.c_str(), stderr);
  // No other node can be tried, so kUnfit means that the run file asks for too much.
  if (failed.cause == ExitCause::kUnfit) return ProcessStatus(ExitCode::kUsage);
  return ProcessStatus(ExitCodeOf(failed.cause));
}

int RunStandalone(const StandaloneOptions& options, const Clock& clock) {
  std::stop_source stop;
  const StopSignals signals([&stop](const std::string& signal) {
    if (stop.stop_requested()) _exit(ProcessStatus(ExitCode::kInterrupted));
    LogInfo("stop requested; the last step is saved, a second signal ends it at once",
            {{"reason", signal}});
    stop.request_stop();
  });
  try {
    StandaloneTraining(options).Run(clock, stop.get_token());
    return ProcessStatus(ExitCode::kOk);
  } catch (...) {
    return PrintFailure(CurrentFailure());
  }
}

}  // namespace gp::engine
