#include "worker/engine/optim/muon.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "plan/training_plan.h"

namespace gp::engine {
namespace {

constexpr int kIterations = 5;
constexpr float kLinear = 3.4445f;
constexpr float kCubic = -4.7750f;
constexpr float kQuintic = 2.0315f;
constexpr double kEps = 1e-7;

bool IsMatrixOfBlock(const runspec::ParameterInfo& tensor) {
  return tensor.shape.size() == 2 && tensor.name.rfind("h.", 0) == 0;
}

float* AllocateFloats(Backend& backend, int64_t count) {
  const int64_t bytes = (count * static_cast<int64_t>(sizeof(float)) + 63) / 64 * 64;
  return static_cast<float*>(backend.Allocate(bytes));
}

}  // namespace

Muon::Muon(Backend& backend, const runspec::ModelShape& shape,
           const runspec::ParameterLayout& layout, const OptimizerOptions& options)
    : Optimizer(backend, layout, options),
      ranges_(RangesOf(layout, [](const auto& tensor) { return !IsMatrixOfBlock(tensor); })),
      update_(AllocateFloats(backend, runspec::MuonMatrixCount(shape))),
      product_(AllocateFloats(backend, runspec::MuonMatrixCount(shape))),
      square_(AllocateFloats(backend, runspec::MuonSquareCount(shape))),
      polynomial_(AllocateFloats(backend, runspec::MuonSquareCount(shape))) {
  for (const runspec::ParameterInfo& tensor : layout.tensors) {
    if (!tensor.trained || !IsMatrixOfBlock(tensor)) continue;
    matrices_.push_back({tensor.offset, tensor.shape[0], tensor.shape[1]});
  }
}

void Muon::Apply(const Step& step) {
  for (const Range& range : ranges_) UpdateRange(step, range);
  for (const Matrix& matrix : matrices_) UpdateMatrix(step, matrix);
}

void Muon::UpdateMatrix(const Step& step, const Matrix& matrix) {
  const int64_t count = matrix.count();
  const float* gradient = step.gradients.data() + matrix.first;
  float* momentum = first_moment().data() + matrix.first;
  float* weight = step.model.parameters().data() + matrix.first;
  const auto kept = static_cast<float>(spec().muon_momentum);
  const float added = (1 - kept) * step.factor_value;
  AboutToOverwrite(matrix.first, matrix.first + count);
  backend().Axpby(count, momentum, kept, momentum, added, gradient);
  backend().Axpby(count, update_, kept, momentum, added, gradient);  // Nesterov
  Orthogonalize(matrix);
  const double schedule = spec().lr > 0 ? step.lr / spec().lr : 0;
  const double lr = spec().muon_lr * schedule;
  const double ratio = static_cast<double>(matrix.rows) / static_cast<double>(matrix.columns);
  backend().Axpby(count, weight, static_cast<float>(1 - lr * spec().weight_decay), weight,
                  static_cast<float>(-lr * std::sqrt(std::max(1.0, ratio))), update_);
  RoundRange(step.model, matrix.first, matrix.first + count);
}

// Replaces update_ by roughly the nearest orthogonal matrix: its singular values end near 1.
void Muon::Orthogonalize(const Matrix& matrix) {
  const double norm = std::sqrt(backend().SumOfSquares(update_, matrix.count()));
  backend().Axpby(matrix.count(), update_, static_cast<float>(1 / (norm + kEps)), update_, 0,
                  nullptr);
  for (int i = 0; i < kIterations; ++i) Iterate(matrix);
}

// Forms the smaller square, X X^T of a wide matrix or X^T X of a tall one, and multiplies X by its
// polynomial from that side.
void Muon::Iterate(const Matrix& matrix) {
  const bool tall = matrix.rows > matrix.columns;
  const int64_t side = std::min(matrix.rows, matrix.columns);
  const Buffer x = Fp32(update_);
  const Buffer a = Fp32(square_);
  const Buffer p = Fp32(polynomial_);
  if (tall) {
    backend().BackwardWeight({.shape = {matrix.rows, side, side}, .dw = square_, .dy = x, .x = x});
  } else {
    backend().Forward({.shape = {side, matrix.columns, side}, .y = a, .x = x, .w = x});
  }
  backend().BackwardInput({.shape = {side, side, side}, .dx = p, .dy = a, .w = a});
  backend().Axpby(side * side, polynomial_, kQuintic, polynomial_, kCubic, square_);
  if (tall) {
    backend().BackwardInput(
        {.shape = {matrix.rows, side, side}, .dx = Fp32(product_), .dy = x, .w = p});
  } else {
    backend().BackwardInput(
        {.shape = {side, matrix.columns, side}, .dx = Fp32(product_), .dy = p, .w = x});
  }
  backend().Axpby(matrix.count(), update_, kLinear, update_, 1, product_);
}

}  // namespace gp::engine
