// RunLog: the points and lines of one run on disk, <state dir>/runs/<run
// id>/{points.log,lines.log}, with a summary beside them, so that opening the log reads only the
// records after the summary. Appending is idempotent: resent data is recognised. Belongs to one
// thread; the readers below may run on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "contract/training_point.h"
#include "coordinator/state/ids.h"
#include "coordinator/state/time.h"
#include "coordinator/telemetry/pace.h"
#include "coordinator/telemetry/record_file.h"

namespace gp::coordinator {

// When the step of a point was committed.
inline Timestamp CommittedAt(const contract::TrainingPoint& point) {
  return Timestamp(std::chrono::microseconds(point.at_us));
}

inline constexpr size_t kScoresMax = 64;  // names of a run's scores; more are dropped

struct Score {
  double value = 0;
  int64_t step = 0;

  bool operator==(const Score&) const = default;
};

struct Line {
  uint64_t sequence = 0;  // in the run's log, from 1; AppendLines assigns it
  Timestamp at{};
  int rank = -1;  // -1: a line of the agent or the coordinator about the run
  Epoch epoch = 0;
  std::string text;
  std::string source;            // incarnation of the agent that sent it, or "coordinator"
  uint64_t source_sequence = 0;  // the telemetry sequence that this agent gave it
};

struct RunLogLimits {
  uint64_t points_bytes_max = uint64_t{256} << 20;
  uint64_t lines_bytes_max = uint64_t{64} << 20;
  size_t line_bytes_max = 8 << 10;  // longer lines and warnings are cut
};

// The steps that one epoch committed.
struct EpochStart {
  Epoch epoch = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  Timestamp first_at{};  // when it committed its first step
  // When it had repeated every step that earlier epochs had taken; unset until then. Equals
  // first_at if there was nothing to repeat.
  std::optional<Timestamp> caught_up_at;

  bool operator==(const EpochStart&) const = default;
};

// The progress that all points together show.
struct Progress {
  std::optional<contract::TrainingPoint> newest;
  std::optional<double> validation_loss;
  int64_t validation_step = 0;
  // The lowest validation loss of all evaluations; absent while every one gave NaN. Unknown
  // (`best_known` is false) for a run whose summary an older version wrote.
  std::optional<double> best_validation_loss;
  int64_t best_validation_step = 0;
  bool best_known = true;
  std::string warning;  // the newest one
  int64_t skipped_steps = 0;
  int64_t skipped_spikes = 0;           // those of skipped_steps whose loss was a spike
  std::map<std::string, Score> scores;  // the newest of each name
  std::vector<EpochStart> epochs;       // by epoch; epochs that committed a step
  // Sums over all epochs: a step that was repeated counts each time.
  int64_t steps_taken = 0;
  int64_t tokens_taken = 0;
  double flops_taken = 0;  // over steps whose peak is known
  Pace pace;

  void Add(const contract::TrainingPoint& point);

 private:
  void AddToEpoch(const contract::TrainingPoint& point);
};

// The highest last_step of the epochs before `epoch`; 0 if there is none.
int64_t LastStepBefore(Epoch epoch, const std::vector<EpochStart>& epochs);

// Summarizes the first points_bytes of points.log and the first lines_bytes of lines.log.
struct RunSummary {
  uint64_t points_bytes = 0;
  uint64_t lines_bytes = 0;
  Progress progress;
  uint64_t last_line = 0;
  // By agent incarnation: the newest telemetry sequence of its lines, also of dropped ones.
  std::map<std::string, uint64_t> sources;
};

class RunLog {
 public:
  static StatusOr<RunLog> Open(const std::string& directory, const RunLogLimits& limits);

  // Drops points whose (epoch, step) is not greater than that of the newest point, and lines that
  // were stored already. A log that has reached its limit grows no further. Points then still count
  // in progress(), and a line says once that they are not kept; the first line beyond the limit is
  // replaced by a notice, later lines are dropped. On an error nothing of the call is kept.
  Status AppendPoints(const std::vector<contract::TrainingPoint>& points);
  Status AppendLines(std::vector<Line> lines);
  // After an error the log must be opened again: appended data may be lost.
  Status Sync();

  // REQUIRES: nothing was appended since Sync.
  Status SaveSummary();
  // Bytes appended since the summary was saved, plus the bytes of points that were dropped since
  // then: a dropped point is kept only in the next summary.
  uint64_t bytes_since_summary() const;

  const Progress& progress() const { return summary_.progress; }

 private:
  RunLog(std::string directory, RecordFile points, RecordFile lines, const RunLogLimits& limits,
         RunSummary summary);

  bool IsNew(const contract::TrainingPoint& point) const;
  Status TellPointsAreDropped();

  std::string directory_;
  RecordFile points_;
  RecordFile lines_;
  RunLogLimits limits_;
  RunSummary summary_;          // up to date, but its sizes are those of the saved summary
  bool capped_ = false;         // lines.log has reached its limit
  uint64_t dropped_bytes_ = 0;  // of points that were dropped since the summary was saved
};

std::string PointsPath(const std::string& directory);
std::string LinesPath(const std::string& directory);

// False for logs that an older version wrote: ReadProgress then reads all points.
bool HasSummary(const std::string& directory);

// From the summary and the records after it; empty if there is no log.
StatusOr<Progress> ReadProgress(const std::string& directory);

// The records from `offset` on, at most `count_max`; `offset` moves after them. Records that no
// longer parse are skipped.
StatusOr<std::vector<contract::TrainingPoint>> ReadPoints(const std::string& directory,
                                                          size_t count_max, uint64_t& offset);
StatusOr<std::vector<Line>> ReadLines(const std::string& directory, size_t count_max,
                                      uint64_t& offset);

}  // namespace gp::coordinator
