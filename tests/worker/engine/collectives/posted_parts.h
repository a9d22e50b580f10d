// PostedParts: a sequence of all-reduces whose parts a test posts one by one.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <utility>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

class PostedParts final : public TreeParts {
 public:
  PostedParts() = default;
  // Starts with all parts posted and the sequence closed.
  explicit PostedParts(std::deque<TreePart> parts) : parts_(std::move(parts)), closed_(true) {
    eventfd_write(signal_, parts_.size() + 1);
  }
  ~PostedParts() override { close(signal_); }
  PostedParts(const PostedParts&) = delete;
  PostedParts& operator=(const PostedParts&) = delete;

  void Post(TreePart part) {
    const std::lock_guard lock(mutex_);
    parts_.push_back(std::move(part));
    eventfd_write(signal_, 1);
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    eventfd_write(signal_, 1);
  }

  int fd() const override { return signal_; }
  std::optional<TreePart> Take() override {
    const std::lock_guard lock(mutex_);
    eventfd_t one = 0;
    if (eventfd_read(signal_, &one) != 0 || parts_.empty()) return std::nullopt;
    TreePart part = std::move(parts_.front());
    parts_.pop_front();
    return part;
  }
  bool ended() const override {
    const std::lock_guard lock(mutex_);
    return closed_ && parts_.empty();
  }

 private:
  const int signal_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  mutable std::mutex mutex_;
  std::deque<TreePart> parts_;
  bool closed_ = false;
};

}  // namespace gp::engine
