#include "coordinator/checkpoints/service_retention.h"

#include <future>
#include <memory>
#include <utility>

#include "base/log.h"
#include "coordinator/checkpoints/disk_usage.h"
#include "coordinator/state/run_reference.h"

namespace gp::coordinator {
namespace {

constexpr char kActor[] = "retention";

void AddRetired(const Run& run, std::vector<std::string>& directories) {
  for (const auto* sealed : {&run.checkpoints, &run.superseded}) {
    for (const SealedCheckpoint& one : *sealed) {
      if (one.retired) directories.push_back(one.directory);
    }
  }
}

}  // namespace

ServiceRetention::ServiceRetention(Reconciler& reconciler, AuditLog& audit, const Storage& files,
                                   const Clock& clock, ServiceRetentionOptions options)
    : reconciler_(reconciler),
      audit_(audit),
      files_(files),
      clock_(clock),
      options_(std::move(options)) {}

ServiceRetention::~ServiceRetention() { Stop(); }

void ServiceRetention::Start() {
  if (options_.policy.IsOn()) thread_ = std::jthread([this] { Loop(); });
}

void ServiceRetention::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    stopping_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

bool ServiceRetention::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

void ServiceRetention::Loop() {
  while (!stopped()) {
    Look();
    const auto deadline = std::chrono::steady_clock::now() + options_.period;
    MutexLock lock(mutex_);
    while (!stopped_) {
      if (!stopping_.WaitUntil(mutex_, deadline)) break;
    }
  }
}

void ServiceRetention::Look() {
  DeleteEnded();
  PruneAtWatermark();
}

void ServiceRetention::DeleteEnded() {
  const auto cluster = reconciler_.snapshot();
  for (const RunId& id : EndedRunsToDelete(*cluster, options_.policy, clock_.WallNow())) {
    if (stopped()) return;
    const auto run = cluster->FindRun(id);
    const RunSize size = SizeOf(files_, *run);
    const bool deleted =
        Decide(id, RunDeleted{.checkpoints = size.checkpoints, .freed_bytes = size.total_bytes()},
               "gp.v1.StorageService/DeleteRun");
    if (deleted) removing_.push_back(run->submission->run_directory);
  }
}

void ServiceRetention::PruneAtWatermark() {
  if (options_.policy.disk_watermark <= 0 || IsRemoving()) return;
  const auto space = SpaceAt(options_.storage_root);
  if (!space.ok()) {
    return LogWarning("cannot measure the storage", {{"error", gp::Message(space.status())}});
  }
  const uint64_t needed =
      BytesAboveWatermark(options_.policy, space->total_bytes, space->free_bytes);
  for (const RunId& id : EndedRunsToPrune(*reconciler_.snapshot(), needed)) {
    if (stopped()) return;
    if (!Decide(id, CheckpointsPruned{}, "gp.v1.StorageService/PruneCheckpoints")) continue;
    const auto pruned = reconciler_.snapshot()->FindRun(id);
    if (pruned != nullptr) AddRetired(*pruned, removing_);
  }
}

bool ServiceRetention::IsRemoving() {
  std::erase_if(removing_, [this](const std::string& directory) {
    return files_.List(directory).status().code() == StatusCode::kNotFound;
  });
  if (removing_.empty()) return false;
  LogInfo("retention waits until the files that it decided to remove are gone",
          {{"directories", removing_.size()}, {"first", removing_.front()}});
  return true;
}

bool ServiceRetention::Decide(const RunId& run, EventBody body, const char* method) {
  const auto known = reconciler_.snapshot()->FindRun(run);
  if (known == nullptr) return false;  // deleted meanwhile
  auto answer = std::make_shared<std::promise<StatusOr<Admission>>>();
  reconciler_.Request(
      {.run = run, .actor = kActor, .body = std::move(body)},
      [answer](const StatusOr<Admission>& admission) { answer->set_value(admission); });
  const StatusOr<Admission> decided = answer->get_future().get();
  if (!decided.ok()) {
    LogWarning("retention skipped a run",
               {{"run", run}, {"reason", gp::Message(decided.status())}});
    return false;
  }
  if (decided->replayed) return false;  // nothing was left to remove
  formats::AuditRecord record;
  record.principal = kActor;
  record.method = method;
  record.target = NamespaceOf(*known) + "/" + run.value();
  record.outcome = "OK";
  audit_.Record(std::move(record), nullptr);
  return true;
}

}  // namespace gp::coordinator
