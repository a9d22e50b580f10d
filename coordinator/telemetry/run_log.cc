#include "coordinator/telemetry/run_log.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "coordinator/telemetry/run_log_codec.h"

namespace gp::coordinator {
namespace {

constexpr size_t kReadAtOnce = 1024;
constexpr const char* kCapNotice = "the log of this run is full: later lines are not kept";
constexpr const char* kPointsCapNotice =
    "points.log of this run is full: later measurements are not kept";
// The source of lines that the coordinator adds. It differs from every agent's incarnation, which
// is random.
constexpr const char* kOwnSource = "coordinator";

// Cuts between characters, so that the stored text stays valid UTF-8.
void CutLine(size_t bytes_max, std::string& text) {
  if (text.size() <= bytes_max) return;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
}

std::string SummaryPath(const std::string& directory) { return JoinPath(directory, "summary"); }

bool Fits(uint64_t bytes, const std::string& path) {
  return bytes == 0 || bytes <= FileSize(path).value_or(0);
}

// An empty summary if there is none, or if the logs are shorter than recorded in it.
RunSummary ReadSummary(const std::string& directory) {
  std::optional<RunSummary> summary;
  const auto read = ReadRecords(SummaryPath(directory), 0, [&](std::string_view bytes) {
    summary = DecodeSummary(bytes);
    return true;
  });
  const bool sound = read.ok() && summary && Fits(summary->points_bytes, PointsPath(directory)) &&
                     Fits(summary->lines_bytes, LinesPath(directory));
  return sound ? *std::move(summary) : RunSummary();
}

void AddLine(const Line& line, RunSummary& summary) {
  summary.last_line = std::max(summary.last_line, line.sequence);
  uint64_t& newest = summary.sources[line.source];
  newest = std::max(newest, line.source_sequence);
}

constexpr size_t kScoreNameBytesMax = 256;

// Cuts the texts and scores of a point: a run may send any number and length, but a record has a
// limit.
contract::TrainingPoint Bounded(contract::TrainingPoint point, size_t text_bytes_max) {
  CutLine(text_bytes_max, point.warning);
  CutLine(text_bytes_max, point.peak_source);
  while (point.scores.size() > kScoresMax) point.scores.erase(std::prev(point.scores.end()));
  std::erase_if(point.scores,
                [&](const auto& score) { return score.first.size() > kScoreNameBytesMax; });
  return point;
}

}  // namespace

void Progress::Add(const contract::TrainingPoint& point) {
  pace.Add(newest ? &*newest : nullptr, point);
  newest = point;
  AddToEpoch(point);
  ++steps_taken;
  tokens_taken += std::llround(point.tokens_per_second * point.step_seconds);
  flops_taken += point.mfu * point.peak_flops * point.step_seconds;
  if (!point.warning.empty()) warning = point.warning;
  if (point.skipped) ++skipped_steps;
  if (point.spike) ++skipped_spikes;
  for (const auto& [name, value] : point.scores) {
    if (scores.size() < kScoresMax || scores.contains(name)) scores[name] = {value, point.step};
  }
  if (!point.validation_loss) return;
  validation_loss = point.validation_loss;
  validation_step = point.step;
  if (!best_validation_loss || *validation_loss < *best_validation_loss) {
    if (std::isnan(*validation_loss)) return;
    best_validation_loss = validation_loss;
    best_validation_step = point.step;
  }
}

int64_t LastStepBefore(Epoch epoch, const std::vector<EpochStart>& epochs) {
  int64_t last = 0;
  for (const EpochStart& start : epochs) {
    if (start.epoch < epoch) last = std::max(last, start.last_step);
  }
  return last;
}

void Progress::AddToEpoch(const contract::TrainingPoint& point) {
  if (epochs.empty() || point.epoch > epochs.back().epoch) {
    epochs.push_back(
        {.epoch = point.epoch, .first_step = point.step, .first_at = CommittedAt(point)});
  }
  EpochStart& epoch = epochs.back();
  epoch.last_step = point.step;
  if (!epoch.caught_up_at && point.step >= LastStepBefore(epoch.epoch, epochs)) {
    epoch.caught_up_at = CommittedAt(point);
  }
}

std::string PointsPath(const std::string& directory) { return JoinPath(directory, "points.log"); }
std::string LinesPath(const std::string& directory) { return JoinPath(directory, "lines.log"); }

RunLog::RunLog(std::string directory, RecordFile points, RecordFile lines,
               const RunLogLimits& limits, RunSummary summary)
    : directory_(std::move(directory)),
      points_(std::move(points)),
      lines_(std::move(lines)),
      limits_(limits),
      summary_(std::move(summary)),
      capped_(lines_.size_bytes() >= limits.lines_bytes_max) {}

StatusOr<RunLog> RunLog::Open(const std::string& directory, const RunLogLimits& limits) {
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  RunSummary summary = ReadSummary(directory);
  // Delete a summary that cannot be used: if it records more bytes than the logs have now, it would
  // look valid once the logs have grown.
  if (summary.points_bytes == 0) unlink(SummaryPath(directory).c_str());
  const auto add_point = [&](std::string_view bytes) {
    if (const auto point = DecodePoint(bytes)) summary.progress.Add(*point);
  };
  ASSIGN_OR_RETURN(RecordFile points,
                   RecordFile::Open(PointsPath(directory), add_point, summary.points_bytes));
  const auto add_line = [&](std::string_view bytes) {
    if (const auto line = DecodeLine(bytes)) AddLine(*line, summary);
  };
  ASSIGN_OR_RETURN(RecordFile lines,
                   RecordFile::Open(LinesPath(directory), add_line, summary.lines_bytes));
  return RunLog(directory, std::move(points), std::move(lines), limits, std::move(summary));
}

bool RunLog::IsNew(const contract::TrainingPoint& point) const {
  const std::optional<contract::TrainingPoint>& newest = summary_.progress.newest;
  return !newest || std::pair(point.epoch, point.step) > std::pair(newest->epoch, newest->step);
}

Status RunLog::AppendPoints(const std::vector<contract::TrainingPoint>& points) {
  // Beyond the cap, points still count in progress() but are no longer stored.
  const bool capped = points_.size_bytes() >= limits_.points_bytes_max;
  const Progress before = summary_.progress;
  std::vector<std::string> payloads;
  uint64_t dropped_bytes = 0;
  for (const contract::TrainingPoint& sent : points) {
    if (!IsNew(sent)) continue;
    const contract::TrainingPoint point = Bounded(sent, limits_.line_bytes_max);
    summary_.progress.Add(point);
    std::string payload = EncodePoint(point);
    if (capped) {
      dropped_bytes += payload.size();
    } else {
      payloads.push_back(std::move(payload));
    }
  }
  Status status = OkStatus();
  if (!payloads.empty()) status = points_.Append(payloads);
  if (dropped_bytes > 0) status = TellPointsAreDropped();
  if (!status.ok()) {
    summary_.progress = before;
  } else {
    dropped_bytes_ += dropped_bytes;
  }
  return status;
}

// Adds the notice only once: AppendLines drops a line whose source and source_sequence it knows.
Status RunLog::TellPointsAreDropped() {
  const contract::TrainingPoint& newest = *summary_.progress.newest;
  return AppendLines({{.at = CommittedAt(newest),
                       .epoch = newest.epoch,
                       .text = kPointsCapNotice,
                       .source = kOwnSource,
                       .source_sequence = 1}});
}

Status RunLog::AppendLines(std::vector<Line> lines) {
  std::vector<std::string> payloads;
  std::map<std::string, uint64_t> sources = summary_.sources;
  uint64_t sequence = summary_.last_line;
  bool capped = capped_;
  for (Line& line : lines) {
    uint64_t& newest = sources[line.source];
    if (line.source_sequence <= newest) continue;
    newest = line.source_sequence;
    if (capped) continue;
    capped = lines_.size_bytes() >= limits_.lines_bytes_max;
    if (capped) line.text = kCapNotice;
    CutLine(limits_.line_bytes_max, line.text);
    line.sequence = ++sequence;
    payloads.push_back(EncodeLine(line));
  }
  if (!payloads.empty()) RETURN_IF_ERROR(lines_.Append(payloads));
  summary_.sources = std::move(sources);
  summary_.last_line = sequence;
  capped_ = capped;
  return OkStatus();
}

Status RunLog::Sync() {
  RETURN_IF_ERROR(points_.Sync());
  return lines_.Sync();
}

Status RunLog::SaveSummary() {
  summary_.points_bytes = points_.size_bytes();
  summary_.lines_bytes = lines_.size_bytes();
  const Status written = WriteRecord(SummaryPath(directory_), EncodeSummary(summary_));
  if (written.ok()) dropped_bytes_ = 0;
  return written;
}

uint64_t RunLog::bytes_since_summary() const {
  return points_.size_bytes() + lines_.size_bytes() - summary_.points_bytes - summary_.lines_bytes +
         dropped_bytes_;
}

bool HasSummary(const std::string& directory) { return FileExists(SummaryPath(directory)); }

StatusOr<Progress> ReadProgress(const std::string& directory) {
  RunSummary summary = ReadSummary(directory);
  uint64_t offset = summary.points_bytes;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<contract::TrainingPoint> points,
                     ReadPoints(directory, kReadAtOnce, offset));
    if (points.empty()) return summary.progress;
    for (const contract::TrainingPoint& point : points) summary.progress.Add(point);
  }
}

StatusOr<std::vector<contract::TrainingPoint>> ReadPoints(const std::string& directory,
                                                          size_t count_max, uint64_t& offset) {
  std::vector<contract::TrainingPoint> points;
  ASSIGN_OR_RETURN(offset, ReadRecords(PointsPath(directory), offset, [&](std::string_view bytes) {
                     if (const auto point = DecodePoint(bytes)) points.push_back(*point);
                     return points.size() < count_max;
                   }));
  return points;
}

StatusOr<std::vector<Line>> ReadLines(const std::string& directory, size_t count_max,
                                      uint64_t& offset) {
  std::vector<Line> lines;
  ASSIGN_OR_RETURN(offset, ReadRecords(LinesPath(directory), offset, [&](std::string_view bytes) {
                     if (auto line = DecodeLine(bytes)) lines.push_back(std::move(*line));
                     return lines.size() < count_max;
                   }));
  return lines;
}

}  // namespace gp::coordinator
