#include "coordinator/checkpoints/service_retention.h"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "coordinator/checkpoints/disk_usage.h"
#include "coordinator/state/run_reference.h"

namespace gp::coordinator {
namespace {

constexpr char kActor[] = "retention";
constexpr char kDelete[] = "gp.v1.StorageService/DeleteRun";
constexpr char kPrune[] = "gp.v1.StorageService/PruneCheckpoints";

template <typename Duration>
int64_t SecondsOf(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

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
  NoteTime();
  DeleteEnded();
  PruneAtWatermark();
}

void ServiceRetention::NoteTime() {
  const bool is_first = time_.watched().count() == 0;
  const std::chrono::microseconds jump = time_.Note({clock_.Now(), clock_.WallNow()});
  const EndedRunsPolicy by_age{.age = options_.policy.age};
  if (jump.count() > 0 && by_age.IsOn()) {
    LogWarning("the clock was set forward; retention does not count that time as age",
               {{"seconds", SecondsOf(jump)}});
  }
  if (!is_first) return;
  const size_t due = EndedRunsToDelete(*reconciler_.snapshot(), by_age, time_).size();
  if (due == 0) return;
  LogInfo(
      "retention will delete runs because of their age",
      {{"runs", due},
       {"in_seconds", SecondsOf(std::min<std::chrono::nanoseconds>(by_age.age, kWatchBeforeAge))}});
}

void ServiceRetention::DeleteEnded() {
  const auto cluster = reconciler_.snapshot();
  EndedRunsPolicy policy = options_.policy;
  if (time_.watched() < std::min<std::chrono::nanoseconds>(policy.age, kWatchBeforeAge)) {
    policy.age = std::chrono::nanoseconds(0);
  }
  for (const RunId& id : EndedRunsToDelete(*cluster, policy, time_)) {
    if (!MayRemove(kDelete)) return;
    const auto run = cluster->FindRun(id);
    const RunSize size = SizeOf(files_, *run);
    const bool deleted =
        Decide(id, RunDeleted{.checkpoints = size.checkpoints, .freed_bytes = size.total_bytes()},
               kDelete);
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
    if (!MayRemove(kPrune)) return;
    if (!Decide(id, CheckpointsPruned{}, kPrune)) continue;
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

// The refusal is recorded, too, which tests whether the log works again (as AccessGate does).
bool ServiceRetention::MayRemove(const char* method) {
  if (stopped()) return false;
  const Status health = audit_.health();
  if (health.ok()) return true;
  LogWarning("the audit log cannot be written, so retention removes nothing",
             {{"error", gp::Message(health)}});
  formats::AuditRecord refusal;
  refusal.principal = kActor;
  refusal.method = method;
  refusal.outcome = "UNAVAILABLE";
  refusal.message = "the audit log cannot be written";
  audit_.RecordRefusal(std::move(refusal));
  return false;
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
  // Waits, so that no more is removed once the log cannot be written.
  auto written = std::make_shared<std::promise<void>>();
  audit_.Record(std::move(record), [written](const Status&) { written->set_value(); });
  written->get_future().wait();
  return true;
}

}  // namespace gp::coordinator
