#include "coordinator/service/run_streams.h"

#include <deque>
#include <map>

#include "base/check.h"
#include "coordinator/service/convert.h"

namespace gp::coordinator {
namespace {

constexpr int kReadAtOnce = 256;

// True once the run has ended and whatever its agents had sent by then is on disk.
class EndOfRun {
 public:
  EndOfRun(StreamContext context, RunId run) : context_(context), run_(std::move(run)) {}

  // An agent sends what its ranks printed before it says that they ended, so all of it is posted by
  // then. When the last of it is recorded the run's listeners are told, as of every record.
  bool Reached() const {
    const auto run = context_.reconciler.snapshot()->FindRun(run_);
    if (run == nullptr || !IsTerminal(run->state)) return false;
    return !context_.recorder.HasPending(run_);
  }

 private:
  StreamContext context_;
  RunId run_;
};

class WatchSource final : public StreamSource<v1::WatchResponse> {
 public:
  WatchSource(StreamContext context, RunId run)
      : context_(context), run_(run), end_(context, std::move(run)) {}

  StatusOr<Pull> Next(v1::WatchResponse& response) override {
    const bool ended = end_.Reached();
    const auto cluster = context_.reconciler.snapshot();
    const auto run = cluster->FindRun(run_);
    GP_CHECK(run != nullptr);
    // The end is told last, with the final numbers.
    if (IsTerminal(run->state) && !ended) return Pull::kWait;
    *response.mutable_run() = ToProto(*cluster, *run, context_.recorder.ProgressOf(run_));
    std::string bytes = response.run().SerializeAsString();
    if (bytes == told_) return ended ? Pull::kEnd : Pull::kWait;
    told_ = std::move(bytes);
    return Pull::kMessage;
  }

 private:
  StreamContext context_;
  RunId run_;
  EndOfRun end_;
  std::string told_;
};

// Follows a run's records: Refill brings the next ones, in order.
template <typename Response>
class BufferedSource : public StreamSource<Response> {
 public:
  BufferedSource(StreamContext context, RunId run, bool follow)
      : context_(context), run_(run), follow_(follow), end_(context, std::move(run)) {}

  StatusOr<Pull> Next(Response& response) final {
    if (buffer_.empty()) {
      // Asked first: what comes between the two is read by Refill.
      const bool ended = !follow_ || end_.Reached();
      RETURN_IF_ERROR(Refill());
      if (buffer_.empty()) return ended ? Pull::kEnd : Pull::kWait;
    }
    response = std::move(buffer_.front());
    buffer_.pop_front();
    return Pull::kMessage;
  }

 protected:
  // Appends to buffer_; leaves it empty only when nothing is left to read now.
  virtual Status Refill() = 0;

  StreamContext context_;
  const RunId run_;
  std::deque<Response> buffer_;

 private:
  const bool follow_;
  EndOfRun end_;
};

struct StateVisitor {
  RunState before;

  RunState operator()(const RunSubmitted&) const { return RunState::kSubmitted; }
  RunState operator()(const RunQueued&) const { return RunState::kQueued; }
  RunState operator()(const RunPlaced&) const { return RunState::kStarting; }
  RunState operator()(const RunStarted&) const { return RunState::kRunning; }
  RunState operator()(const RankFailed&) const { return RunState::kBackoff; }
  RunState operator()(const CancelRequested&) const { return RunState::kCancelling; }
  RunState operator()(const RunFinishing&) const { return RunState::kFinishing; }
  RunState operator()(const RunEnded& ended) const { return ended.state; }
  template <typename Other>
  RunState operator()(const Other&) const {
    return before;
  }
};

RunState StateAfter(const Event& event, RunState before) {
  return std::visit(StateVisitor{before}, event.body);
}

class EventsSource final : public BufferedSource<v1::RunEvent> {
 public:
  EventsSource(StreamContext context, RunId run, const v1::EventsRequest& request)
      : BufferedSource(context, std::move(run), request.follow()),
        after_(request.after_sequence()) {}

 private:
  // Reads from the start: what state an event led to follows from those before it.
  Status Refill() override {
    while (buffer_.empty()) {
      ASSIGN_OR_RETURN(const std::vector<StoredEvent> events,
                       context_.store.ReadRun(run_, read_, kReadAtOnce));
      if (events.empty()) return OkStatus();
      for (const StoredEvent& stored : events) Take(stored);
    }
    return OkStatus();
  }

