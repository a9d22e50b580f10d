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
  // `kind` names the streams in errors: "audit streams".
  StreamCount(int max, std::string kind) : max_(max), kind_(std::move(kind)) {}

  // Unavailable when all places are taken. The count must outlive the places.
  StatusOr<StreamPlace> Reserve() {
    if (++taken_ > max_) {
      --taken_;
      return Unavailable("{} {} are open already; close one, then try again", max_, kind_);
    }
    return StreamPlace(this, [this](void*) { --taken_; });
  }

 private:
  const int max_;
  const std::string kind_;
  std::atomic<int> taken_{0};
};

}  // namespace gp::coordinator
