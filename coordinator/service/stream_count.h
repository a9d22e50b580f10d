// StreamCount: limits how many streams users have open at a time, because each keeps a page in
// memory. A StreamPlace is one place; its destructor gives it back. Thread-safe.
#pragma once

#include <atomic>
#include <memory>

namespace gp::coordinator {

using StreamPlace = std::shared_ptr<void>;

class StreamCount {
 public:
  explicit StreamCount(int max) : max_(max) {}

  int max() const { return max_; }
  // Null when all places are taken. The count outlives the places.
  StreamPlace Reserve() {
    if (++taken_ > max_) {
      --taken_;
      return nullptr;
    }
    return {this, [this](void*) { --taken_; }};
  }

 private:
  const int max_;
  std::atomic<int> taken_{0};
};

}  // namespace gp::coordinator
