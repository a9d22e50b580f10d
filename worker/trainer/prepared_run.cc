#include "worker/trainer/prepared_run.h"

#include <new>
#include <stdexcept>

#include "base/config_problem.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine/progress.h"
#include "formats/checkpoint_directory.h"
#include "runspec/batch_plan.h"
#include "runspec/initial_model.h"
#include "runspec/run_file.h"
#include "runspec/schema.h"
#include "storage/local_storage.h"
#include "tasks/run_tasks.h"
#include "tokenizer/files/tokenizer_file.h"
#include "worker/engine/backend/cpu/kernels/isa.h"
#include "worker/engine/backend/cpu/measured_peak.h"
#include "worker/engine/backend/device_backend.h"
#include "worker/engine/backend/peak_flops.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/checkpoints.h"
#include "worker/trainer/data_failure.h"
#include "worker/trainer/initial_weights.h"
#include "worker/trainer/rank_memory.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

constexpr double kPeakMeasurementSeconds = 0.05;

// The kernels of the checkpoint whose steps the run continues, or new ones if this machine cannot
// compute with them. Only a new run may change kernels, not a resumed one.
EngineRecord KeptEngine(const KeptState& kept, bool deterministic, bool on_device) {
  const EngineRecord engine = EngineOf(kept.manifest.record);
  if (!kept.data || engine.isa.empty()) return {};
  try {
    Reproduce(engine, deterministic, /*ranks=*/1, on_device);
    return engine;
  } catch (const TrainingError& error) {
    LogWarning("other kernels than those of init_from", {{"reason", error.what()}});
    return {};
  }
}

// The kernels recorded in the checkpoint; empty if it does not record them, or without a
// checkpoint.
EngineRecord RecordedEngine(const TrainingPlace& place, const PreparedRun& run) {
  if (run.kept) return KeptEngine(*run.kept, run.spec.IsDeterministic(), run.on_device());
  if (!place.resume) return {};
  const auto manifest =
      formats::ReadManifest(LocalStorage(), place.resume->directory, place.resume->manifest_digest);
  ThrowIfError(CauseOfUnreadable(manifest.status(), place.resume->directory), manifest.status());
  return EngineOf(manifest->record);
}

EngineRecord ResolveEngine(const TrainingPlace& place, const EngineRecord& decided,
                           const PreparedRun& run) {
  if (!decided.isa.empty()) return decided;
  const EngineRecord recorded = RecordedEngine(place, run);
  return recorded.isa.empty() ? OwnEngine(place.threads, run.on_device()) : recorded;
}

// Logs which kernels compute attention on a device, and the notes about its other choices.
void LogChoices(const DeviceChoices& choices) {
  if (!choices.attention.empty()) LogInfo("attention chosen", {{"kernels", choices.attention}});
  for (const std::string& note : choices.notes) LogInfo("GPU backend", {{"note", note}});
}

// Updates `engine` with the choices that a device's backend made itself.
std::unique_ptr<LanguageModel> MakeModel(const runspec::RunSpec& spec, int threads,
                                         EngineChoice& engine) {
  ModelOptions options = ModelOptionsOf(spec, threads);
  options.isa = engine.isa;
  options.tiles = engine.tiles;
  options.choices = engine.kernels;
  options.device.tuning = engine.device_tuning;
  DeviceChoices choices{.tuning = engine.device_tuning};
  auto model = MakeLanguageModel(options, &choices);
  engine.device_tuning = choices.tuning;
  LogChoices(choices);
  if (spec.engine.init == runspec::InitKind::kTorch) {
    InitializeTorch(spec.seed, *model);
  } else {
    InitializeNormal(spec.seed, *model, threads);
  }
  return model;
}

// Finds the peak for MFU: a device's from a table, a CPU's by measuring.
void FindPeak(const EngineChoice& engine, int threads, PreparedRun& run) {
  if (!engine.on_device()) {
    run.peak_flops = MeasurePeakFlops(engine.isa, threads, kPeakMeasurementSeconds);
    run.peak_source = "measured";
    return;
  }
  const PeakFlops peak = PeakFlopsOf(run.device_name, run.spec.precision);
  run.peak_flops = peak.per_second;
  run.peak_source = "table";
  if (peak.per_second == 0) {
    LogWarning("the peak of this device is unknown, so MFU is 0", {{"device", run.device_name}});
  }
}

void NoteMissingTiles(const EngineChoice& engine, PreparedRun& run) {
  const std::string why = WhyWithoutTiles(engine);
  if (why.empty() || run.spec.precision != runspec::Precision::kBf16) return;
  run.kernels_note = fmt::format(
      "the kernels of level amx compute with AVX-512 here: {}; steps take longer, results are the "
      "same",
      why);
  LogWarning("level amx without tile registers", {{"reason", why}});
}

