#include "coordinator/recorder.h"

#include <set>

#include "base/file.h"
#include "base/log.h"

namespace gp::coordinator {
namespace {

constexpr size_t kMailboxCapacity = 1024;
constexpr size_t kBatchesAtOnce = 64;
constexpr size_t kOpenLogsMax = 128;
constexpr std::chrono::nanoseconds kRetryDelay = std::chrono::seconds(1);

std::set<RunId> RunsOf(const TelemetryBatch& batch) {
  std::set<RunId> runs;
  for (const auto& [run, points] : batch.points) runs.insert(run);
  for (const auto& [run, lines] : batch.lines) runs.insert(run);
  return runs;
}

std::set<RunId> RunsOf(const std::vector<TelemetryBatch>& batches) {
  std::set<RunId> runs;
  for (const TelemetryBatch& batch : batches) runs.merge(RunsOf(batch));
  return runs;
}

}  // namespace

Recorder::Recorder(std::string directory, RunLogLimits limits, RecordObserver& observer)
    : directory_(std::move(directory)),
      limits_(limits),
      observer_(observer),
      mailbox_(kMailboxCapacity),
      thread_([this] { Loop(); }) {}

Recorder::~Recorder() { Stop(); }

bool Recorder::Post(TelemetryBatch batch) {
  const std::set<RunId> runs = RunsOf(batch);
  MutexLock lock(mutex_);
  if (!mailbox_.TryPost(batch)) return false;
  for (const RunId& run : runs) ++pending_[run];
  return true;
}

bool Recorder::HasPending(const RunId& run) const {
  MutexLock lock(mutex_);
  return pending_.contains(run);
}

void Recorder::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

std::string Recorder::DirectoryOf(const RunId& run) const {
  return JoinPath(directory_, run.value());
}

void Recorder::Loop() {
  while (!mailbox_.drained()) {
    auto batches = mailbox_.Drain(kBatchesAtOnce, std::chrono::seconds(1));
    if (!batches.empty()) Write(std::move(batches));
  }
}

void Recorder::Write(std::vector<TelemetryBatch> batches) {
  bool warned = false;
  while (true) {
    const Status status = TryWrite(batches);
    if (status.ok()) break;
    if (!warned) LogWarning("logs and points are not written", {{"error", gp::Message(status)}});
    warned = true;
    open_.clear();
    if (mailbox_.closed()) return;  // unacknowledged: the agents send it again
    Mutex waiting;
    CondVar never;
    MutexLock lock(waiting);
    never.WaitFor(waiting, kRetryDelay);
  }
  if (warned) LogInfo("logs and points are written again");
  Announce(batches);
}

Status Recorder::TryWrite(const std::vector<TelemetryBatch>& batches) {
  for (const TelemetryBatch& batch : batches) {
    for (const auto& [run, points] : batch.points) {
      ASSIGN_OR_RETURN(RunLog * log, Open(run));
      RETURN_IF_ERROR(log->AppendPoints(points));
    }
    for (const auto& [run, lines] : batch.lines) {
      ASSIGN_OR_RETURN(RunLog * log, Open(run));
      RETURN_IF_ERROR(log->AppendLines(lines));
    }
  }
  for (const RunId& run : RunsOf(batches)) {
    ASSIGN_OR_RETURN(RunLog * log, Open(run));
    RETURN_IF_ERROR(log->Sync());
  }
  return OkStatus();
}

StatusOr<RunLog*> Recorder::Open(const RunId& run) {
  const auto found = open_.find(run);
  if (found != open_.end()) return &found->second;
  ASSIGN_OR_RETURN(RunLog log, RunLog::Open(DirectoryOf(run), limits_));
  return &open_.emplace(run, std::move(log)).first->second;
}

void Recorder::Announce(const std::vector<TelemetryBatch>& batches) {
  CountOff(batches);
  for (const RunId& run : RunsOf(batches)) {
    const Progress progress = open_.at(run).progress();
    {
      MutexLock lock(mutex_);
      progress_[run] = progress;
    }
    observer_.OnRecorded(run, progress);
  }
  for (const TelemetryBatch& batch : batches) {
    if (batch.on_durable) batch.on_durable();
  }
  if (open_.size() > kOpenLogsMax) open_.clear();
}

void Recorder::CountOff(const std::vector<TelemetryBatch>& batches) {
  MutexLock lock(mutex_);
  for (const TelemetryBatch& batch : batches) {
    for (const RunId& run : RunsOf(batch)) {
      const auto count = pending_.find(run);
      if (--count->second == 0) pending_.erase(count);
    }
  }
}

Progress Recorder::ProgressOf(const RunId& run) {
  {
    MutexLock lock(mutex_);
    const auto known = progress_.find(run);
    if (known != progress_.end()) return known->second;
  }
  Progress progress;
  uint64_t offset = 0;
  const auto points = ReadPoints(DirectoryOf(run), SIZE_MAX, offset);
  if (points.ok()) {
    for (const Point& point : *points) progress.Add(point);
  }
  MutexLock lock(mutex_);
  return progress_.try_emplace(run, progress).first->second;
}

}  // namespace gp::coordinator
