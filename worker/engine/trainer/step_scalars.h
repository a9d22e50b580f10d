// StepScalars: the few numbers of a step that live in backend memory until the host waits for them
// once: the losses of the rank's shards and the norm of the gradient; and one that the device
// reads, fp16's loss scale. Owned by the trainer; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "worker/engine/backend/backend.h"

namespace gp::engine {

class StepScalars {
 public:
  // With room for the losses of `shards` shards. `backend` outlives me and holds the memory.
  StepScalars(Backend& backend, int shards);

  // Zeroes the losses and sets the scale.
  void Begin(float loss_scale);

  // Where the i-th loss is added up, and all of them; backend memory.
  double* loss(int i) { return values_ + 1 + i; }
  std::span<double> losses() { return {values_ + 1, read_.size() - 1}; }
  const float* loss_scale() const { return loss_scale_; }

  void MeasureGradient(std::span<const float> gradient);

  // Waits for all of them.
  void Download();

  // Since Download.
  double shard_loss(int i) const { return read_[static_cast<size_t>(1 + i)]; }
  double gradient_norm() const;

 private:
  int64_t bytes() const { return std::ssize(read_) * static_cast<int64_t>(sizeof(double)); }

  Backend& backend_;
  std::vector<double> read_;  // the square of the norm, the losses
  double* values_;            // the same, in backend memory
  float* loss_scale_;
  float scale_ = 0;  // what *loss_scale_ is
};

}  // namespace gp::engine
