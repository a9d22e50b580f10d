#include "worker/trainer/training_loop.h"

#include <algorithm>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/machine/progress.h"
#include "contract/divergence_warning.h"
#include "formats/recorded_precision.h"
#include "formats/sha256.h"
#include "plan/batch_ramp.h"
#include "plan/flops.h"
#include "plan/model_part.h"
#include "plan/model_shape.h"
#include "runspec/initial_model.h"
#include "runspec/run_file.h"
#include "worker/engine/collectives/shard_plan.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/checkpoint_visibility.h"
#include "worker/trainer/data_failure.h"
#include "worker/trainer/micro_batch.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

// The first steps are slower, because they touch memory for the first time and fill caches.
constexpr int64_t kStepsBeforeMeasuring = 2;

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// Reads from the reader that `batches` holds at each call.
TrainingStep::FillBatch FillFrom(const std::unique_ptr<BatchReader>& batches) {
  return [&batches](int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
                    std::span<int32_t> targets) {
    ThrowIfUnusable(batches->Read(step, shard, micro_batch, tokens, targets), /*begun=*/true);
  };
}

// A digest that is equal on ranks with the same choices.
std::string DigestOfChoices(const EngineRecord& engine) {
  const auto choices = engine.kernels.find(engine.isa);
  return choices == engine.kernels.end() ? "default" : formats::Sha256Hex(choices->second);
}

}  // namespace

TrainingLoop::TrainingLoop(runspec::RunSpec spec, TrainingPlace place, TrainingEvents& events,
                           const Clock& clock, std::chrono::nanoseconds progress_interval)
    : place_(std::move(place)),
      events_(events),
      clock_(clock),
      run_(PrepareRun(std::move(spec), place_)),
      budget_(run_.spec),
      progress_log_(clock, progress_interval) {
  LogInfo("data opened", {{"data", run_.dataset.description},
                          {"logical_shards", run_.plan.logical_shards},
                          {"tokens_per_step", run_.plan.tokens_per_step}});
}

void TrainingLoop::Join(Communicator& communicator, const EngineRecord& decided) {
  communicator_ = &communicator;
  epoch_ = place_.epoch;
  AwaitInitialState();
  run_.start = StartOf(run_, place_.resume);
  budget_ = RunBudget(run_.spec, run_.start);
  run_.spec.batch.micro_batch = AgreeOnMicroBatch(run_, place_, communicator);
  run_.spec.batch.micro_batch_auto = false;
  CompleteRun(place_, decided, communicator, run_);
  LogInfo("model made", {{"parameters", runspec::ParameterCount(run_.spec.model)},
                         {"trained", runspec::TrainedParameterCount(run_.model->layout())},
                         {"kernels", run_.engine.isa},
                         {"device", run_.on_device() ? run_.device_name : "cpu"},
                         {"precision", formats::PrecisionText(run_.spec.precision)},
                         {"choices", DigestOfChoices(run_.engine)},
                         {"threads", place_.threads},
                         {"micro_batch", run_.spec.batch.micro_batch},
                         {"accumulation", run_.plan.accumulation}});
  ReadOwnShards();
  training_step_ = std::make_unique<TrainingStep>(
      run_.spec, run_.plan, *run_.model, FillFrom(batches_), communicator, clock_, run_.start);
  LoadInitialState();
  evaluation_.emplace(run_, communicator);
  AgreeOnStep();
  steps_before_ = training_step_->step();
  if (leads()) OpenRecords(training_step_->step());
  AgreeOnBudget();
  LogInfo("group joined", {{"rank", communicator.rank()},
                           {"ranks", communicator.size()},
                           {"epoch", place_.epoch},
                           {"step", training_step_->step()}});
}

void TrainingLoop::ReadOwnShards() {
  const ShardRange owned =
      OwnedShards(run_.plan.logical_shards, communicator_->rank(), communicator_->size());
  batches_ = std::make_unique<BatchReader>(*run_.batches, run_.plan, owned.first, owned.count);
}

bool TrainingLoop::CanEnterGroup() const {
  return training_step_ != nullptr && training_step_->intact() && run_.spec.RegroupsInPlace();
}

