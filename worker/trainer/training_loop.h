// TrainingLoop: trains one rank from its first step to its last: steps, evaluations, samples,
// checkpoints, records and reports, in the order of their dependencies. Managed and standalone
// training both use it. One thread calls; errors are exceptions: TrainingError, CollectiveError,
// and TrainingStopped if a stop interrupted a step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/machine/processor_wait.h"
#include "contract/messages.h"
#include "worker/checkpoint/checkpoint_writer.h"
#include "worker/data/batch_reader.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/step/collective_timeout.h"
#include "worker/engine/step/divergence.h"
#include "worker/engine/step/training_step.h"
#include "worker/trainer/checkpoints.h"
#include "worker/trainer/prepared_run.h"
#include "worker/trainer/progress_log.h"
#include "worker/trainer/run_budget.h"
#include "worker/trainer/run_evaluation.h"
#include "worker/trainer/run_records.h"
#include "worker/trainer/state/loop_state.h"
#include "worker/trainer/timed_saves.h"
#include "worker/trainer/training_samples.h"

namespace gp::engine {

// Receives the events of a TrainingLoop. Called from its thread.
class TrainingEvents {
 public:
  virtual ~TrainingEvents() = default;
  virtual void StepCommitted(const link::StepReport& report) = 0;    // on every rank
  virtual void CheckpointWritten(const SavedCheckpoint& saved) = 0;  // on rank 0
  // On rank 0, when the last save of the training failed: waits for `pause`, then the save is tried
  // again. Throws when there is no time for that.
  virtual void AwaitRetry(const std::string& reason, std::chrono::nanoseconds pause) = 0;
};

// Requests to end the training before its budget is used.
struct StopRequests {
  // Interrupts the step between two micro-batches; Run throws TrainingStopped.
  std::stop_token at_once;
  // Called in every step. If it is true on any rank, Run returns kStopped on all after that step.
  std::function<bool()> after_step = [] { return false; };
};

enum class TrainingEnd { kFinished, kStopped };

class TrainingLoop {
 public:
  // Opens the data and plans the batch (PrepareRun). `clock` and `events` must outlive this object.
  TrainingLoop(runspec::RunSpec spec, TrainingPlace place, TrainingEvents& events,
               const Clock& clock, std::chrono::nanoseconds progress_interval);

  const runspec::BatchPlan& plan() const { return run_.plan; }

  // Agrees with the group on the micro-batch; makes the model, which computes with `decided` if
  // that is not empty; loads the state to resume from, or what the run keeps of init_from; checks
  // with the group that all ranks are at the same step; opens the records on rank 0. `communicator`
  // must outlive this object. A collective operation.
  void Join(Communicator& communicator, const EngineRecord& decided = {});

  // For a process that joins a group that trains: makes everything that needs neither peers nor the
  // state of the training. Then EnterGroup takes that state from a rank of the group.
  void Prepare(const EngineRecord& decided);

  // Continues in another group after Prepare, or after Run or this function threw CollectiveError.
  // `communicator` must outlive this object, and the group before must exist until this returns;
  // then call Run again. All ranks then finish the newest committed step together: if a rank of the
  // group before was interrupted in what follows the step, all repeat its evaluation. If the ranks
  // before this one died, it writes the records and saves from now on. A collective operation.
  // REQUIRES: CanEnterGroup().
  void EnterGroup(Communicator& communicator, uint64_t epoch);
  // Whether this rank holds the whole state of a committed step, so that it can go on in another
  // group.
  bool CanEnterGroup() const;
  // Whether this rank is ready to commit the step after step() (TrainingStep::prepared).
  bool prepared() const { return training_step_->prepared(); }

  // Trains to the end of the budget, or until a rank of the group asks to leave after its step. All
  // ranks return after the same step. Rank 0 returns after it has saved that step.
  TrainingEnd Run(const StopRequests& stop);

  // Saves the last committed step after the current step was interrupted. REQUIRES: CanSave().
  void SaveNow();
  // Whether SaveNow can save: this is rank 0, this process has committed a step, the interrupted
  // step has not changed the state, and the state is not divided among ranks (optimizer shards).
  bool CanSave() const;

  int64_t step() const { return training_step_->step(); }