  void Take(const StoredEvent& stored) {
    read_ = stored.sequence;
    state_ = StateAfter(stored.event, state_);
    if (const auto* placed = std::get_if<RunPlaced>(&stored.event.body)) epoch_ = placed->epoch;
    if (stored.sequence > after_) buffer_.push_back(ToProto(stored, state_, epoch_));
  }

  const uint64_t after_;
  uint64_t read_ = 0;
  RunState state_ = RunState::kSubmitted;
  Epoch epoch_ = 0;
};

class LogsSource final : public BufferedSource<v1::LogLine> {
 public:
  LogsSource(StreamContext context, RunId run, const v1::LogsRequest& request)
      : BufferedSource(context, std::move(run), request.follow()),
        after_(request.after_sequence()),
        rank_(request.rank()),
        tail_(request.tail() > 0 ? static_cast<size_t>(request.tail()) : 0) {}

 private:
  Status Refill() override {
    while (true) {
      ASSIGN_OR_RETURN(std::vector<Line> lines,
                       ReadLines(context_.recorder.DirectoryOf(run_), kReadAtOnce, offset_));
      if (lines.empty()) break;
      for (const Line& line : lines) Take(line);
      if (!buffer_.empty() && tail_ == 0) break;
    }
    tail_ = 0;  // from here on every line
    return OkStatus();
  }

  void Take(const Line& line) {
    if (line.sequence <= after_ || (rank_ >= 0 && line.rank != rank_)) return;
    buffer_.push_back(ToProto(line));
    if (tail_ > 0 && buffer_.size() > tail_) buffer_.pop_front();
  }

  const uint64_t after_;
  const int rank_;
  size_t tail_;  // 0: everything
  uint64_t offset_ = 0;
};

class MetricsSource final : public BufferedSource<v1::MetricPoint> {
 public:
  MetricsSource(StreamContext context, RunId run, const v1::MetricsRequest& request)
      : BufferedSource(context, std::move(run), request.follow()), after_(request.after_step()) {}

 private:
  Status Refill() override {
    if (!caught_up_) return CatchUp();
    ASSIGN_OR_RETURN(const std::vector<Point> points,
                     ReadPoints(context_.recorder.DirectoryOf(run_), kReadAtOnce, offset_));
    for (const Point& point : points) buffer_.push_back(ToProto(point));
    return OkStatus();
  }

  // The past is told once a step, as the newest epoch committed it; steps that were lost to a
  // restart are left out.
  Status CatchUp() {
    ASSIGN_OR_RETURN(const std::vector<Point> points,
                     ReadPoints(context_.recorder.DirectoryOf(run_), SIZE_MAX, offset_));
    std::map<int64_t, Point> by_step;
    Epoch epoch = 0;
    for (const Point& point : points) {
      if (point.epoch > epoch) by_step.erase(by_step.lower_bound(point.step), by_step.end());
      epoch = point.epoch;
      by_step[point.step] = point;
    }
    for (const auto& [step, point] : by_step) {
      if (step > after_) buffer_.push_back(ToProto(point));
    }
    caught_up_ = true;
    return OkStatus();
  }

  const int64_t after_;
  bool caught_up_ = false;
  uint64_t offset_ = 0;
};

}  // namespace

std::unique_ptr<StreamSource<v1::WatchResponse>> MakeWatchSource(StreamContext context, RunId run) {
  return std::make_unique<WatchSource>(context, std::move(run));
}

std::unique_ptr<StreamSource<v1::RunEvent>> MakeEventsSource(StreamContext context, RunId run,
                                                             const v1::EventsRequest& request) {
  return std::make_unique<EventsSource>(context, std::move(run), request);
}

std::unique_ptr<StreamSource<v1::LogLine>> MakeLogsSource(StreamContext context, RunId run,
                                                          const v1::LogsRequest& request) {
  return std::make_unique<LogsSource>(context, std::move(run), request);
}

std::unique_ptr<StreamSource<v1::MetricPoint>> MakeMetricsSource(
    StreamContext context, RunId run, const v1::MetricsRequest& request) {
  return std::make_unique<MetricsSource>(context, std::move(run), request);
}

}  // namespace gp::coordinator
