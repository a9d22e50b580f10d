#include "coordinator/store/run_log.h"

#include <algorithm>

#include "coordinator/store/run_log_codec.h"

namespace gp::coordinator {
namespace {

constexpr const char* kCapNotice = "log full: later lines of this run are not kept";

// Between characters: what is stored must stay UTF-8.
void CutLine(size_t bytes_max, std::string& text) {
  if (text.size() <= bytes_max) return;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
}

}  // namespace

void Progress::Add(const Point& point) {
  newest = point;
  if (!point.warning.empty()) warning = point.warning;
  if (point.skipped) ++skipped_steps;
  if (!point.validation_loss) return;
  validation_loss = point.validation_loss;
  validation_step = point.step;
}

std::string PointsPath(const std::string& directory) { return JoinPath(directory, "points.log"); }
std::string LinesPath(const std::string& directory) { return JoinPath(directory, "lines.log"); }

RunLog::RunLog(RecordFile points, RecordFile lines, const RunLogLimits& limits)
    : points_(std::move(points)), lines_(std::move(lines)), limits_(limits) {}

StatusOr<RunLog> RunLog::Open(const std::string& directory, const RunLogLimits& limits) {
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  Progress progress;
  ASSIGN_OR_RETURN(RecordFile points,
                   RecordFile::Open(PointsPath(directory), [&](std::string_view bytes) {
                     if (const auto point = DecodePoint(bytes)) progress.Add(*point);
                   }));
  uint64_t last_line = 0;
  std::map<std::string, uint64_t> sources;
  ASSIGN_OR_RETURN(RecordFile lines,
                   RecordFile::Open(LinesPath(directory), [&](std::string_view bytes) {
                     const auto line = DecodeLine(bytes);
                     if (!line) return;
                     last_line = std::max(last_line, line->sequence);
                     uint64_t& newest = sources[line->source];
                     newest = std::max(newest, line->source_sequence);
                   }));
  RunLog log(std::move(points), std::move(lines), limits);
  log.progress_ = progress;
  log.last_line_ = last_line;
  log.sources_ = std::move(sources);
  log.capped_ = log.lines_.size_bytes() >= limits.lines_bytes_max;
  return log;
}

bool RunLog::IsNew(const Point& point) const {
  if (!progress_.newest) return true;
  return std::pair(point.epoch, point.step) >
         std::pair(progress_.newest->epoch, progress_.newest->step);
}

Status RunLog::AppendPoints(const std::vector<Point>& points) {
  // Beyond the cap the points are shown but no longer kept.
  const bool capped = points_.size_bytes() >= limits_.points_bytes_max;
  const Progress before = progress_;
  std::vector<std::string> payloads;
  for (const Point& point : points) {
    if (!IsNew(point)) continue;
    progress_.Add(point);
    if (!capped) payloads.push_back(EncodePoint(point));
  }
  if (payloads.empty()) return OkStatus();
  const Status status = points_.Append(payloads);
  if (!status.ok()) progress_ = before;
  return status;
}

Status RunLog::AppendLines(std::vector<Line> lines) {
  std::vector<std::string> payloads;
  std::map<std::string, uint64_t> sources = sources_;
  uint64_t sequence = last_line_;
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
  sources_ = std::move(sources);
  last_line_ = sequence;
  capped_ = capped;
  return OkStatus();
}

Status RunLog::Sync() {
  RETURN_IF_ERROR(points_.Sync());
  return lines_.Sync();
}

StatusOr<std::vector<Point>> ReadPoints(const std::string& directory, size_t count_max,
                                        uint64_t& offset) {
  std::vector<Point> points;
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
