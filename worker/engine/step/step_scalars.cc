#include "worker/engine/step/step_scalars.h"

#include <cmath>

#include "plan/training_plan.h"

namespace gp::engine {
namespace {

std::span<double> AllocateRead(Backend& backend, int shards) {
  void* const memory = backend.AllocateHost(runspec::StepScalarBytes(shards));
  return {static_cast<double*>(memory), static_cast<size_t>(1 + shards)};
}

}  // namespace

StepScalars::StepScalars(Backend& backend, int shards)
    : backend_(backend),
      read_(AllocateRead(backend, shards)),
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

void StepScalars::ComputeGradientFactor(std::span<const double> losses, double norm_max,
                                        double loss_sum_max) {
  backend_.ComputeGradientFactor({.factor = loss_scale_ + 1,
                                  .sum_of_squares = values_,
                                  .losses = losses.data(),
                                  .loss_count = std::ssize(losses),
                                  .norm_max = norm_max,
                                  .loss_scale = scale_,
                                  .loss_sum_max = loss_sum_max});
}

double StepScalars::gradient_norm() const { return std::sqrt(read_[0]); }

}  // namespace gp::engine
