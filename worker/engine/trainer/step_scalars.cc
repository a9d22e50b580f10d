#include "worker/engine/trainer/step_scalars.h"

#include <cmath>

#include "runspec/training_plan.h"

namespace gp::engine {

StepScalars::StepScalars(Backend& backend, int shards)
    : backend_(backend),
      read_(static_cast<size_t>(1 + shards)),
      values_(static_cast<double*>(backend.Allocate(runspec::StepScalarBytes(shards)))),
      loss_scale_(reinterpret_cast<float*>(values_ + 1 + shards)) {}

void StepScalars::Begin(float loss_scale) {
  backend_.Zero(values_, bytes());
  if (loss_scale == scale_) return;
  backend_.Upload(loss_scale_, &loss_scale, sizeof(loss_scale));
  scale_ = loss_scale;
}

void StepScalars::MeasureGradient(std::span<const float> gradient) {
  backend_.SumOfSquares(values_, gradient.data(), std::ssize(gradient));
}

void StepScalars::Download() { backend_.Download(read_.data(), values_, bytes()); }

double StepScalars::gradient_norm() const { return std::sqrt(read_[0]); }

}  // namespace gp::engine
