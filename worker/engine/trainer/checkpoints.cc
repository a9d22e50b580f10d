#include "worker/engine/trainer/checkpoints.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "base/file.h"
#include "base/log.h"
#include "runspec/batch_ramp.h"
#include "worker/engine/checkpoint/checkpoint_reader.h"
#include "worker/engine/checkpoint/local_storage.h"
#include "worker/engine/checkpoint/recorded_precision.h"
#include "worker/engine/trainer/collective_patience.h"
#include "worker/engine/trainer/micro_batch.h"
#include "worker/engine/trainer/training_error.h"

namespace gp::engine {
namespace {

using link::ExitCause;

// Longer than any disk takes for what fits into memory. Nobody waits for the final save.
constexpr std::chrono::minutes kFinalTimeout{30};
// For a save that the peers wait for.
constexpr std::chrono::minutes kSaveTimeout{5};
static_assert(kSaveTimeout < CollectivePatience::kLong);

constexpr char kUpdates[] = "updates";
constexpr char kDevice[] = "device";
constexpr char kLossScale[] = "loss_scale";
constexpr char kFiniteSteps[] = "finite_steps";
constexpr char kOptimizer[] = "optimizer";
constexpr char kStepBudget[] = "step_budget";
constexpr char kMeasuredSteps[] = "measured_steps";
constexpr char kBestLoss[] = "best_loss";
constexpr char kBestStep[] = "best_step";
constexpr char kWaited[] = "evaluations_without_gain";

CheckpointIdentity IdentityOf(const TrainingPlace& place, const PreparedRun& run) {
  return {.run_id = place.run_id,
          .run_name = place.run_name,
          .incarnation = place.incarnation,
          .epoch = place.epoch,
          .shape = run.spec.model,
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

template <typename Number>
Number RecordedNumber(const formats::CheckpointManifest& manifest, const char* key, Number absent) {
  const auto found = manifest.record.find(key);
  if (found == manifest.record.end()) return absent;
  Number number = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  throw TrainingError(ExitCause::kStorage, fmt::format("checkpoint of step {}: record.{} is '{}', "
                                                       "expected a number",
                                                       manifest.step, key, text));
}

std::string OptimizerText(runspec::OptimizerKind kind) {
  return kind == runspec::OptimizerKind::kMuon ? "muon" : "adamw";
}

// The moments of one optimizer mean nothing to another. Checkpoints from before the record had it
// are taken at the run file's word.
void CheckOptimizer(const formats::CheckpointManifest& manifest, const std::string& directory,
                    runspec::OptimizerKind kind) {
  const auto found = manifest.record.find(kOptimizer);
  if (found == manifest.record.end() || found->second == OptimizerText(kind)) return;
  throw TrainingError(
      ExitCause::kConfig,
      fmt::format("the checkpoint {} was made with optimizer.kind: {}, the run says {}, which "
                  "cannot go on from it; set optimizer.kind: {}, or submit a new run",
                  directory, found->second, OptimizerText(kind), found->second));
}

using Record = std::map<std::string, std::string>;

void RecordBudget(const RunBudget& budget, Record& record) {
  if (budget.timed().steps > 0) {
    record[kStepBudget] = std::to_string(budget.timed().steps);
    record[kMeasuredSteps] = std::to_string(budget.timed().measured_steps);
  }
  const EarlyStop& early_stop = budget.early_stop();
  if (!early_stop.enabled() || early_stop.state() == EarlyStopState()) return;
  record[kBestLoss] = fmt::format("{}", early_stop.state().best_loss);  // reads back as it was
  record[kBestStep] = std::to_string(early_stop.state().best_step);
  record[kWaited] = std::to_string(early_stop.state().waited);
}

void RestoreBudget(const formats::CheckpointManifest& manifest, RunBudget& budget) {
  budget.set_timed({.steps = RecordedNumber<int64_t>(manifest, kStepBudget, 0),
                    .measured_steps = RecordedNumber<int64_t>(manifest, kMeasuredSteps, 0)});
  EarlyStopState seen;
  seen.best_loss = RecordedNumber<double>(manifest, kBestLoss, seen.best_loss);
  seen.best_step = RecordedNumber<int64_t>(manifest, kBestStep, 0);
  seen.waited = RecordedNumber<int64_t>(manifest, kWaited, 0);
  budget.early_stop().Restore(seen);
}

void RecordLossScale(const std::optional<LossScale>& scale, Record& record) {
  if (!scale) return;
  record[kLossScale] = fmt::format("{}", scale->state().scale);  // reads back as it was
  record[kFiniteSteps] = std::to_string(scale->state().finite_steps);
}

// A run that went on in fp16 from another precision begins with the first scale.
void RestoreLossScale(const formats::CheckpointManifest& manifest,
                      std::optional<LossScale>& scale) {
  if (!scale) return;
  LossScale::State state;
  state.scale = RecordedNumber<double>(manifest, kLossScale, state.scale);
  state.finite_steps = RecordedNumber<int64_t>(manifest, kFiniteSteps, 0);
  scale->Restore(state);
}

}  // namespace

Checkpoints::Checkpoints(const TrainingPlace& place, PreparedRun& run, Written written)
    : run_(run),
      written_(std::move(written)),
      writer_(std::make_shared<LocalStorage>(), JoinPath(place.run_directory, "checkpoints"),
              IdentityOf(place, run),
              {.copy_bytes_max = static_cast<uint64_t>(run.spec.checkpoint.snapshot_memory),
               .fetch = FetchFrom(run.model->backend(), moments_)}) {}

HostMoments* Checkpoints::MomentsToFill(bool final) {
  if (final) overdue_ = false;
  Drain();
  return overdue_ && !final ? nullptr : &moments_;
}

void Checkpoints::Save(Trainer& trainer, const RunBudget& budget,
                       std::optional<double> validation_loss, bool final) {
  if (final) overdue_ = false;  // worth waiting for once more
  Drain();
  if (overdue_ && !final) {
    LogWarning("checkpoint skipped: the one before it is still being written",
               {{"step", trainer.step()}});
    return;
  }
  CheckpointState state;
  state.step = trainer.step();
  state.tokens = runspec::TokensBefore(run_.plan, trainer.step());
  state.validation_loss = validation_loss;
  state.record = {{kUpdates, std::to_string(trainer.optimizer().updates())},
                  {kOptimizer, OptimizerText(run_.spec.optimizer.kind)}};
  AddTo(state.record, run_.engine);
  if (run_.on_device()) state.record[kDevice] = run_.device_name;
  AddTo(state.record, run_.spec.precision);
  RecordLossScale(trainer.loss_scale(), state.record);
  state.record[kMicroBatchRecord] = std::to_string(run_.spec.batch.micro_batch);
  RecordBudget(budget, state.record);
  state.final = final;
  state.parameters = run_.model->parameters();
  const bool gathered = trainer.shards() != nullptr;
  state.first_moment = gathered ? moments_.first : trainer.optimizer().first_moment();
  state.second_moment = gathered ? moments_.second : trainer.optimizer().second_moment();
  // The writers read beside the queue: the update before this save is to be done.
  run_.model->backend().Synchronize();
  const Status started = writer_.Start(state);
  if (!started.ok()) {
    Conclude(started, final);
  } else if (final) {
    Conclude(writer_.Wait(kFinalTimeout), /*must_succeed=*/true);
  } else if (run_.spec.checkpoint.snapshot_memory == 0) {
    Drain();
  }
}

void Checkpoints::Poll() {
  if (const auto result = writer_.Take()) Conclude(*result, /*must_succeed=*/false);
}

// Once: a storage that hangs costs training this time and no more.
void Checkpoints::Drain() {
  if (writer_.in_flight() && !overdue_) {
    Conclude(writer_.Wait(kSaveTimeout), /*must_succeed=*/false);
  } else {
    Poll();
  }
  overdue_ = writer_.in_flight();
}

void Checkpoints::Conclude(const StatusOr<SavedCheckpoint>& result, bool must_succeed) {
  if (result.ok()) {
    LogInfo(
        "checkpoint written",
        {{"step", result->step}, {"directory", result->directory}, {"bytes", result->size_bytes}});
    written_(*result);
  } else if (must_succeed) {
    throw TrainingError(ExitCause::kStorage, "final checkpoint: " + Message(result.status()));
  } else {
    LogWarning("checkpoint failed, training goes on", {{"reason", Message(result.status())}});
    warning_ = Message(result.status()) + "; training goes on without it";
  }
}

ExitCause CauseOfUnreadable(const Status& status, const std::string& directory) {
  const bool missing = status.code() == StatusCode::kNotFound && FileExists(DirectoryOf(directory));
  return missing || status.code() == StatusCode::kDataLoss ? ExitCause::kDamagedCheckpoint
                                                           : ExitCause::kStorage;
}

void RestoreState(const link::ResumePoint& resume, PreparedRun& run, Trainer& trainer,
                  RunBudget& budget) {
  LocalStorage storage;
  const auto manifest =
      ReadCheckpointManifest(storage, resume.directory,
                             {.manifest_digest = resume.manifest_digest,
                              .shape = run.spec.model,
                              .data_fingerprint = run.dataset.fingerprint,
                              .tokenizer_fingerprint = run.dataset.tokenizer->Fingerprint()});
  const bool misfit = manifest.status().code() == StatusCode::kFailedPrecondition;
  ThrowIfError(misfit ? ExitCause::kConfig : CauseOfUnreadable(manifest.status(), resume.directory),
               manifest.status());
  CheckOptimizer(*manifest, resume.directory, run.spec.optimizer.kind);
  Optimizer& optimizer = trainer.optimizer();
  // Each rank reads all and takes its part.
  HostMoments all;
  std::span<float> first = optimizer.first_moment();
  std::span<float> second = optimizer.second_moment();
  if (trainer.shards() != nullptr) {
    all.first.resize(run.model->parameters().size());
    all.second.resize(run.model->parameters().size());
    first = all.first;
    second = all.second;
  }
  const Status read =
      ReadTrainingState(storage, resume.directory, *manifest, run.model->parameters(), first,
                        second, [&](void* to, const void* from, int64_t bytes) {
                          if (all.Holds(to)) {
                            std::memcpy(to, from, static_cast<size_t>(bytes));
                          } else {
                            run.model->backend().Upload(to, from, bytes);
                          }
                        });
  ThrowIfError(CauseOfUnreadable(read, resume.directory), read);
  if (trainer.shards() != nullptr) trainer.shards()->TakeMoments(all);
  optimizer.set_updates(RecordedNumber<int64_t>(*manifest, kUpdates, manifest->step));
  optimizer.RefreshWorkingCopy(*run.model);
  RestoreLossScale(*manifest, trainer.loss_scale());
  trainer.ResumeAfter(manifest->step);
  RestoreBudget(*manifest, budget);
}

}  // namespace gp::engine
