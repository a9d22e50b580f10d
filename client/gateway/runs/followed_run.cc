#include "client/gateway/runs/followed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "client/gateway/runs/sample_file.h"
#include "rpc/message_fields.h"

namespace gp::gateway {
namespace {

using std::chrono::steady_clock;

constexpr size_t kEventsMax = 500;
// Lines of rank 0's log that are read when samples must come from it. The log may be long, but few
// of its lines are samples.
constexpr int kLogTail = 2000;
constexpr std::chrono::seconds kReopenPause{1};
// How often checkpoints are requested without a visible change: pruning them sends no event.
constexpr std::chrono::seconds kAskAgain{10};

}  // namespace

FollowedRun::FollowedRun(client::RunClient& client, client::RunStreams& streams,
                         std::function<void(News)> on_news)
    : client_(client), streams_(streams), on_news_(std::move(on_news)) {}

void FollowedRun::Close() {
  for (Stream* stream : {&points_stream_, &events_stream_, &log_stream_}) stream->open.reset();
}

void FollowedRun::Tend(const v1::Run& run) {
  const bool terminal = client::IsTerminal(run.state());
  TendStream(points_stream_, terminal, [&](bool follow) { return OpenPoints(run, follow); });
  TendStream(events_stream_, terminal, [&](bool follow) { return OpenEvents(run, follow); });
  TendSamples(run);
  TendDetails(run);
  MutexLock lock(mutex_);
  complete_ = complete_ || (points_stream_.told && events_stream_.told);
}

void FollowedRun::TendStream(
    Stream& stream, bool terminal,
    const std::function<std::unique_ptr<client::OpenStream>(bool follow)>& open) {
  if (!terminal) stream.finished = false;  // an ended run may continue with another leg
  if (stream.open != nullptr) {
    const auto end = stream.open->end();
    if (!end) return;
    stream.open.reset();
    if (end->ok()) {
      // The stream that follows the history is complete if the run has ended, because the end of a
      // run is reported after its last message.
      stream.finished = stream.told && terminal;
      stream.told = true;
    } else {
      stream.next_open = steady_clock::now() + kReopenPause;
    }
  }
  if (stream.finished || steady_clock::now() < stream.next_open) return;
  stream.open = open(stream.told);
}

std::unique_ptr<client::OpenStream> FollowedRun::OpenPoints(const v1::Run& run, bool follow) {
  v1::MetricsRequest request;
  request.set_run(run.run_id());
  request.set_follow(follow);
  {
    // If the run has a later epoch, request all points: the new epoch may have repeated steps.
    MutexLock lock(mutex_);
    request.set_after_step(run.epoch() > points_epoch_ ? -1 : points_.last_step());
  }
  return streams_.Metrics(request, [this](const v1::MetricPoint& point) { Apply(point); });
}

std::unique_ptr<client::OpenStream> FollowedRun::OpenEvents(const v1::Run& run, bool follow) {
  v1::EventsRequest request;
  request.set_run(run.run_id());
  request.set_follow(follow);
  {
    MutexLock lock(mutex_);
    request.set_after_sequence(last_event_);
  }
  return streams_.Events(request, [this](const v1::RunEvent& event) { Apply(event); });
}

std::unique_ptr<client::OpenStream> FollowedRun::OpenLog(const v1::Run& run, bool follow) {
  v1::LogsRequest request;
  request.set_run(run.run_id());
  request.set_rank(0);
  request.set_follow(follow);
  {
    MutexLock lock(mutex_);
    request.set_after_sequence(last_line_);
  }
  if (request.after_sequence() == 0) request.set_tail(kLogTail);
  return streams_.Logs(request, [this](const v1::LogLine& line) { Apply(line); });
}

// Reads the samples from samples.jsonl if this machine can read the run's directory, otherwise from
// the log of rank 0.
void FollowedRun::TendSamples(const v1::Run& run) {
  const std::string path = JoinPath(run.run_directory(), "samples.jsonl");
  const auto size =
      run.run_directory().empty() ? StatusOr<uint64_t>(NotFound("no directory")) : FileSize(path);
  if (!size.ok()) {
    TendStream(log_stream_, client::IsTerminal(run.state()),
               [&](bool follow) { return OpenLog(run, follow); });
    return;
  }
  log_stream_.open.reset();
  if (*size == samples_size_) return;
  auto samples = ReadNewestSamples(path);
  if (!samples.ok()) return;
  samples_size_ = *size;
  MutexLock lock(mutex_);
  details_.samples = std::move(*samples);
  ++details_.version;
}

void FollowedRun::TendDetails(const v1::Run& run) {
  const std::string wanted = fmt::format("{} {} {} {}", run.epoch(), static_cast<int>(run.state()),
                                         run.latest_checkpoint_step(), run.best_checkpoint_step());
  const auto now = steady_clock::now();
  {
    MutexLock lock(mutex_);
    if (wanted == asked_ && !stale_ && now - asked_at_ < kAskAgain) return;
    stale_ = false;
  }
  const auto full = client_.Get(run.run_id());
  const auto checkpoints = client_.Checkpoints(run.run_id());
  if (!full.ok() || !checkpoints.ok()) {
    MutexLock lock(mutex_);
    stale_ = true;
    return;
  }
  asked_ = wanted;
  asked_at_ = now;
  const std::string described =
      full->run_id() + full->resolved() + checkpoints->SerializeAsString();
  MutexLock lock(mutex_);
  if (described_ == described) return;
  described_ = described;
  details_.run = *full;
  details_.checkpoints.assign(checkpoints->checkpoints().begin(), checkpoints->checkpoints().end());
  details_.checkpoints.insert(details_.checkpoints.end(), checkpoints->quarantined().begin(),
                              checkpoints->quarantined().end());
  ++details_.version;
}

void FollowedRun::Apply(const v1::MetricPoint& point) {
  {
    MutexLock lock(mutex_);
    points_.Append(CompactPoint(rpc::ReadFields<contract::TrainingPoint>(point)));
    points_epoch_ = std::max<uint64_t>(points_epoch_, point.epoch());
  }
  on_news_(News::kPoint);
}

void FollowedRun::Apply(const v1::RunEvent& event) {
  {
    MutexLock lock(mutex_);
    last_event_ = event.sequence();
    details_.events.push_back(event);
    if (details_.events.size() > kEventsMax) details_.events.pop_front();
    stale_ = true;
    ++details_.version;
  }
  on_news_(News::kEvent);
}

void FollowedRun::Apply(const v1::LogLine& line) {
  auto sample = client::ParseSampleLine(line.text());
  MutexLock lock(mutex_);
  last_line_ = line.sequence();
  if (!sample) return;
  AddSample(std::move(*sample), details_.samples);
  ++details_.version;
}

std::shared_ptr<const RunDetails> FollowedRun::Details() const {
  MutexLock lock(mutex_);
  if (described_.empty() || !complete_) return nullptr;
  if (published_ == nullptr || published_->version != details_.version) {
    published_ = std::make_shared<const RunDetails>(details_);
  }
  return published_;
}

FollowedRun::Points FollowedRun::Select(const PointRange& range) const {
  MutexLock lock(mutex_);
  return {points_.size(), points_.appended(), points_.Select(range)};
}

FollowedRun::Points FollowedRun::PointsAfter(uint32_t appended, size_t count_max) const {
  MutexLock lock(mutex_);
  return {points_.size(), points_.appended(), points_.After(appended, count_max)};
}

}  // namespace gp::gateway
