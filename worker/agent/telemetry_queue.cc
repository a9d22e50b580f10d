#include "worker/agent/telemetry_queue.h"

#include <fmt/format.h>

#include <utility>

namespace gp::agent {

v1::TelemetryItem TelemetryQueue::LineAbout(const Gap& gap, const Lane& lane) {
  v1::TelemetryItem item;
  item.set_run_id(gap.newest.run_id());
  v1::LogLine& line = *item.mutable_line();
  const bool told_lines = gap.newest.has_line();
  *line.mutable_at() = told_lines ? gap.newest.line().at() : gap.newest.point().at();
  line.set_epoch(told_lines ? gap.newest.line().epoch() : gap.newest.point().epoch());
  line.set_rank(-1);
  line.set_text(fmt::format(
      "{} {} of this run were dropped: the agent's queue was full (telemetry.items_max)", gap.count,
      lane.what));
  return item;
}

void TelemetryQueue::Add(v1::TelemetryItem item) {
  Lane& lane = item.has_point() ? points_ : lines_;
  if (lane.items.size() >= items_max_) {
    ++lane.dropped;
    Gap& gap = lane.untold[lane.items.front().item.run_id()];
    ++gap.count;
    gap.newest = std::move(lane.items.front().item);
    lane.items.pop_front();
  }
  lane.items.push_back({++added_, std::move(item)});
}

v1::Telemetry TelemetryQueue::Take(size_t count_max, size_t bytes_max) {
  v1::Telemetry batch;
  batch.set_first_sequence(first_ + resent_);
  size_t bytes = 0;
  while (has_unsent() && static_cast<size_t>(batch.items_size()) < count_max) {
    if (resent_ == sent_.size()) SendNext();
    const v1::TelemetryItem& item = sent_[resent_];
    bytes += item.ByteSizeLong();
    if (batch.items_size() > 0 && bytes > bytes_max) break;
    sent_bytes_ += item.ByteSizeLong();
    *batch.add_items() = item;
    ++resent_;
  }
  return batch;
}

TelemetryQueue::Lane& TelemetryQueue::NextLane() {
  if (HasLastGap(points_)) return points_;
  if (HasLastGap(lines_)) return lines_;
  const bool point =
      !points_.items.empty() &&
      (lines_.items.empty() || points_.items.front().order < lines_.items.front().order);
  return point ? points_ : lines_;
}

void TelemetryQueue::SendNext() {
  Lane& lane = NextLane();
  const auto untold =
      lane.items.empty() ? lane.untold.begin() : lane.untold.find(lane.items.front().item.run_id());
  if (untold != lane.untold.end()) {
    sent_.push_back(LineAbout(untold->second, lane));
    lane.untold.erase(untold);
    return;
  }
  sent_.push_back(std::move(lane.items.front().item));
  lane.items.pop_front();
}

void TelemetryQueue::Rewind() {
  resent_ = 0;
  sent_bytes_ = 0;
}

void TelemetryQueue::Acknowledge(uint64_t through_sequence) {
  while (resent_ > 0 && first_ <= through_sequence) {
    sent_bytes_ -= sent_.front().ByteSizeLong();
    sent_.pop_front();
    ++first_;
    --resent_;
  }
}

}  // namespace gp::agent