void TrainingLoop::EnterGroup(Communicator& communicator, uint64_t epoch) {
  communicator_ = &communicator;
  epoch_ = epoch;
  if (const auto completed = training_step_->EnterGroup(communicator)) NoteCommitted(*completed);
  ReadOwnShards();
  evaluation_.emplace(run_, communicator);
  if (leads() && records_ == nullptr) LeadFromNowOn();
  if (checkpoints_ != nullptr) checkpoints_->set_epoch(epoch);
  AgreeOnUnfinished();
  LogInfo("group entered", {{"rank", communicator.rank()},
                            {"ranks", communicator.size()},
                            {"epoch", epoch},
                            {"step", training_step_->step()}});
}

// Ranks of a broken group may be at different points after the step that all have committed. If one
// of them has a measured budget, it is the one that rank 0 sent.
void TrainingLoop::AgreeOnUnfinished() {
  const bool owes_evaluation = newest_ && !newest_->evaluated;
  const bool owes_step = newest_ && !newest_->concluded;
  double most[5] = {owes_step ? 1.0 : 0.0, owes_evaluation ? 1.0 : 0.0,
                    evaluation_owed_ ? 1.0 : 0.0, static_cast<double>(budget_.timed().steps),
                    static_cast<double>(budget_.timed().measured_steps)};
  communicator_->AllReduceMax(most);
  finishes_step_ = newest_ && most[0] > 0;
  repeats_evaluation_ = most[1] > 0;
  evaluation_owed_ = !newest_ && most[2] > 0;
  budget_.set_timed(
      {.steps = static_cast<int64_t>(most[3]), .measured_steps = static_cast<int64_t>(most[4])});
}

// The rank that led has died, perhaps before it had written the newest step, so this rank writes
// that step again.
void TrainingLoop::LeadFromNowOn() {
  OpenRecords(newest_ ? newest_->result.step - 1 : training_step_->step());
  if (newest_) newest_->reported = newest_->concluded = false;
  LogInfo("this rank writes the run's records and checkpoints from now on",
          {{"step", training_step_->step()}});
}

// Waits until every rank sees the checkpoint whose state LoadInitialState reads.
void TrainingLoop::AwaitInitialState() {
  if (!place_.resume && !run_.kept) return;
  const contract::ResumePoint from = place_.resume
                                         ? *place_.resume
                                         : contract::ResumePoint{.step = run_.kept->manifest.step,
                                                                 .directory = run_.kept->directory,
                                                                 .manifest_digest = ""};
  AwaitCheckpointVisible(
      from.directory, [&from] { return MissingOfCheckpoint(from); }, *communicator_);
  if (run_.kept) AgreeOnKeptState(*run_.kept, *communicator_);
}

void TrainingLoop::LoadInitialState() {
  const progress::Awaiting waiting(progress::Wait::kStorage);
  if (place_.resume) {
    evaluation_owed_ = !RestoreState(*place_.resume, run_, *training_step_, budget_).has_value();
    if (place_.begins_leg) budget_.early_stop().BeginLeg();
    if (place_.passes_over > training_step_->step()) PassOver(place_.passes_over);
  } else if (run_.kept) {
    TakeOver(run_, *training_step_, budget_);
    evaluation_owed_ = run_.kept->data && !run_.kept->manifest.validation_loss;
  }
}

// Goes on after `step`, where the training diverged, with the state of an earlier step: the steps
// in between count as taken and change nothing, so their batches are left out.
void TrainingLoop::PassOver(int64_t step) {
  const int64_t from = training_step_->step();
  DivergenceGuard& guard = training_step_->divergence_guard();
  DivergenceGuard::State state = guard.state();
  state.skips_in_a_row = 0;
  state.skipped.Add(from + 1, step);
  guard.Restore(state);
  training_step_->ResumeAfter(step);
  evaluation_owed_ = false;
  LogInfo("steps passed over, because the training diverged",
          {{"first", from + 1}, {"last", step}});
  if (!budget_.Done(step)) return;
  throw TrainingError(ExitCause::kDiverged,
                      fmt::format("{}step {}: it is the run's last one, so after going back to "
                                  "step {} there is nothing left to train; lower optimizer.lr",
                                  contract::kDivergedPrefix, step, from));
}

