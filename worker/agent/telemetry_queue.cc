#include "worker/agent/telemetry_queue.h"

#include <algorithm>
#include <utility>

namespace gp::agent {

void TelemetryQueue::Add(v1::TelemetryItem item) {
  if (items_.size() >= items_max_) {
    DropFirst();
    ++dropped_;
  }
  items_.push_back(std::move(item));
}

v1::Telemetry TelemetryQueue::Take(size_t count_max, size_t bytes_max) {
  v1::Telemetry batch;
  batch.set_first_sequence(next_unsent_);
  size_t bytes = 0;
  while (has_unsent() && static_cast<size_t>(batch.items_size()) < count_max) {
    const v1::TelemetryItem& item = items_[next_unsent_ - first_];
    bytes += item.ByteSizeLong();
    if (batch.items_size() > 0 && bytes > bytes_max) break;
    *batch.add_items() = item;
    ++next_unsent_;
  }
  return batch;
}

void TelemetryQueue::Acknowledge(uint64_t through_sequence) {
  while (!items_.empty() && first_ <= through_sequence) DropFirst();
}

void TelemetryQueue::DropFirst() {
  items_.pop_front();
  ++first_;
  next_unsent_ = std::max(next_unsent_, first_);
}

}  // namespace gp::agent
