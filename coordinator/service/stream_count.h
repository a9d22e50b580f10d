// StreamCount: limits how many streams of a kind are open at a time, because each keeps a page in
// memory. A StreamPlace is one place; its destructor gives it back. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"

namespace gp::coordinator {

using StreamPlace = std::shared_ptr<void>;

class StreamCount {
 public:
  // `taken` says in errors that all places are: "streams are open".
  StreamCount(int max, std::string taken) : max_(max), taken_text_(std::move(taken)) {}

  // Unavailable when all places are taken. The count outlives the places.
  StatusOr<StreamPlace> Reserve() {
    if (++taken_ > max_) {
      --taken_;
      return Unavailable("{} {} already; end some, then try again", max_, taken_text_);
    }
    return StreamPlace(this, [this](void*) { --taken_; });
  }

 private:
  const int max_;
  const std::string taken_text_;
  std::atomic<int> taken_{0};
};

}  // namespace gp::coordinator
