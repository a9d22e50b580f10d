// StepScalars: the scalars of a step in backend memory. The host reads the losses (of the rank's
// shards, or of all shards if GPUs sum them) and the gradient norm, with one wait per step. The
// device reads fp16's loss scale and the gradient factor. Owned by TrainingStep; one thread.
#pragma once

#include <cstdint>
#include <span>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

class StepScalars {
 public:
  // With room for the losses of `shards` shards. `backend` must outlive this object; it holds the
  // memory.
  StepScalars(Backend& backend, int shards);

  // Zeroes the losses and sets the scale.
  void Begin(float loss_scale);

  // The sum of the i-th shard's losses, and those of all shards; backend memory.
  double* loss(int i) { return values_ + 1 + i; }
  std::span<double> losses() { return {values_ + 1, read_.size() - 1}; }
  const float* loss_scale() const { return loss_scale_; }

  void MeasureGradient(std::span<const float> gradient);
  // Computes the gradient factor (NaN: no update) on the device from the norm and `losses` (backend
  // memory), which are equal on all ranks; NaN too if their sum is above `loss_sum_max`.
  void ComputeGradientFactor(std::span<const double> losses, double norm_max, double loss_sum_max);
  const float* gradient_factor() const { return loss_scale_ + 1; }

  // BeginDownload copies the values so far; they can be read after Await. Await does not wait for
  // work that is queued between the two calls.
  void BeginDownload() { backend_.BeginDownload(read_.data(), values_, bytes()); }
  void Await() { backend_.AwaitDownload(); }
  double shard_loss(int i) const { return read_[static_cast<size_t>(1 + i)]; }
  double gradient_norm() const;

 private:
  int64_t bytes() const { return std::ssize(read_) * static_cast<int64_t>(sizeof(double)); }

  Backend& backend_;
  std::span<double> read_;  // the square of the norm, the losses; memory of the host
  double* values_;          // the same, in backend memory
  float* loss_scale_;       // followed by the gradient factor
  float scale_ = 0;         // the current value of *loss_scale_
};

}  // namespace gp::engine
