#include "worker/trainer/micro_batch.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/log.h"
#include "base/machine/progress.h"
#include "formats/checkpoint_directory.h"
#include "plan/memory_forecast.h"
#include "runspec/batch_plan.h"
#include "storage/local_storage.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/checkpoints.h"
#include "worker/trainer/rank_memory.h"

namespace gp::engine {
namespace {

using Json = nlohmann::json;
using contract::ExitCause;

constexpr char kFileName[] = "micro_batch.json";
constexpr char kRowsKey[] = "micro_batch";

int64_t RecordedRows(const contract::ResumePoint& resume) {
  const auto manifest =
      formats::ReadManifest(LocalStorage(), resume.directory, resume.manifest_digest);
  ThrowIfError(CauseOfUnreadable(manifest.status(), resume.directory), manifest.status());
  return manifest->record.micro_batch.value_or(0);
}

int64_t KeptRows(const KeptState& kept, runspec::RunSpec spec) {
  spec.batch.micro_batch = kept.data ? kept.manifest.record.micro_batch.value_or(0) : 0;
  spec.batch.micro_batch_auto = false;
  const bool divides = spec.batch.micro_batch > 0 && runspec::PlanBatch(spec).ok();
  return divides ? spec.batch.micro_batch : 0;
}

int64_t StoredRows(const std::string& run_directory) {
  const std::string path = JoinPath(run_directory, kFileName);
  if (!FileExists(path)) return 0;
  const std::string text = ValueOrThrow(ExitCause::kStorage, ReadFile(path, 4096));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool whole =
      json.is_object() && json.contains(kRowsKey) && json[kRowsKey].is_number_integer();
  if (whole && json[kRowsKey].get<int64_t>() >= 1) return json[kRowsKey].get<int64_t>();
  throw TrainingError(
      ExitCause::kStorage,
      fmt::format("{} is damaged: expected {{\"micro_batch\": N}}; remove it to choose again",
                  path));
}

int64_t BroadcastFromRankZero(int64_t number, Communicator& communicator) {
  communicator.Broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  return number;
}

// The largest micro-batch that fits the rank with the least memory.
int64_t LargestThatFits(const PreparedRun& run, const TrainingPlace& place,
                        Communicator& communicator) {
  const MachineMemory machine = MemoryFor(run.spec);
  const AvailableMemory memory =
      machine.is_shared ? MemoryOfARank(machine.free, communicator.size(), place.threads)
                        : machine.free;
  double least[] = {-static_cast<double>(runspec::LargestMicroBatch(
      run.spec, run.plan, place.threads, memory.bytes, communicator.size()))};
  communicator.AllReduceMax(least);
  if (least[0] < 0) return static_cast<int64_t>(-least[0]);
  // Checks whether one row fits before the number is stored, so that a retry with more free memory
  // can choose a larger one.
  runspec::RunSpec smallest = run.spec;
  smallest.batch.micro_batch = 1;
  smallest.batch.micro_batch_auto = false;
  RefuseWhatDoesNotFit(smallest, run.plan, place.threads, machine, communicator);
  return 1;
}

}  // namespace

int64_t RecordedMicroBatch(const PreparedRun& run, const TrainingPlace& place) {
  const int64_t recorded = place.resume ? RecordedRows(*place.resume) : 0;
  if (recorded > 0) return recorded;
  const int64_t stored = StoredRows(place.run_directory);
  return stored == 0 && run.kept ? KeptRows(*run.kept, run.spec) : stored;
}

Status StoreMicroBatch(const std::string& run_directory, int64_t rows) {
  RETURN_IF_ERROR(MakeDirectory(run_directory));
  return WriteFileAtomically(JoinPath(run_directory, kFileName),
                             Json{{kRowsKey, rows}}.dump() + "\n");
}

int64_t AgreeOnMicroBatch(const PreparedRun& run, const TrainingPlace& place,
                          Communicator& communicator) {
  if (!run.spec.batch.micro_batch_auto) return run.spec.batch.micro_batch;
  const progress::Awaiting waiting(progress::Wait::kStorage);
  const bool leads = communicator.rank() == 0;
  int64_t rows = BroadcastFromRankZero(leads ? RecordedMicroBatch(run, place) : 0, communicator);
  if (rows > 0) return rows;
  rows = LargestThatFits(run, place, communicator);
  if (leads) ThrowIfError(ExitCause::kStorage, StoreMicroBatch(place.run_directory, rows));
  LogInfo("micro-batch chosen", {{"rows", rows}});
  // Rank 0 sends the number only after it is durable.
  return BroadcastFromRankZero(rows, communicator);
}

}  // namespace gp::engine