 private:
  bool leads() const { return communicator_->rank() == 0; }
  bool Due(int64_t every_steps) const;
  void MakeTrainingStep(const EngineRecord& decided);
  void ReadOwnShards();
  int64_t MicroBatch();
  void AwaitInitialState();
  void LoadInitialState();
  void ShareState();
  void AdoptState(const std::string& text);
  void AgreeOnUnfinished();
  void AgreeOnStep();
  void AgreeOnBudget();
  void AdoptBudget(StepBudget budget);
  void OpenRecords(int64_t step);
  void LeadFromNowOn();
  void Calibrate();
  void NoteCommitted(const StepResult& result);
  TrainingEnd FinishStep(const StopRequests& stop);
  TrainingEnd Conclude(const StopRequests& stop);
  TrainingEnd EndAfter(const StepResult& result) const;
  bool ObserveOnce(int64_t step, double validation_loss);
  StepResult RunStep(const std::stop_token& stop);
  void LogFirstStep() const;
  void Measure(const StepResult& result);
  double TrainedSeconds(double step_seconds) const;
  WallTimeMeasurement Measurement();
  double SampleSeconds() const;
  double SecondsOf(const std::function<void()>& work) const;
  bool TasksAreDue() const;
  Evaluated EvaluateOrReport(const StepResult& result, const std::stop_token& stop);
  void EvaluateInto(const std::stop_token& stop, Evaluated& evaluated);
  void CatchUpEvaluation(const std::stop_token& stop);
  std::string EndReason(const SavedCheckpoint& saved) const;
  std::optional<double> ProcessorWaitOf(const StepResult& result) const;
  contract::TrainingPoint MakePoint(const StepResult& result, const Evaluated& evaluated) const;
  link::RankNumbers MakeRankNumbers(const StepResult& result);
  void Report(const StepResult& result, const Evaluated& evaluated);
  void SampleIfDue(const std::stop_token& stop);
  bool SaveIsDue(bool best, bool asked_for) const;
  bool TimedSaveIsDue() const;
  void Save(std::optional<double> validation_loss, bool due, bool last);

  const TrainingPlace place_;
  TrainingEvents& events_;
  const Clock& clock_;
  PreparedRun run_;
  RunBudget budget_;
  ProgressLog progress_log_;
  std::unique_ptr<Communicator> alone_;          // since Prepare: a group of this rank
  Communicator* communicator_ = nullptr;         // since Join or Prepare
  uint64_t epoch_ = 0;                           // of the group
  std::unique_ptr<BatchReader> batches_;         // since Join
  std::unique_ptr<TrainingStep> training_step_;  // since Join or Prepare
  std::optional<RunEvaluation> evaluation_;      // since Join
  // On rank 0 only, since Join.
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<RunRecords> records_;
  std::optional<Divergence> divergence_;   // since Join
  std::optional<TimedSaves> timed_saves_;  // since Run, where checkpoint.every is auto
  std::unique_ptr<TrainingSamples> samples_;
  CollectiveTimeout collective_timeout_;
  ProcessorWait processor_wait_;
  // Of the last step: the seconds that its threads waited, added up.
  std::optional<double> waited_seconds_;
  // For calibration: the steps of earlier processes, and the times of this process's steps; its
  // first steps are dropped as soon as there are later ones.
  int64_t steps_before_ = 0;
  RecordedSteps recorded_before_;  // on rank 0 only
  MonotonicTime started_;
  int64_t steps_taken_ = 0;
  int64_t steps_measured_ = 0;
  double step_seconds_ = 0;
  // The last step after which the calibration of a wall time budget was done, if it was due.
  int64_t calibrated_step_ = -1;
  // True when the checkpoint that this rank resumed from has no validation loss.
  bool evaluation_owed_ = false;
  // Absent before the first step of this process, or of the one that gave it its state.
  std::optional<CommittedStep> newest_;
  // A group broke after newest_ was committed; Run finishes that step before it takes another one.
  bool finishes_step_ = false;
  bool repeats_evaluation_ = false;  // then: a rank of the group has not evaluated it
  int64_t observed_step_ = -1;       // the newest one whose loss early stopping has seen
};

}  // namespace gp::engine
