// OverlappingCommunicator: wraps another communicator and behaves like one that waits for a
// network, so the trainer reduces small pieces while it computes. A chosen all-reduce can fail.
#pragma once

#include <vector>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

class OverlappingCommunicator final : public Communicator {
 public:
  OverlappingCommunicator(Communicator& inner, size_t elements)
      : inner_(inner), elements_(elements) {}

  // The all-reduce with this number, counted from 1, throws.
  void FailAt(int number) { fail_at_ = number; }
  int all_reduces() const { return all_reduces_; }
  bool aborted() const { return aborted_; }

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::span<float> Allocate(size_t count) override { return inner_.Allocate(count); }
  size_t overlap_elements() const override { return elements_; }
  void AllReduceTree(std::span<float> values,
                     const std::vector<std::span<float>>& partials) override {
    if (++all_reduces_ == fail_at_) throw CollectiveError("a test says so");
    inner_.AllReduceTree(values, partials);
  }
  void AllReduceMax(std::span<double> values) override { inner_.AllReduceMax(values); }
  void Broadcast(std::span<std::byte> bytes, int root) override { inner_.Broadcast(bytes, root); }
  void Barrier() override { inner_.Barrier(); }
  void SetTimeout(std::chrono::milliseconds timeout) override { inner_.SetTimeout(timeout); }
  void Abort(const std::string& reason) override {
    aborted_ = true;
    inner_.Abort(reason);
  }
  DeviceCollectives* device() override { return inner_.device(); }

 private:
  Communicator& inner_;
  const size_t elements_;
  int fail_at_ = 0;
  int all_reduces_ = 0;
  bool aborted_ = false;
};

}  // namespace gp::engine
