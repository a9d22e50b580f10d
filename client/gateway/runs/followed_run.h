// FollowedRun: one run that a page shows: its points, events and samples, kept up to date through
// streams. Samples are read from samples.jsonl in the run's directory if this machine has it,
// otherwise from the log of rank 0. Tend and Close belong to the thread that follows runs; streams
// add to it on gRPC's threads; any thread reads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "client/api/run_client.h"
#include "client/api/run_streams.h"
#include "client/gateway/runs/board.h"
#include "client/gateway/runs/point_series.h"

namespace gp::gateway {

class FollowedRun {
 public:
  enum class News { kPoint, kEvent };

  // `on_news` is called on gRPC's threads, after each new point and event.
  FollowedRun(client::RunClient& client, client::RunStreams& streams,
              std::function<void(News)> on_news);
  ~FollowedRun() { Close(); }

  // Opens missing streams and fetches what is not streamed: the run with its resolved file, and its
  // checkpoints, when the run or an event indicates a change, and every 10 s. Waits for the
  // coordinator. `run` is its newest state.
  void Tend(const v1::Run& run);
  // Ends the streams; the data stays.
  void Close();

  // Null until its history is complete; the same object until something but the points changes.
  std::shared_ptr<const RunDetails> Details() const;

  struct Points {
    size_t total = 0;       // points in the series
    uint32_t appended = 0;  // pass it to PointsAfter next time
    std::vector<Point> points;
  };
  Points Select(const PointRange& range) const;
  Points PointsAfter(uint32_t appended, size_t count_max) const;

 private:
  // The first stream sends the history and ends, so that its completeness is known; then a second
  // one follows new data.
  struct Stream {
    std::unique_ptr<client::OpenStream> open;
    bool told = false;      // the history was sent
    bool finished = false;  // the run has ended and everything was sent
    std::chrono::steady_clock::time_point next_open;
  };

  void TendStream(Stream& stream, bool terminal,
                  const std::function<std::unique_ptr<client::OpenStream>(bool follow)>& open);
  std::unique_ptr<client::OpenStream> OpenPoints(const v1::Run& run, bool follow);
  std::unique_ptr<client::OpenStream> OpenEvents(const v1::Run& run, bool follow);
  std::unique_ptr<client::OpenStream> OpenLog(const v1::Run& run, bool follow);
  void TendSamples(const v1::Run& run);
  void TendDetails(const v1::Run& run);
  void Apply(const v1::MetricPoint& point);
  void Apply(const v1::RunEvent& event);
  void Apply(const v1::LogLine& line);

  client::RunClient& client_;
  client::RunStreams& streams_;
  const std::function<void(News)> on_news_;

  // Used by the tending thread alone.
  Stream points_stream_;
  Stream events_stream_;
  Stream log_stream_;
  uint64_t samples_size_ = 0;
  std::string asked_;  // the state for which Get and Checkpoints last succeeded
  std::chrono::steady_clock::time_point asked_at_;

  mutable Mutex mutex_;
  RunDetails details_ GUARDED_BY(mutex_);
  std::string described_
      GUARDED_BY(mutex_);  // the last answers of Get and Checkpoints; empty at first
  bool complete_ GUARDED_BY(mutex_) = false;  // the history of the streams is complete
  bool stale_ GUARDED_BY(mutex_) = false;     // an event came since Get and Checkpoints succeeded
  PointSeries points_ GUARDED_BY(mutex_);
  uint64_t points_epoch_ GUARDED_BY(mutex_) = 0;
  uint64_t last_event_ GUARDED_BY(mutex_) = 0;
  uint64_t last_line_ GUARDED_BY(mutex_) = 0;
  mutable std::shared_ptr<const RunDetails> published_ GUARDED_BY(mutex_);
};

}  // namespace gp::gateway
