#include "worker/agent/telemetry_queue.h"

#include <fmt/format.h>

#include <utility>

namespace gp::agent {
namespace {

// In place of what was dropped before `next`.
v1::TelemetryItem Gap(uint64_t count, std::string_view what, const v1::TelemetryItem& next) {
  v1::TelemetryItem gap;
  gap.set_run_id(next.run_id());
  v1::LogLine& line = *gap.mutable_line();
  *line.mutable_at() = next.has_line() ? next.line().at() : next.point().at();
  line.set_epoch(next.has_line() ? next.line().epoch() : next.point().epoch());
  line.set_rank(-1);
  line.set_text(
      fmt::format("{} {} of this run were dropped here: the agent's queue was full", count, what));
  return gap;
}

}  // namespace

void TelemetryQueue::Add(v1::TelemetryItem item) {
  Lane& lane = item.has_point() ? points_ : lines_;
  if (lane.items.size() >= items_max_) {
    ++lane.dropped;
    ++lane.untold[lane.items.front().item.run_id()];
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

void TelemetryQueue::SendNext() {
  const bool point =
      !points_.items.empty() &&
      (lines_.items.empty() || points_.items.front().order < lines_.items.front().order);
  Lane& lane = point ? points_ : lines_;
  v1::TelemetryItem& next = lane.items.front().item;
  const auto untold = lane.untold.find(next.run_id());
  if (untold != lane.untold.end()) {
    sent_.push_back(Gap(untold->second, point ? "points" : "lines", next));
    lane.untold.erase(untold);
    return;
  }
  sent_.push_back(std::move(next));
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