TrainingEnd TrainingLoop::Run(const StopRequests& stop) {
  if (!newest_) started_ = clock_.Now();
  if (leads() && run_.spec.checkpoint.every_auto && !timed_saves_) {
    timed_saves_.emplace(clock_.Now());
  }
  training_step_->set_request([this, &stop] {
    if (stop.after_step()) return StepRequest::kStop;
    return TimedSaveIsDue() ? StepRequest::kSave : StepRequest::kNone;
  });
  if (evaluation_owed_) CatchUpEvaluation(stop.at_once);
  if (finishes_step_ && FinishStep(stop) == TrainingEnd::kStopped) return TrainingEnd::kStopped;
  while (!budget_.Done(training_step_->step())) {
    const progress::InPhase phase(progress::Phase::kBetweenSteps);
    training_step_->set_schedule_steps(budget_.ScheduleSteps(training_step_->step()));
    NoteCommitted(RunStep(stop.at_once));
    if (FinishStep(stop) == TrainingEnd::kStopped) return TrainingEnd::kStopped;
  }
  return TrainingEnd::kFinished;
}

void TrainingLoop::NoteCommitted(const StepResult& result) {
  newest_ = CommittedStep{.result = result};
  if (steps_taken_ == 0) LogFirstStep();
  Measure(result);
}

// Does the evaluation, sample and save that are due even if the training stops after this step,
// because a process that resumes from it does not repeat them.
TrainingEnd TrainingLoop::FinishStep(const StopRequests& stop) {
  const StepResult& result = newest_->result;
  if (budget_.NeedsCalibration(result.step)) Calibrate();
  calibrated_step_ = result.step;
  if (!newest_->evaluated) {
    newest_->evaluated = EvaluateOrReport(result, stop.at_once);
  } else if (repeats_evaluation_) {
    Evaluated again;  // for a rank that has not evaluated this step
    EvaluateInto(stop.at_once, again);
  }
  finishes_step_ = repeats_evaluation_ = false;
  return newest_->concluded ? EndAfter(result) : Conclude(stop);
}

TrainingEnd TrainingLoop::Conclude(const StopRequests& stop) {
  const StepResult& result = newest_->result;
  const Evaluated& evaluated = *newest_->evaluated;
  const bool best = evaluated.loss && ObserveOnce(result.step, *evaluated.loss);
  Report(result, evaluated);
  EndIfDiverged();
  SampleIfDue(stop.at_once);
  Save(evaluated.loss, SaveIsDue(best, result.save), result.last || budget_.Done(result.step));
  newest_->concluded = true;
  return EndAfter(result);
}

TrainingEnd TrainingLoop::EndAfter(const StepResult& result) const {
  return result.last && !budget_.Done(result.step) ? TrainingEnd::kStopped : TrainingEnd::kFinished;
}

// Passes the loss of an evaluation to early stopping, unless it has seen it. True when it is the
// best so far.
bool TrainingLoop::ObserveOnce(int64_t step, double validation_loss) {
  EarlyStop& early_stop = budget_.early_stop();
  if (std::exchange(observed_step_, step) != step) early_stop.Observe(step, validation_loss);
  return early_stop.state().best_step == step;
}

void TrainingLoop::SaveNow() {
  if (!newest_->reported) Report(newest_->result, {});
  checkpoints_->SaveLast(*training_step_, budget_, std::nullopt, /*final=*/false);
}

// With optimizer shards one rank alone cannot save, because gathering the moments takes the whole
// group.
bool TrainingLoop::CanSave() const {
  return training_step_ != nullptr && checkpoints_ != nullptr && training_step_->intact() &&
         training_step_->shards() == nullptr && calibrated_step_ == training_step_->step();
}

