#include "coordinator/service/run_streams.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "base/check.h"
#include "coordinator/service/convert.h"
#include "coordinator/state/queries/lineage.h"
#include "coordinator/telemetry/curve_reader.h"
#include "coordinator/telemetry/shown_points.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

// Records of a page. A worker reads one page before other streams have their turn, and a stream
// keeps one page in memory.
constexpr int kPageRecords = 64;

// Detects that a run has ended and everything that its agents sent before the end is on disk.
class EndOfRun {
 public:
  EndOfRun(StreamContext context, RunId run) : context_(context), run_(std::move(run)) {}

  // An agent sends what its ranks printed before it reports their end, so everything was posted
  // before the run ended. The run's listeners are woken when the last record is on disk, as for
  // every record.
  bool Reached() const {
    const auto cluster = context_.reconciler.snapshot();
    const auto run = cluster->FindRun(run_);
    if (run == nullptr) return cluster->FindDeleted(run_) != nullptr;
    if (!IsTerminal(run->state)) return false;
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
    if (run == nullptr) {
      return rpc::WithReason(NotFound("run '{}' was deleted", run_), rpc::kRunDeleted);
    }
    // Send the terminal state last, with the final numbers: wait until all records are on disk.
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

// Sends a run's records in order. ReadPage fetches the next page of them.
template <typename Response>
class BufferedSource : public StreamSource<Response> {
 public:
  BufferedSource(StreamContext context, RunId run, bool follow)
      : context_(context), run_(run), follow_(follow), end_(context, std::move(run)) {}

  StatusOr<Pull> Next(Response& response) final {
    if (buffer_.empty()) {
      // Checked before ReadPage, so that records arriving in between are not missed.
      const bool ended = !follow_ || end_.Reached();
      ASSIGN_OR_RETURN(const bool more, ReadPage());
      if (buffer_.empty() && more) return Pull::kMore;
      if (buffer_.empty()) return ended ? Pull::kEnd : Pull::kWait;
    }
    response = std::move(buffer_.front());
    buffer_.pop_front();
    return Pull::kMessage;
  }

 protected:
  // Appends the messages for the next page to buffer_. False when there is no next page.
  virtual StatusOr<bool> ReadPage() = 0;

  StreamContext context_;
  const RunId run_;
  std::deque<Response> buffer_;

 private:
  const bool follow_;
  EndOfRun end_;
};

bool HoldsSlots(RunState state) {
  return state == RunState::kStarting || state == RunState::kRunning ||
         state == RunState::kFinishing;
}

struct StateVisitor {
  RunState before;

  RunState operator()(const RunSubmitted&) const { return RunState::kSubmitted; }
  RunState operator()(const RunQueued&) const { return RunState::kQueued; }
  RunState operator()(const RunPlaced&) const { return RunState::kStarting; }
  RunState operator()(const RunStarted&) const { return RunState::kRunning; }
  RunState operator()(const RankFailed&) const { return RunState::kBackoff; }
  RunState operator()(const RunRequeued&) const { return RunState::kQueued; }
  RunState operator()(const CancelRequested&) const { return RunState::kCancelling; }
  RunState operator()(const PauseRequested&) const {
    return IsWaiting(before) ? RunState::kPaused : before;
  }
  RunState operator()(const RunPaused&) const { return RunState::kPaused; }
  RunState operator()(const RunResumed&) const { return RunState::kQueued; }
  RunState operator()(const LegRequested&) const {
    return HoldsSlots(before) ? before : RunState::kQueued;
  }
  RunState operator()(const LegBegun&) const { return RunState::kQueued; }
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
  // Reads from the first event, because the state after an event follows from all events before it.
  StatusOr<bool> ReadPage() override {
    ASSIGN_OR_RETURN(const std::vector<StoredEvent> events,
                     context_.store.ReadRun(run_, read_, kPageRecords));
    for (const StoredEvent& stored : events) Add(stored);
    return !events.empty();
  }

  void Add(const StoredEvent& stored) {
    read_ = stored.sequence;
    state_ = StateAfter(stored.event, state_);
    if (const auto* placed = std::get_if<RunPlaced>(&stored.event.body)) epoch_ = placed->epoch;
    if (const auto* next = std::get_if<RunReconfigured>(&stored.event.body)) epoch_ = next->epoch;
    if (stored.sequence > after_) buffer_.push_back(ToProto(stored, state_, epoch_));
  }

  const uint64_t after_;
  uint64_t read_ = 0;
  RunState state_ = RunState::kSubmitted;
  Epoch epoch_ = 0;
};

// With a tail, reads the log twice. The first pass finds where the last pages with that many lines
// begin; the second pass sends the lines from there.
class LogsSource final : public BufferedSource<v1::LogLine> {
 public:
  LogsSource(StreamContext context, RunId run, const v1::LogsRequest& request)
      : BufferedSource(context, std::move(run), request.follow()),
        after_(request.after_sequence()),
        rank_(request.rank()),
        tail_(request.tail() > 0 ? static_cast<size_t>(request.tail()) : 0) {}

 private:
  struct Page {
    uint64_t offset;
    size_t lines;  // lines of this page that the request wants
  };

  StatusOr<bool> ReadPage() override {
    const uint64_t offset = offset_;
    ASSIGN_OR_RETURN(const std::vector<Line> lines,
                     ReadLines(context_.recorder.DirectoryOf(run_), kPageRecords, offset_));
    if (tail_ > 0) return SeekTail(offset, lines);
    for (const Line& line : lines) Add(line);
    return !lines.empty();
  }

  bool SeekTail(uint64_t offset, const std::vector<Line>& lines) {
    const auto wanted =
        std::count_if(lines.begin(), lines.end(), [this](const Line& line) { return Wants(line); });
    if (wanted > 0) pages_.push_back({offset, static_cast<size_t>(wanted)});
    in_pages_ += static_cast<size_t>(wanted);
    while (!pages_.empty() && in_pages_ - pages_.front().lines >= tail_) {
      in_pages_ -= pages_.front().lines;
      pages_.pop_front();
    }
    if (lines.empty()) EndSeek();
    return true;
  }

  void EndSeek() {
    if (!pages_.empty()) offset_ = pages_.front().offset;
    skip_ = in_pages_ > tail_ ? in_pages_ - tail_ : 0;
    tail_ = 0;
    pages_.clear();
  }

  bool Wants(const Line& line) const {
    return line.sequence > after_ && (rank_ < 0 || line.rank == rank_);
  }

  void Add(const Line& line) {
    if (!Wants(line)) return;
    if (skip_ == 0) {
      buffer_.push_back(ToProto(line));
    } else {
      --skip_;
    }
  }

  const uint64_t after_;
  const int rank_;
  size_t tail_;  // lines; 0: no tail was requested, or its start was found
  std::deque<Page> pages_;
  size_t in_pages_ = 0;
  size_t skip_ = 0;
  uint64_t offset_ = 0;
};

// Reads a run's points for a stream. Until it first reaches the end of the log, it gives only
// points that ShownPoints shows (no steps that a later epoch repeated). After that it gives every
// new point.
class PointReader {
 public:
  PointReader(StreamContext context, const RunId& run, int64_t after_step)
      : directory_(context.recorder.DirectoryOf(run)),
        after_(after_step),
        shown_(context.recorder.ProgressOf(run).epochs) {}

  // Calls `take` for the points of the next page. False when there is no next page.
  StatusOr<bool> ReadPage(const std::function<void(const contract::TrainingPoint&)>& take) {
    ASSIGN_OR_RETURN(const std::vector<contract::TrainingPoint> points,
                     ReadPoints(directory_, kPageRecords, offset_));
    caught_up_ = caught_up_ || points.empty();
    for (const contract::TrainingPoint& point : points) {
      if (caught_up_ || (point.step > after_ && shown_.Shows(point))) take(point);
    }
    return !points.empty();
  }

 private:
  const std::string directory_;
  const int64_t after_;
  const ShownPoints shown_;
  bool caught_up_ = false;
  uint64_t offset_ = 0;
};

class MetricsSource final : public BufferedSource<v1::MetricPoint> {
 public:
  MetricsSource(StreamContext context, RunId run, const v1::MetricsRequest& request)
      : BufferedSource(context, run, request.follow()),
        reader_(context, run, request.after_step()) {}

 private:
  StatusOr<bool> ReadPage() override {
    return reader_.ReadPage([this](const auto& point) { buffer_.push_back(ToProto(point)); });
  }

  PointReader reader_;
};

class PointsSource final : public BufferedSource<v1::MetricPoints> {
 public:
  PointsSource(StreamContext context, RunId run, const v1::MetricsRequest& request)
      : BufferedSource(context, run, request.follow()),
        reader_(context, run, request.after_step()) {}

 private:
  StatusOr<bool> ReadPage() override {
    v1::MetricPoints page;
    ASSIGN_OR_RETURN(const bool more, reader_.ReadPage([&page](const auto& point) {
      *page.add_points() = ToProto(point);
    }));
    if (page.points_size() > 0) buffer_.push_back(std::move(page));
    return more;
  }

  PointReader reader_;
};

class CurvesSource final : public StreamSource<v1::CurvePoints> {
 public:
  CurvesSource(StreamContext context, const RunId& run, const v1::CurvesRequest& request)
      : reader_(CurveReader::Make(context.recorder.DirectoryOf(run),
                                  context.recorder.ProgressOf(run).epochs,
                                  {.fields = {request.fields().begin(), request.fields().end()},
                                   .points_max = request.max_points()})) {}

  StatusOr<Pull> Next(v1::CurvePoints& response) override {
    RETURN_IF_ERROR(reader_.status());
    if (pages_.empty() && !reader_->complete()) {
      ASSIGN_OR_RETURN(std::vector<CurvePage> pages, reader_->Read());
      std::move(pages.begin(), pages.end(), std::back_inserter(pages_));
    }
    if (pages_.empty()) return reader_->complete() ? Pull::kEnd : Pull::kMore;
    Fill(pages_.front(), response);
    pages_.pop_front();
    return Pull::kMessage;
  }

 private:
  static void Fill(const CurvePage& page, v1::CurvePoints& response) {
    response.set_field(page.field);
    for (const CurvePoint& point : page.points) {
      response.add_steps(point.step);
      response.add_tokens(point.tokens);
      response.add_seconds(point.seconds);
      response.add_values(point.value);
    }
  }

  StatusOr<CurveReader> reader_;
  std::deque<CurvePage> pages_;
};

class LineageSource final : public StreamSource<v1::LineageResponse> {
 public:
  LineageSource(StreamContext context, std::vector<RunId> runs, FillRunMessage fill)
      : context_(context), runs_(std::move(runs)), fill_(std::move(fill)) {}

  StatusOr<Pull> Next(v1::LineageResponse& response) override {
    while (next_ < runs_.size()) {
      const auto run = context_.reconciler.snapshot()->FindRun(runs_[next_++]);
      if (run == nullptr) continue;  // deleted meanwhile
      const Status filled = fill_(run, *response.mutable_run());
      if (filled.code() == StatusCode::kNotFound) continue;
      RETURN_IF_ERROR(filled);
      return Pull::kMessage;
    }
    return Pull::kEnd;
  }

 private:
  StreamContext context_;
  const std::vector<RunId> runs_;
  const FillRunMessage fill_;
  size_t next_ = 0;
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

std::unique_ptr<StreamSource<v1::MetricPoints>> MakePointsSource(
    StreamContext context, RunId run, const v1::MetricsRequest& request) {
  return std::make_unique<PointsSource>(context, std::move(run), request);
}

std::unique_ptr<StreamSource<v1::CurvePoints>> MakeCurvesSource(StreamContext context, RunId run,
                                                                const v1::CurvesRequest& request) {
  return std::make_unique<CurvesSource>(context, run, request);
}

std::unique_ptr<StreamSource<v1::LineageResponse>> MakeLineageSource(
    StreamContext context, const RunId& run, const std::function<bool(const Run&)>& sees,
    FillRunMessage fill) {
  const auto cluster = context.reconciler.snapshot();
  std::vector<std::shared_ptr<const Run>> runs;
  for (const RunId& id : RelativesOf(*cluster, run)) {
    auto one = cluster->FindRun(id);
    if (sees(*one)) runs.push_back(std::move(one));
  }
  std::ranges::sort(runs, {}, [](const auto& one) { return one->submitted_sequence; });
  std::vector<RunId> ids;
  for (const auto& one : runs) ids.push_back(one->id);
  return std::make_unique<LineageSource>(context, std::move(ids), std::move(fill));
}

}  // namespace gp::coordinator
