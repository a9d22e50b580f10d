#include "coordinator/telemetry/recorder.h"

#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"

namespace gp::coordinator {
namespace {

// Never reached: waiting_bytes_max is the limit that counts.
constexpr size_t kMailboxCapacity = size_t{1} << 20;
constexpr size_t kBatchesAtOnce = 64;
constexpr uint64_t kUnsummarizedBytesMax = 256 << 10;
constexpr int kPatienceMax = 64;

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

Status AppendAll(const RunId& run, const std::vector<TelemetryBatch>& batches, RunLog& log) {
  for (const TelemetryBatch& batch : batches) {
    const auto points = batch.points.find(run);
    if (points != batch.points.end()) RETURN_IF_ERROR(log.AppendPoints(points->second));
    const auto lines = batch.lines.find(run);
    if (lines != batch.lines.end()) RETURN_IF_ERROR(log.AppendLines(lines->second));
  }
  return OkStatus();
}

}  // namespace

Recorder::Recorder(std::string directory, const RecorderOptions& options, RecordObserver& observer)
    : directory_(std::move(directory)),
      options_(options),
      observer_(observer),
      mailbox_(kMailboxCapacity) {
  ReadProgresses();
  thread_ = std::jthread([this] { Loop(); });
}

Recorder::~Recorder() { Stop(); }

void Recorder::ReadProgresses() {
  const auto names = ListDirectory(directory_);
  if (!names.ok()) return;  // nothing was ever recorded
  MutexLock lock(mutex_);
  for (const std::string& name : *names) {
    const RunId run(name);
    StatusOr<Progress> progress = FirstProgressOf(run);
    if (progress.ok()) {
      progress_[run] = *std::move(progress);
    } else {
      LogWarning("the measurements of a run cannot be read",
                 {{"run", run}, {"error", gp::Message(progress.status())}});
    }
  }
}

// Reads the run's progress. A log without a summary is read as a whole and gets a summary, so that
// later starts are fast.
StatusOr<Progress> Recorder::FirstProgressOf(const RunId& run) const {
  const std::string directory = DirectoryOf(run);
  if (!HasSummary(directory)) {
    StatusOr<RunLog> log = RunLog::Open(directory, options_.limits);
    // On a full disk no summary can be written; the log can still be read, below.
    if (log.ok() && log->Sync().ok() && log->SaveSummary().ok()) return log->progress();
  }
  return ReadProgress(directory);
}

bool Recorder::Post(TelemetryBatch batch) {
  const std::set<RunId> runs = RunsOf(batch);
  const size_t size_bytes = batch.size_bytes;
  MutexLock lock(mutex_);
  if (waiting_bytes_ + size_bytes > options_.waiting_bytes_max) return false;
  if (!mailbox_.TryPost(batch)) return false;
  waiting_bytes_ += size_bytes;
  for (const RunId& run : runs) ++pending_[run];
  return true;
}

bool Recorder::HasPending(const RunId& run) const {
  MutexLock lock(mutex_);
  return pending_.contains(run);
}

void Recorder::Stop() {
  mailbox_.Close();
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    stopping_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

Progress Recorder::ProgressOf(const RunId& run) const {
  MutexLock lock(mutex_);
  const auto known = progress_.find(run);
  return known == progress_.end() ? Progress() : known->second;
}

std::string Recorder::DirectoryOf(const RunId& run) const {
  return JoinPath(directory_, run.value());
}

void Recorder::Loop() {
  while (!mailbox_.drained()) {
    const Batches batches = mailbox_.Drain(kBatchesAtOnce, std::chrono::seconds(1));
    if (!batches.empty()) Write(batches);
    DeleteForgotten();
  }
  for (auto& [run, open] : open_) Close(open);
}

void Recorder::Forget(const RunId& run) {
  MutexLock lock(mutex_);
  progress_.erase(run);
  forgotten_.insert(run);
}

void Recorder::ForgetDeleted(const Cluster& cluster) {
  const auto names = ListDirectory(directory_);
  if (!names.ok()) return;  // nothing was ever recorded
  for (const std::string& name : *names) {
    if (cluster.FindDeleted(RunId(name)) != nullptr) Forget(RunId(name));
  }
}

void Recorder::DeleteForgotten() {
  std::vector<RunId> runs;
  {
    MutexLock lock(mutex_);
    for (const RunId& run : forgotten_) {
      if (!pending_.contains(run)) runs.push_back(run);
    }
  }
  for (const RunId& run : runs) {
    open_.erase(run);
    losses_.erase(run);
    const Status deleted = RemoveTree(DirectoryOf(run));
    if (!deleted.ok()) {
      LogWarning("the records of a deleted run are not removed; will retry at the next start",
                 {{"run", run}, {"error", gp::Message(deleted)}});
    }
    MutexLock lock(mutex_);
    progress_.erase(run);
    forgotten_.erase(run);
  }
}

void Recorder::Write(const Batches& batches) {
  bool warned = false;
  std::set<RunId> runs = RunsOf(batches);
  while (true) {
    const std::map<RunId, Status> waiting = WriteRuns(runs, batches);
    if (waiting.empty()) break;
    if (!warned) {
      LogWarning("cannot write logs and points", {{"error", gp::Message(waiting.begin()->second)}});
    }
    warned = true;
    if (!WaitForDisk()) return;  // unacknowledged: the agents send it again
    std::erase_if(runs, [&](const RunId& run) { return !waiting.contains(run); });
  }
  if (warned) LogInfo("can write logs and points again");
  Announce(batches);
}

std::map<RunId, Status> Recorder::WriteRuns(const std::set<RunId>& runs, const Batches& batches) {
  std::map<RunId, Status> waiting;
  for (const RunId& run : runs) {
    if (SkipsTry(run)) {
      Lose(run, batches);
      continue;
    }
    Status status = WriteRun(run, batches);
    if (!status.ok() && !DiskWorks(status)) {
      waiting.emplace(run, status);
      continue;
    }
    if (!status.ok()) status = WriteRun(run, batches);
    if (status.ok()) {
      EndLoss(run);
    } else {
      TellLoss(run, status, batches);
      Lose(run, batches);
    }
  }
  return waiting;
}

Status Recorder::WriteRun(const RunId& run, const Batches& batches) {
  ASSIGN_OR_RETURN(RunLog * log, Open(run));
  Status status = AppendAll(run, batches, *log);
  if (status.ok()) status = log->Sync();
  if (!status.ok()) {
    open_.erase(run);
    return status;
  }
  if (log->bytes_since_summary() > kUnsummarizedBytesMax) (void)log->SaveSummary();
  MutexLock lock(mutex_);
  progress_[run] = log->progress();
  return OkStatus();
}

StatusOr<RunLog*> Recorder::Open(const RunId& run) {
  auto found = open_.find(run);
  if (found == open_.end()) {
    if (open_.size() >= options_.open_logs_max) CloseOldest();
    ASSIGN_OR_RETURN(RunLog log, RunLog::Open(DirectoryOf(run), options_.limits));
    found = open_.emplace(run, OpenLog{std::move(log)}).first;
  }
  found->second.used = ++uses_;
  return &found->second.log;
}

void Recorder::CloseOldest() {
  const auto oldest =
      std::min_element(open_.begin(), open_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  Close(oldest->second);
  open_.erase(oldest);
}

// If the summary cannot be saved, the log only takes longer to open.
void Recorder::Close(OpenLog& open) {
  if (open.log.bytes_since_summary() > 0) (void)open.log.SaveSummary();
}

bool Recorder::DiskWorks(const Status& failure) const {
  if (failure.code() == StatusCode::kResourceExhausted) return false;
  if (!MakeDirectories(directory_, 0700).ok()) return false;
  const std::string probe = JoinPath(directory_, "probe.tmp");
  const Status written = WriteFileAtomically(probe, "a run's log could not be written\n");
  unlink(probe.c_str());
  return written.ok();
}

bool Recorder::SkipsTry(const RunId& run) {
  const auto found = losses_.find(run);
  if (found == losses_.end() || found->second.tries_skipped >= found->second.patience) return false;
  ++found->second.tries_skipped;
  return true;
}

void Recorder::Lose(const RunId& run, const Batches& batches) {
  Loss& loss = losses_[run];
  for (const TelemetryBatch& batch : batches) {
    const auto points = batch.points.find(run);
    if (points != batch.points.end()) loss.points += points->second.size();
    const auto lines = batch.lines.find(run);
    if (lines != batch.lines.end()) loss.lines += lines->second.size();
  }
}

void Recorder::TellLoss(const RunId& run, const Status& why, const Batches& batches) {
  const auto [loss, first] = losses_.try_emplace(run);
  loss->second.tries_skipped = 0;
  loss->second.patience = std::min(2 * loss->second.patience, kPatienceMax);
  if (!first) return;
  LogWarning(
      "a run's log cannot be written; its points and lines are lost until writing works again",
      {{"run", run}, {"error", gp::Message(why)}});
  for (const TelemetryBatch& batch : batches) {
    if (!batch.points.contains(run) && !batch.lines.contains(run)) continue;
    if (batch.on_lost) batch.on_lost(run, gp::Message(why));
    return;
  }
}

void Recorder::EndLoss(const RunId& run) {
  const auto loss = losses_.find(run);
  if (loss == losses_.end()) return;
  LogInfo("can write a run's log again",
          {{"run", run}, {"lost_points", loss->second.points}, {"lost_lines", loss->second.lines}});
  losses_.erase(loss);
}

bool Recorder::WaitForDisk() {
  const auto deadline = std::chrono::steady_clock::now() + options_.retry_delay;
  MutexLock lock(mutex_);
  while (!stopped_) {
    if (!stopping_.WaitUntil(mutex_, deadline)) return !stopped_;
  }
  return false;
}

void Recorder::CountOff(const Batches& batches) {
  MutexLock lock(mutex_);
  for (const TelemetryBatch& batch : batches) {
    waiting_bytes_ -= batch.size_bytes;
    for (const RunId& run : RunsOf(batch)) {
      const auto count = pending_.find(run);
      if (--count->second == 0) pending_.erase(count);
    }
  }
}

void Recorder::Announce(const Batches& batches) {
  CountOff(batches);
  for (const RunId& run : RunsOf(batches)) observer_.OnRecorded(run, ProgressOf(run));
  for (const TelemetryBatch& batch : batches) {
    if (batch.on_durable) batch.on_durable();
  }
}

}  // namespace gp::coordinator