// Within a step, a peer that is very late counts as hung. Between steps the timeout is longer,
// because one rank may have work that the others wait for.
StepResult TrainingLoop::RunStep(const std::stop_token& stop) {
  communicator_->SetTimeout(collective_timeout_.ForStep());
  processor_wait_.Take();  // of the time since the step before
  const StepResult result = training_step_->Run(stop);
  waited_seconds_ = processor_wait_.Take();
  communicator_->SetTimeout(CollectiveTimeout::kLong);
  collective_timeout_.StepTook(result.seconds);
  const bool other_work =
      budget_.NeedsCalibration(result.step) || Due(run_.spec.eval.every_steps) || TasksAreDue() ||
      Due(run_.spec.sample.every_steps) || SaveIsDue(/*best=*/false, result.save);
  if (other_work) collective_timeout_.Interrupted();
  return result;
}

// Logs the time to the first step, with everything before it: data, kernels chosen by timing,
// peers.
void TrainingLoop::LogFirstStep() const {
  LogInfo("first step",
          {{"after_s", fmt::format("{:.2f}", Seconds(SystemClock().Now() - ProcessStart()))}});
}

// True after every `every_steps`-th step (0: none), and after the last step.
bool TrainingLoop::Due(int64_t every_steps) const {
  const int64_t step = training_step_->step();
  return budget_.Done(step) || (every_steps > 0 && step % every_steps == 0);
}

void TrainingLoop::AgreeOnStep() {
  const auto step = static_cast<double>(training_step_->step());
  double extremes[2] = {step, -step};
  communicator_->AllReduceMax(extremes);
  if (extremes[0] == -extremes[1]) return;
  throw TrainingError(ExitCause::kStorage,
                      fmt::format("the ranks resume from different steps, {} to {}; is the run's "
                                  "directory the same storage on every node?",
                                  -extremes[1], extremes[0]));
}

// Uses the budget that an earlier process measured, from the checkpoint or else from the run's
// directory.
void TrainingLoop::AgreeOnBudget() {
  StepBudget budget = budget_.timed();
  const progress::Awaiting waiting(progress::Wait::kStorage);
  if (leads() && budget.steps == 0 && run_.spec.budget.wall_time.count() > 0) {
    budget = ValueOrThrow(ExitCause::kStorage, ReadStoredBudget(place_.run_directory));
  }
  AdoptBudget(budget);
}

// All ranks take rank 0's budget.
void TrainingLoop::AdoptBudget(StepBudget budget) {
  communicator_->Broadcast(std::as_writable_bytes(std::span(&budget, 1)), 0);
  budget_.set_timed(budget);
}

// The records begin as they were after `step` steps.
void TrainingLoop::OpenRecords(int64_t step) {
  const progress::Awaiting waiting(progress::Wait::kStorage);
  records_ = std::make_unique<RunRecords>(
      ValueOrThrow(ExitCause::kStorage, RunRecords::Open(place_.run_directory, step, clock_)));
  records_->WriteResolved(runspec::ResolvedYaml(run_.spec));
  if (run_.spec.budget.wall_time.count() > 0 && !newest_) {
    recorded_before_ = ReadRecordedSteps(place_.run_directory);
  }
  divergence_.emplace(run_.spec.model.vocabulary);
  checkpoints_ = std::make_unique<Checkpoints>(
      place_, run_,
      Checkpoints::Events{.written =
                              [this](SavedCheckpoint saved) {
                                saved.end_reason = EndReason(saved);
                                events_.CheckpointWritten(saved);
                              },
                          .await_retry =
                              [this](const std::string& reason, std::chrono::nanoseconds pause) {
                                events_.AwaitRetry(reason, pause);
                              }},
      clock_);
  training_step_->optimizer().set_before_overwrite(
      [this](int64_t first, int64_t last) { checkpoints_->BeforeOverwrite(first, last); });
  training_step_->optimizer().set_save_in_flight([this] { return checkpoints_->in_flight(); });
  if (run_.spec.sample.every_steps > 0) samples_ = std::make_unique<TrainingSamples>(run_);
}

// Scales a step of a batch ramp to the time of a full batch, because the budget must be right for
// the later steps. The first steps are slower; they count only until there are later ones.
void TrainingLoop::Measure(const StepResult& result) {
  if (steps_taken_++ == kStepsBeforeMeasuring) {
    steps_measured_ = 0;
    step_seconds_ = 0;
  }
  ++steps_measured_;
  const auto part = static_cast<double>(runspec::AccumulationAt(run_.plan, result.step - 1)) /
                    static_cast<double>(run_.plan.accumulation);
  step_seconds_ += result.seconds / part;
}

