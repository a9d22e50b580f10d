#include "worker/trainer/checkpoints.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/backoff.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine/progress.h"
#include "formats/checkpoint_directory.h"
#include "formats/recorded_precision.h"
#include "formats/versioned_arithmetic.h"
#include "plan/batch_ramp.h"
#include "runspec/initial_model.h"
#include "runspec/parent_state.h"
#include "runspec/schema.h"
#include "storage/local_storage.h"
#include "worker/checkpoint/checkpoint_reader.h"
#include "worker/engine/step/collective_timeout.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/data_failure.h"
#include "worker/trainer/micro_batch.h"

namespace gp::engine {
namespace {

using contract::ExitCause;
using formats::TrainingRecord;

// Limit for the last save: longer than any disk takes for data that fit into memory. No other rank
// waits for this save.
constexpr std::chrono::minutes kLastTimeout{30};
// Pauses between attempts at the last save.
constexpr BackoffOptions kRetry{.initial = std::chrono::milliseconds(500),
                                .max = std::chrono::seconds(15)};
// The parameter and its two moments.
constexpr size_t kTensorsPerParameter = 3;
// Limit for a save that the peers wait for.
constexpr std::chrono::minutes kSaveTimeout{5};
static_assert(kSaveTimeout < CollectiveTimeout::kLong);

std::string SizeText(uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes)
                          : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

CheckpointIdentity IdentityOf(const TrainingPlace& place, const PreparedRun& run) {
  return {.run_id = place.run_id,
          .run_name = place.run_name,
          .incarnation = place.incarnation,
          .shape = run.spec.model,
          .trained = runspec::TrainedPartsOf(run.spec),
          .data_fingerprint = run.dataset.fingerprint,
          .tokenizer = run.dataset.tokenizer->Serialized(),
          .tokenizer_fingerprint = run.dataset.tokenizer->Fingerprint()};
}

StreamedSnapshot::Fetch FetchFrom(Backend& backend, const HostMoments& gathered) {
  if (backend.host_reachable()) return {};
  return [&backend, &gathered](float* to, const float* from, int64_t count) {
    if (gathered.Holds(from)) {
      std::copy_n(from, count, to);
      return;
    }
    backend.Fetch(to, from, count * static_cast<int64_t>(sizeof(float)));
  };
}

std::string OptimizerText(runspec::OptimizerKind kind) {
  switch (kind) {
    case runspec::OptimizerKind::kAdamW:
      return "adamw";
    case runspec::OptimizerKind::kMuon:
      return "muon";
  }
  return "unknown";
}

// Refuses moments of another optimizer. For old checkpoints, whose record does not name the
// optimizer, the run file is trusted.
void CheckOptimizer(const TrainingRecord& record, const std::string& directory,
                    runspec::OptimizerKind kind) {
  if (!record.optimizer) return;
  const std::string recorded = formats::ParseVersionedArithmetic(*record.optimizer).name;
  if (recorded == OptimizerText(kind)) return;
  throw TrainingError(
      ExitCause::kConfig,
      fmt::format("the checkpoint {} was made with optimizer.kind: {}, but the run has {}, which "
                  "cannot continue from it; set optimizer.kind: {}, or submit a new run",
                  directory, recorded, OptimizerText(kind), recorded));
}

// An optimizer goes on with the arithmetic with which it began.
void ContinueNumerics(const TrainingRecord& record, const std::string& directory,
                      Optimizer& optimizer) {
  const auto recorded = formats::ParseVersionedArithmetic(record.optimizer.value_or(""));
  const std::string refusal = optimizer.ContinueWith(recorded.version);
  if (refusal.empty()) return;
  throw TrainingError(
      ExitCause::kConfig,
      fmt::format("the run cannot continue from the checkpoint {}: {}", directory, refusal));
}

void RecordBudget(const RunBudget& budget, TrainingRecord& record) {
  if (budget.timed().steps > 0) {
    record.step_budget = budget.timed().steps;
    record.measured_steps = budget.timed().measured_steps;
  }
  const EarlyStop& early_stop = budget.early_stop();
  if (!budget.follows_best() || early_stop.state() == EarlyStopState()) return;
  record.best_loss = early_stop.state().best_loss;
  record.best_step = early_stop.state().best_step;
  record.evaluations_without_gain = early_stop.state().waited;
}

void RestoreEarlyStop(const TrainingRecord& record, EarlyStop& early_stop) {
  EarlyStopState seen;
  seen.best_loss = record.best_loss.value_or(seen.best_loss);
  seen.best_step = record.best_step.value_or(0);
  seen.waited = record.evaluations_without_gain.value_or(0);
  early_stop.Restore(seen);
}

void RestoreBudget(const TrainingRecord& record, RunBudget& budget) {
  budget.set_timed({.steps = record.step_budget.value_or(0),
                    .measured_steps = record.measured_steps.value_or(0)});
  RestoreEarlyStop(record, budget.early_stop());
}

// Records what another run compares before it continues from this checkpoint
// (runspec::ParentState).
void RecordBeginning(const PreparedRun& run, TrainingRecord& record) {
  const runspec::RunSpec& spec = run.spec;
  record.seed = spec.seed;
  record.order = runspec::FormatValue(*runspec::FindField("data.order"), spec);
  record.sequence = spec.batch.sequence;
  if (!spec.train.empty()) record.trained = runspec::FormatTrained(spec.train);
  if (spec.init_from != runspec::kFromScratch) record.init_from = spec.init_from;
  if (run.start == runspec::TrainingStart()) return;
  record.init_step = run.start.step;
  record.init_tokens = run.start.tokens;
}

void RecordLossScale(const std::optional<LossScale>& scale, TrainingRecord& record) {
  if (!scale) return;
  record.loss_scale = scale->state().scale;
  record.finite_steps = scale->state().finite_steps;
}

// A run that changes to fp16 from another precision begins with the initial scale.
void RestoreLossScale(const TrainingRecord& record, std::optional<LossScale>& scale) {
  if (!scale) return;
  LossScale::State state;
  state.scale = record.loss_scale.value_or(state.scale);
  state.finite_steps = record.finite_steps.value_or(0);
  scale->Restore(state);
}

void RecordDivergence(const DivergenceGuard::State& state, TrainingRecord& record) {
  if (state.losses > 0) {
    record.losses = state.losses;
    record.loss_mean = state.mean;
    record.loss_variance = state.variance;
  }
  if (state.skips_in_a_row > 0) record.skips_in_a_row = state.skips_in_a_row;
  if (state.skipped.count() > 0) record.skipped_steps = state.skipped.Text();
}

void RestoreDivergence(const TrainingRecord& record, DivergenceGuard& guard) {
  DivergenceGuard::State state;
  state.losses = record.losses.value_or(0);
  state.mean = record.loss_mean.value_or(0);
  state.variance = record.loss_variance.value_or(0);
  state.skips_in_a_row = record.skips_in_a_row.value_or(0);
  auto skipped = SkippedSteps::Parse(record.skipped_steps.value_or(""));
  if (!skipped) throw TrainingError(ExitCause::kStorage, "record.skipped_steps lists no steps");
  state.skipped = *std::move(skipped);
  guard.Restore(state);
}

// Records the position of the stream before the next step.
void RecordStream(const PreparedRun& run, int64_t step, TrainingRecord& record) {
  if (run.dataset.stream == nullptr) return;
  const int64_t tokens = runspec::TokensBefore(run.plan, step, run.start);
  record.stream_position = FormatStreamPosition(run.dataset.stream->PositionBefore(tokens));
}

// A recorded position beyond this step's tokens comes from a run with another batch size. The
// stream then starts at its beginning and reads forward to this step's tokens.
void RestoreStream(const formats::CheckpointManifest& manifest, const PreparedRun& run) {
  const std::optional<std::string>& recorded = manifest.record.stream_position;
  if (run.dataset.stream == nullptr || !recorded) return;
  const StreamPosition position = ValueOrThrow(ExitCause::kStorage, ParseStreamPosition(*recorded));
  if (position.tokens > runspec::TokensBefore(run.plan, manifest.step, run.start)) return;
  run.dataset.stream->ResumeAt(position);
  LogInfo("stream continues", {{"pass_source", position.place.source},
                               {"byte", position.place.block.offset},
                               {"tokens_before", position.tokens}});
}

// If the directory of all checkpoints is gone, the message asks whether it is lost: only a person
// can know.
void ThrowIfUnreadable(const Status& status, const std::string& directory) {
  const std::string all = DirectoryOf(directory);
  const bool all_gone = status.code() == StatusCode::kNotFound && !FileExists(all);
  ThrowIfError(CauseOfUnreadable(status, directory),
               all_gone
                   ? NotFound("{}; {} was deleted or moved: put it back, for example from a "
                              "backup, and the run continues; if it is lost, cancel the run and "
                              "submit it again",
                              Message(status), all)
                   : status);
}

// Reads the weights and the optimizer's state into the run.
Status ReadOptimizedState(const std::string& directory, const formats::CheckpointManifest& manifest,
                          PreparedRun& run, TrainingStep& training_step) {
  Optimizer& optimizer = training_step.optimizer();
  ContinueNumerics(manifest.record, directory, optimizer);
  // Each rank reads all moments and takes its part.
  HostMoments all;
  std::span<float> first = optimizer.first_moment();
  std::span<float> second = optimizer.second_moment();
  if (training_step.shards() != nullptr) {
    all.first.resize(run.model->parameters().size());
    all.second.resize(run.model->parameters().size());
    first = all.first;
    second = all.second;
  }
  RETURN_IF_ERROR(ReadTrainingState(LocalStorage(), directory, manifest, run.model->layout(),
                                    run.model->parameters(), first, second,
                                    [&](void* to, const void* from, int64_t bytes) {
                                      if (all.Holds(to)) {
                                        std::memcpy(to, from, static_cast<size_t>(bytes));
                                      } else {
                                        run.model->backend().Upload(to, from, bytes);
                                      }
                                    }));
  if (training_step.shards() != nullptr) training_step.shards()->LoadMoments(all);
  optimizer.set_updates(manifest.record.updates.value_or(manifest.step));
  run.model->ParametersChanged();
  optimizer.RefreshWorkingCopy(*run.model);
  RestoreLossScale(manifest.record, training_step.loss_scale());
  return OkStatus();
}

}  // namespace

Checkpoints::Checkpoints(const TrainingPlace& place, PreparedRun& run, Events events,
                         const Clock& clock)
    : run_(run),
      run_directory_(place.run_directory),
      storage_(place.storage != nullptr
                   ? place.storage
                   : std::make_shared<RunStorage>(place.run_directory, /*broker=*/nullptr)),
      directory_(JoinPath(place.run_directory, "checkpoints")),
      epoch_(place.epoch),
      events_(std::move(events)),
      clock_(clock),
      writer_(storage_, directory_, IdentityOf(place, run),
              {.copy_bytes_max = static_cast<uint64_t>(run.spec.checkpoint.snapshot_memory),
               .fetch = FetchFrom(run.model->backend(), moments_)}) {}

HostMoments* Checkpoints::MomentsToFill(bool last) {
  if (last) overdue_ = false;
  Drain();
  return overdue_ && !last ? nullptr : &moments_;
}

void Checkpoints::Save(TrainingStep& training_step, const RunBudget& budget,
                       std::optional<double> validation_loss) {
  Drain();
  if (overdue_) {
    ++failed_saves_;
    LogWarning("checkpoint skipped: the one before it is still being written",
               {{"step", training_step.step()}});
    return;
  }
  const Status started = Start(StateOf(training_step, budget, validation_loss));
  if (!started.ok()) {
    Conclude(started);
  } else if (run_.spec.checkpoint.snapshot_memory == 0) {
    Drain();
  }
}

// The state stays in memory until it can be stored.
void Checkpoints::SaveLast(TrainingStep& training_step, const RunBudget& budget,
                           std::optional<double> validation_loss, bool final) {
  overdue_ = false;  // the last save may wait once more
  storage_->BeginLastSave();
  Drain();
  if (written_step_ == training_step.step()) return;
  CheckpointState state = StateOf(training_step, budget, validation_loss);
  state.final = final;
  for (int attempt = 0;; ++attempt) {
    const StatusOr<SavedCheckpoint> saved = SaveNow(state);
    if (saved.ok()) {
      Announce(*saved);
      if (saved->step == state.step) return;
      continue;
    }
    const auto pause = BackoffCeiling(kRetry, attempt);
    const std::string reason = WhyNot(saved.status());
    LogWarning("checkpoint failed; the state stays in memory",
               {{"reason", reason}, {"retry_s", std::chrono::duration<double>(pause).count()}});
    events_.await_retry(reason, pause);
  }
}

// The result may belong to an earlier save: if the storage hung, that save is still in flight.
StatusOr<SavedCheckpoint> Checkpoints::SaveNow(const CheckpointState& state) {
  if (!writer_.in_flight()) RETURN_IF_ERROR(Start(state));
  return Await(kLastTimeout);
}

Status Checkpoints::Start(const CheckpointState& state) {
  const MonotonicTime begin = clock_.Now();
  const progress::Awaiting waiting(progress::Wait::kStorage);
  const Status started = writer_.Start(state);
  held_up_ = clock_.Now() - begin;
  return started;
}

StatusOr<SavedCheckpoint> Checkpoints::Await(std::chrono::nanoseconds timeout) {
  const MonotonicTime begin = clock_.Now();
  const progress::Awaiting waiting(progress::Wait::kStorage);
  auto result = writer_.Wait(timeout);
  held_up_ += clock_.Now() - begin;
  return result;
}

void Checkpoints::BeforeOverwrite(int64_t first, int64_t last) {
  const MonotonicTime begin = clock_.Now();
  const progress::Awaiting waiting(progress::Wait::kStorage);
  writer_.BeforeOverwrite(first, last);
  held_up_ += clock_.Now() - begin;
}

CheckpointState Checkpoints::StateOf(TrainingStep& training_step, const RunBudget& budget,
                                     std::optional<double> validation_loss) const {
  CheckpointState state;
  state.step = training_step.step();
  state.epoch = epoch_;
  state.tokens = runspec::TokensBefore(run_.plan, training_step.step(), run_.start);
  state.validation_loss = validation_loss;
  const Optimizer& optimizer = training_step.optimizer();
  state.record.optimizer =
      formats::Text({OptimizerText(run_.spec.optimizer.kind), optimizer.numerics()});
  state.record.updates = optimizer.updates();
  RecordBeginning(run_, state.record);
  AddTo(state.record, run_.engine);
  if (run_.on_device()) state.record.device = run_.device_name;
  state.record.precision = formats::PrecisionText(run_.spec.precision);
  RecordLossScale(training_step.loss_scale(), state.record);
  state.record.micro_batch = run_.spec.batch.micro_batch;
  RecordBudget(budget, state.record);
  RecordDivergence(training_step.divergence_guard().state(), state.record);
  RecordStream(run_, training_step.step(), state.record);
  state.parameters = run_.model->parameters();
  const bool gathered = training_step.shards() != nullptr;
  using Values = std::span<const float>;
  state.first_moment =
      gathered ? Values(moments_.first) : Values(training_step.optimizer().first_moment());
  state.second_moment =
      gathered ? Values(moments_.second) : Values(training_step.optimizer().second_moment());
  // The writer's threads do not use the backend's queue, so wait for the updates queued in it.
  run_.model->backend().Synchronize();
  return state;
}

void Checkpoints::Poll() {
  const progress::Awaiting waiting(progress::Wait::kStorage);
  if (const auto result = writer_.Take()) Conclude(*result);
}

// Waits for each save only once, so a storage that hangs delays training by at most kSaveTimeout.
void Checkpoints::Drain() {
  if (writer_.in_flight() && !overdue_) {
    Conclude(Await(kSaveTimeout));
  } else {
    Poll();
  }
  overdue_ = writer_.in_flight();
}

void Checkpoints::Conclude(const StatusOr<SavedCheckpoint>& result) {
  if (result.ok()) return Announce(*result);
  ++failed_saves_;
  const std::string reason = WhyNot(result.status());
  LogWarning("checkpoint failed, training continues", {{"reason", reason}});
  warning_ = reason + "; training continues without it";
}

void Checkpoints::Announce(SavedCheckpoint saved) {
  saved.held_up_seconds = std::chrono::duration<double>(held_up_).count();
  LogInfo("checkpoint written",
          {{"step", saved.step}, {"directory", saved.directory}, {"bytes", saved.size_bytes}});
  written_step_ = saved.step;
  TellOfNewDirectory(saved.step);
  events_.written(std::move(saved));
}

void Checkpoints::TellOfNewDirectory(int64_t step) {
  if (told_of_new_directory_ || storage_->directory().Find() == RunDirectory::Place::kThere) return;
  told_of_new_directory_ = true;
  warning_ = fmt::format(
      "{} was deleted or moved while the run trained: step {} was saved in a new directory of that "
      "name, where saves continue; the run's records continue there after its next start",
      run_directory_, step);
  LogWarning(*warning_);
}

// Why a save failed: the status, with what happened to the run's directory, or with the needed and
// free bytes if the disk is full.
std::string Checkpoints::WhyNot(const Status& status) const {
  if (const std::string trouble = storage_->directory().Trouble(status); !trouble.empty()) {
    return fmt::format("{}; {}", Message(status), trouble);
  }
  const auto needed =
      static_cast<uint64_t>(kTensorsPerParameter * sizeof(float)) * run_.model->parameters().size();
  const StatusOr<uint64_t> free = FreeBytes(directory_);
  if (!free.ok() || *free >= needed) return Message(status);
  return fmt::format("{}; it needs {}, {} are free in {}", Message(status), SizeText(needed),
                     SizeText(*free), directory_);
}

ExitCause CauseOfUnreadable(const Status& status, const std::string& directory) {
  const bool missing = status.code() == StatusCode::kNotFound && FileExists(DirectoryOf(directory));
  return missing || status.code() == StatusCode::kDataLoss ? ExitCause::kDamagedCheckpoint
                                                           : ExitCause::kStorage;
}

runspec::TrainingStart StartOf(const PreparedRun& run,
                               const std::optional<contract::ResumePoint>& resume) {
  if (run.kept && run.kept->data) {
    return {.step = run.kept->manifest.step, .tokens = run.kept->manifest.tokens};
  }
  if (!resume || !run.spec.KeepsData()) return {};
  const auto manifest =
      formats::ReadManifest(LocalStorage(), resume->directory, resume->manifest_digest);
  ThrowIfUnreadable(manifest.status(), resume->directory);
  return {.step = manifest->record.init_step.value_or(0),
          .tokens = manifest->record.init_tokens.value_or(0)};
}

std::optional<double> RestoreState(const contract::ResumePoint& resume, PreparedRun& run,
                                   TrainingStep& training_step, RunBudget& budget) {
  const auto manifest =
      ReadCheckpointManifest(LocalStorage(), resume.directory,
                             {.manifest_digest = resume.manifest_digest,
                              .shape = run.spec.model,
                              .data_fingerprint = run.dataset.fingerprint,
                              .tokenizer_fingerprint = run.dataset.tokenizer->Fingerprint()});
  // The run file is unchanged, so a mismatch is due to the files that it names.
  if (manifest.status().code() == StatusCode::kFailedPrecondition) {
    throw TrainingError(ExitCause::kData,
                        fmt::format("the run's data has changed: {}{}", Message(manifest.status()),
                                    FilesModifiedSince(resume.directory, run.spec)));
  }
  ThrowIfUnreadable(manifest.status(), resume.directory);
  CheckOptimizer(manifest->record, resume.directory, run.spec.optimizer.kind);
  ThrowIfUnreadable(ReadOptimizedState(resume.directory, *manifest, run, training_step),
                    resume.directory);
  training_step.ResumeAfter(manifest->step);
  RestoreBudget(manifest->record, budget);
  RestoreDivergence(manifest->record, training_step.divergence_guard());
  RestoreStream(*manifest, run);
  return manifest->validation_loss;
}

void TakeOver(PreparedRun& run, TrainingStep& training_step, RunBudget& budget) {
  const KeptState& kept = *run.kept;
  const formats::CheckpointManifest& manifest = kept.manifest;
  if (kept.optimizer) {
    const Status read = ReadOptimizedState(kept.directory, manifest, run, training_step);
    ThrowIfUnusable(
        read.ok() ? read
                  : Status(read.code(),
                           fmt::format("init_from: {}; name another checkpoint", Message(read))),
        /*begun=*/false);
  }
  if (kept.data) {
    training_step.ResumeAfter(manifest.step);
    RestoreDivergence(manifest.record, training_step.divergence_guard());
    RestoreStream(manifest, run);
    RestoreEarlyStop(manifest.record, budget.early_stop());
    // The earlier run ended with this checkpoint; this one waits for an improvement again.
    if (budget.early_stop().stopped()) budget.early_stop().BeginLeg();
  }
  LogInfo("state taken over", {{"checkpoint", kept.directory},
                               {"step", manifest.step},
                               {"optimizer", kept.optimizer ? "kept" : "reset"},
                               {"data", kept.data ? "kept" : "reset"}});
}

}  // namespace gp::engine