void CutData(bool begun, PreparedRun& run) {
  const progress::Awaiting waiting(progress::Wait::kData);
  run.plan = ValueOrThrow(ExitCause::kConfig, runspec::PlanBatch(run.spec));
  run.batches = std::make_unique<BatchSource>(UsableOrThrow(
      BatchSource::Make(*run.dataset.train, run.spec, run.plan, run.dataset.entry_files, run.start),
      begun));
  if (run.dataset.validation == nullptr) return;
  run.validation = std::make_unique<ValidationWindows>(
      UsableOrThrow(ValidationWindows::Make(*run.dataset.validation, run.spec.batch.micro_batch,
                                            run.spec.batch.sequence, run.spec.eval.batches),
                    begun));
}

// Uses the copy of the tokenizer in the run's own checkpoint if the file that data.tokenizer names
// cannot be read: it may have been deleted with the checkpoint that the run began with, or a newer
// gp may refuse it.
void UseTokenizerOf(const std::string& checkpoint, runspec::RunSpec& spec) {
  const bool is_file =
      runspec::NamesFile(*runspec::FindField("data.tokenizer"), spec.data.tokenizer);
  if (!is_file || ReadTokenizer(spec.data.tokenizer).ok()) return;
  spec.data.tokenizer = JoinPath(checkpoint, formats::kTokenizerName);
}

// A resumed run keeps the data format that was detected when it began, even if this version of gp
// would refuse to guess it. Changed content is found by its fingerprint.
runspec::RunSpec WithContentAsBefore(runspec::RunSpec spec) {
  if (spec.data.format != runspec::DataFormat::kAuto) return spec;
  if (!spec.data.text.empty()) spec.data.format = runspec::DataFormat::kText;
  if (!spec.data.train.empty()) spec.data.format = runspec::DataFormat::kUint16;
  return spec;
}

// Says that ApplyVocabulary has decided model.vocab.
runspec::RunSpec WithVocabulary(runspec::RunSpec spec) {
  spec.vocabulary_auto = false;
  return spec;
}

// Reads the run's questions and encodes them with the tokenizer of its data.
std::vector<PreparedTask> PrepareTasks(const runspec::RunSpec& spec, const Tokenizer& tokenizer,
                                       bool begun) {
  std::vector<PreparedTask> prepared;
  for (tasks::RunTask& task : UsableOrThrow(tasks::ReadRunTasks(spec.eval), begun)) {
    auto rows = UsableOrThrow(tasks::EncodeChoices(task.file, tasks::StyleOf(spec.eval.task_style),
                                                   tokenizer, spec.batch.sequence),
                              begun);
    prepared.push_back({task.name, std::move(task.file), std::move(rows)});
  }
  return prepared;
}

}  // namespace

PreparedRun PrepareRun(runspec::RunSpec spec, const TrainingPlace& place) {
  const progress::Awaiting waiting(progress::Wait::kData);
  PreparedRun run;
  run.spec = std::move(spec);
  if (place.resume) UseTokenizerOf(place.resume->directory, run.spec);
  ResolveDevice(run.spec);
  if (run.on_device()) run.device_name = FindDevice().name;
  if (!place.resume) run.kept = FindKeptState(run.spec);
  const runspec::RunSpec opened = place.begun ? WithContentAsBefore(run.spec) : run.spec;
  run.dataset = UsableOrThrow(OpenDataset(opened, place.threads), place.begun);
  ThrowIfUnusable(runspec::ApplyVocabulary(run.dataset.tokenizer->vocabulary_size(), run.spec),
                  place.begun);
  if (run.kept) {
    CheckKeptState(*run.kept, WithVocabulary(run.spec));
    CheckKeptData(*run.kept, run.dataset);
  }
  run.plan = ValueOrThrow(ExitCause::kConfig, runspec::PlanBatch(run.spec));
  run.tasks = PrepareTasks(run.spec, *run.dataset.tokenizer, place.begun);
  return run;
}

void CompleteRun(const TrainingPlace& place, const EngineRecord& decided,
                 Communicator& communicator, PreparedRun& run) {
  CutData(place.begun, run);
  RefuseWhatDoesNotFit(run.spec, run.plan, place.threads, MemoryFor(run.spec), communicator);
  try {
    EngineChoice engine = Reproduce(ResolveEngine(place, decided, run), run.spec.IsDeterministic(),
                                    communicator.size(), run.on_device());
    NoteMissingTiles(engine, run);
    FindPeak(engine, place.threads, run);
    run.model = MakeModel(run.spec, place.threads, engine);
    const bool taken_over = run.kept && run.kept->optimizer;
    const bool begins = !place.resume && !place.joins && !taken_over;
    if (begins && run.spec.init_from != runspec::kFromScratch) {
      LoadInitialWeights(run.spec.init_from, communicator, *run.model);
    }
    run.engine = RecordOf(engine);
  } catch (const std::bad_alloc&) {
    throw TrainingError(
        ExitCause::kOutOfMemory,
        "not enough memory for the model; lower batch.micro_batch or batch.sequence");
  } catch (const std::invalid_argument& error) {
    throw TrainingError(ExitCause::kConfig, error.what());
  }
}

runspec::RunSpec LoadResolved(const std::string& yaml) {
  auto loaded = runspec::LoadRunFile(yaml, "resolved.yaml");
  if (loaded.spec) return *loaded.spec;
  throw TrainingError(ExitCause::kConfig, RenderProblems(loaded.problems));
}

}  // namespace gp::engine