// Converts the wall time to steps, once: rank 0 measures until it has enough steps, and stores the
// number before any rank uses it.
void TrainingLoop::Calibrate() {
  StepBudget budget;
  if (leads()) {
    const WallTimeMeasurement measured = Measurement();
    if (CalibrationIsDue(measured)) {
      budget = {.steps = StepsWithin(measured), .measured_steps = measured.steps_done};
      const progress::Awaiting waiting(progress::Wait::kStorage);
      ThrowIfError(ExitCause::kStorage,
                   StoreBudget(checkpoints_->storage(), place_.run_directory, budget));
      LogInfo("budget fixed", {{"steps", budget.steps}, {"after", budget.measured_steps}});
    }
  }
  AdoptBudget(budget);
}

// The wall time limits this run alone, not the run whose steps it continues (init_data: keep).
// Assumes that unrecorded steps of earlier processes took as long as the steps of this process.
double TrainingLoop::TrainedSeconds(double step_seconds) const {
  const auto unrecorded =
      std::max<int64_t>(steps_before_ - run_.start.step - recorded_before_.count, 0);
  return Seconds(clock_.Now() - started_) + recorded_before_.seconds +
         static_cast<double>(unrecorded) * step_seconds;
}

WallTimeMeasurement TrainingLoop::Measurement() {
  WallTimeMeasurement measured;
  measured.wall_time_seconds = Seconds(run_.spec.budget.wall_time);
  measured.steps_done = training_step_->step();
  measured.steps_before = steps_before_ - run_.start.step;
  measured.steps_timed = std::max<int64_t>(steps_taken_ - kStepsBeforeMeasuring, 0);
  measured.step_seconds =
      step_seconds_ / static_cast<double>(std::max<int64_t>(steps_measured_, 1));
  measured.elapsed_seconds = TrainedSeconds(measured.step_seconds);
  if (!CalibrationIsDue(measured)) return measured;
  const double ranks = communicator_->size();
  if (const auto batches = static_cast<double>(evaluation_->validation_batches()); batches > 0) {
    measured.evaluation_seconds =
        SecondsOf([this] { evaluation_->TryValidationBatch(); }) * batches / ranks;
    measured.evaluation_every = run_.spec.eval.every_steps;
  }
  if (const auto batches = static_cast<double>(evaluation_->task_batches()); batches > 0) {
    measured.task_seconds = SecondsOf([this] { evaluation_->TryTaskBatch(); }) * batches / ranks;
    measured.task_every = run_.spec.eval.task_every;
  }
  if (samples_ != nullptr) {
    measured.sample_seconds = SampleSeconds();
    measured.sample_every = run_.spec.sample.every_steps;
  }
  measured.elapsed_seconds = TrainedSeconds(measured.step_seconds);  // now includes these trials
  return measured;
}

double TrainingLoop::SampleSeconds() const {
  const auto recomputed = static_cast<double>(samples_->recomputed_tokens());
  const auto cached = static_cast<double>(run_.spec.sample.max_tokens) - recomputed;
  const double seconds = SecondsOf([this] { samples_->TryToken(false); }) * cached;
  if (recomputed == 0) return seconds;
  return seconds + SecondsOf([this] { samples_->TryToken(true); }) * recomputed;
}

// Times the second call, because the first one touches its memory for the first time.
double TrainingLoop::SecondsOf(const std::function<void()>& work) const {
  work();
  const MonotonicTime start = clock_.Now();
  work();
  return Seconds(clock_.Now() - start);
}

bool TrainingLoop::TasksAreDue() const {
  return !run_.tasks.empty() && Due(run_.spec.eval.task_every);
}

// If a stop aborts the evaluation, its step is reported with the results so far, and saved without
// a validation loss.
Evaluated TrainingLoop::EvaluateOrReport(const StepResult& result, const std::stop_token& stop) {
  Evaluated evaluated;
  try {
    EvaluateInto(stop, evaluated);
    return evaluated;
  } catch (const CollectiveError&) {
    // A rank that enters another group evaluates the step again and reports it then.
    if (!CanEnterGroup()) Report(result, evaluated);
    throw;
  } catch (...) {
    Report(result, evaluated);
    throw;
  }
}

