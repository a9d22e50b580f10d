// HostedCommunicator: a communicator of GPUs that accepts host memory, as the contract of every
// Communicator requires: it copies the data to device memory and back. One per rank; not
// thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// `count` floats in device memory.
class DeviceFloats {
 public:
  explicit DeviceFloats(size_t count)
      : memory_(static_cast<int64_t>((count + 1) * sizeof(float))), count_(count) {}
  explicit DeviceFloats(std::span<const float> values) : DeviceFloats(values.size()) {
    Set(values);
  }

  std::span<float> span() const { return {reinterpret_cast<float*>(memory_.data()), count_}; }
  void Set(std::span<const float> values) {
    if (values.empty()) return;
    CheckCuda(
        cudaMemcpy(memory_.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
        "copy to the device");
  }
  void Get(std::span<float> values) const {
    if (values.empty()) return;
    CheckCuda(
        cudaMemcpy(values.data(), memory_.data(), values.size_bytes(), cudaMemcpyDeviceToHost),
        "copy from the device");
  }
  std::vector<float> Get() const {
    std::vector<float> values(count_);
    Get(values);
    return values;
  }

 private:
  DeviceMemory memory_;
  size_t count_;
};

class HostedCommunicator final : public Communicator {
 public:
  explicit HostedCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::span<float> Allocate(size_t count) override { return inner_->Allocate(count); }
  size_t overlap_elements() const override { return inner_->overlap_elements(); }
  void AllReduceTree(std::span<float> values,
                     const std::vector<std::span<float>>& partials) override {
    std::deque<DeviceFloats> uploaded;
    std::vector<std::span<float>> spans;
    for (const std::span<float> partial : partials) {
      spans.push_back(uploaded.emplace_back(partial).span());
    }
    const bool in_place = values.data() == partials[0].data();
    const DeviceFloats apart(in_place ? 0 : values.size());
    inner_->AllReduceTree(in_place ? spans[0] : apart.span(), spans);
    (in_place ? uploaded[0] : apart).Get(values);
  }
  void AllReduceMax(std::span<double> values) override { inner_->AllReduceMax(values); }
  void Broadcast(std::span<std::byte> bytes, int root) override { inner_->Broadcast(bytes, root); }
  void Barrier() override { inner_->Barrier(); }
  void SetTimeout(std::chrono::milliseconds timeout) override { inner_->SetTimeout(timeout); }
  void Abort(const std::string& reason) override { inner_->Abort(reason); }
  DeviceCollectives* device() override { return inner_->device(); }

 private:
  const std::unique_ptr<Communicator> inner_;
};

}  // namespace gp::engine