void TrainingLoop::EvaluateInto(const std::stop_token& stop, Evaluated& evaluated) {
  if (Due(run_.spec.eval.every_steps)) evaluation_->Validate(stop, evaluated);
  if (TasksAreDue()) evaluation_->AskTasks(stop, evaluated);
}

// Evaluates a checkpoint that was saved before its evaluation was done, so that early stopping
// decides the same as without the interruption.
void TrainingLoop::CatchUpEvaluation(const std::stop_token& stop) {
  Evaluated evaluated;
  if (Due(run_.spec.eval.every_steps)) evaluation_->Validate(stop, evaluated);
  evaluation_owed_ = false;
  if (!evaluated.loss) return;
  ObserveOnce(training_step_->step(), *evaluated.loss);
  LogInfo("evaluation of the resumed step",
          {{"step", training_step_->step()},
           {"validation_loss", fmt::format("{:.4f}", *evaluated.loss)}});
}

std::string TrainingLoop::EndReason(const SavedCheckpoint& saved) const {
  const EarlyStop& early_stop = budget_.early_stop();
  return saved.final && early_stop.stopped() ? early_stop.Reason() : "";
}

// A wait is counted when it ends, so a short step may get one that began before it.
std::optional<double> TrainingLoop::ProcessorWaitOf(const StepResult& result) const {
  if (!waited_seconds_ || result.seconds <= 0) return std::nullopt;
  return std::min(*waited_seconds_ / (place_.threads * result.seconds), 1.0);
}

contract::TrainingPoint TrainingLoop::MakePoint(const StepResult& result,
                                                const Evaluated& evaluated) const {
  const auto tokens = static_cast<double>(runspec::TokensAt(run_.plan, result.step - 1));
  contract::TrainingPoint point;
  point.epoch = epoch_;
  point.step = result.step;
  point.tokens = runspec::TokensBefore(run_.plan, result.step, run_.start);
  point.loss = result.loss;
  point.learning_rate = result.learning_rate;
  point.gradient_norm = result.gradient_norm;
  point.step_seconds = result.seconds;
  point.tokens_per_second = result.seconds > 0 ? tokens / result.seconds : 0;
  point.peak_flops = run_.peak_flops * communicator_->size();
  if (run_.peak_flops > 0) {
    point.peak_source = run_.peak_source;
    const double flops_per_token = runspec::TrainingFlopsPerToken(
        run_.spec.model, run_.spec.batch.sequence, runspec::TrainedPartsOf(run_.spec));
    point.mfu =
        runspec::ModelFlopsUtilization(point.tokens_per_second, flops_per_token, point.peak_flops);
  }
  point.target_steps = budget_.Done(result.step) ? result.step : budget_.target_steps();
  point.phases = result.phases;
  point.processor_wait = ProcessorWaitOf(result);
  point.validation_loss = evaluated.loss;
  point.scores = evaluated.scores;
  point.skipped = result.skipped;
  point.spike = result.verdict == StepVerdict::kSpike;
  point.at_us = clock_.WallNow().time_since_epoch().count();
  if (result.step == 1 && run_.spec.init_from == runspec::kFromScratch) {
    point.warning = FirstLossWarning(result.loss, run_.spec.model.vocabulary).value_or("");
  }
  if (result.step == steps_before_ + 1 && point.warning.empty()) {
    point.warning = run_.kernels_note;
  }
  return point;
}

link::RankNumbers TrainingLoop::MakeRankNumbers(const StepResult& result) {
  link::RankNumbers numbers;
  const ReaderCounts read = batches_->TakeCounts();
  numbers.batches_ready = read.batches_ready;
  numbers.data_read_bytes = read.bytes;
  if (result.all_reduce) {
    numbers.allreduce_seconds = result.all_reduce->seconds;
    numbers.allreduce_bytes = result.all_reduce->bytes;
  }
  if (checkpoints_ != nullptr) numbers.failed_saves = checkpoints_->failed_saves();
  return numbers;
}

// Of the rank that leads; a divergence is the more important one.
std::string TrainingLoop::WarningOf(const StepResult& result, const Evaluated& evaluated) {
  if (!divergence_) return "";
  const auto warning =
      divergence_->Observe(result.step, result.loss, evaluated.loss, budget_.Done(result.step));
  if (warning) return *warning;
  if (result.diverged_because.empty()) return "";
  return fmt::format("skipped: {}; its batch is left out", result.diverged_because);
}

// With on_divergence: stop a run whose loss became high over many steps ends, too. The others lose
// this rank and end with it.
void TrainingLoop::EndIfDiverged() const {
  const bool stops = run_.spec.stability.on_divergence == runspec::OnDivergence::kStop;
  if (!stops || !divergence_ || divergence_->why().empty()) return;
  throw TrainingError(ExitCause::kDiverged, divergence_->why());
}

void TrainingLoop::Report(const StepResult& result, const Evaluated& evaluated) {
  contract::TrainingPoint point = MakePoint(result, evaluated);
  if (point.warning.empty()) point.warning = WarningOf(result, evaluated);
  if (leads() && !point.warning.empty()) LogWarning(point.warning);
  if (checkpoints_ != nullptr && point.warning.empty()) {
    point.warning = checkpoints_->TakeWarning().value_or("");
  }
  events_.StepCommitted({.point = point, .rank = MakeRankNumbers(result)});
  newest_->reported = true;
  if (!leads()) return;
  if (result.overflowed) {
    LogInfo("update skipped: the loss scale was too large",
            {{"step", point.step},
             {"loss_scale", fmt::format("{}", training_step_->loss_scale()->value())}});
  } else if (point.skipped) {
    LogWarning(point.spike ? "update skipped: the loss is a spike" : "update skipped: not finite",
               {{"step", point.step},
                {"loss", fmt::format("{}", point.loss)},
                {"grad_norm", fmt::format("{}", point.gradient_norm)}});
  }
  progress_log_.Add(point, point.target_steps);
  const progress::Awaiting waiting(progress::Wait::kStorage);
  records_->WriteStep(point);
}

void TrainingLoop::SampleIfDue(const std::stop_token& stop) {
  if (samples_ == nullptr || !Due(run_.spec.sample.every_steps)) return;
  const std::string text = samples_->Write(training_step_->step(), stop);
  LogInfo("sample", {{"step", training_step_->step()}, {"text", text}});
  const progress::Awaiting waiting(progress::Wait::kStorage);
  records_->WriteSample(training_step_->step(), run_.spec.sample.prompt, text);
}

// A run with early stopping saves every improvement, because the last improvement is its result; so
// does one with checkpoint.on_best.
bool TrainingLoop::SaveIsDue(bool best, bool asked_for) const {
  const runspec::CheckpointSpec& checkpoint = run_.spec.checkpoint;
  const bool worth_keeping = best && budget_.follows_best() && checkpoint.keep_best;
  return worth_keeping || asked_for || Due(checkpoint.every_auto ? 0 : checkpoint.every_steps);
}

bool TrainingLoop::TimedSaveIsDue() const {
  return timed_saves_ && timed_saves_->IsDue(clock_.Now(), checkpoints_->held_up());
}

// With optimizer shards, every rank sends its part of the moments to rank 0, which saves.
void TrainingLoop::Save(std::optional<double> validation_loss, bool due, bool last) {
  if (!due && !last) {
    if (checkpoints_ != nullptr) checkpoints_->Poll();
    return;
  }
  const progress::InPhase phase(progress::Phase::kSave);
  Failpoint("trainer.save");
  if (training_step_->shards() != nullptr) {
    training_step_->shards()->GatherMoments(leads() ? checkpoints_->MomentsToFill(last) : nullptr);
  }
  if (checkpoints_ == nullptr) return;
  if (last) {
    checkpoints_->SaveLast(*training_step_, budget_, validation_loss,
                           budget_.Done(training_step_->step()));
  } else {
    if (timed_saves_) timed_saves_->Began(clock_.Now());
    checkpoints_->Save(*training_step_, budget_, validation_loss);
  }
}

}  // namespace gp::engine
