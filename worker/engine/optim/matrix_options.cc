#include "worker/engine/optim/matrix_options.h"

#include <cmath>

namespace gp::engine {
namespace {

constexpr double kRowEps = 1e-8;

}  // namespace

void ScaleRows(Backend& backend, const Matrix& update, double beta, float* means, float* factors) {
  double before = 0;
  double after = 0;
  for (int64_t row = 0; row < update.rows; ++row) {
    const double sum = backend.SumOfSquares(update.data + row * update.columns, update.columns);
    float& mean = means[row * update.columns];
    mean = static_cast<float>(beta * mean + (1 - beta) * sum / static_cast<double>(update.columns));
    factors[row] = static_cast<float>(1 / (std::sqrt(static_cast<double>(mean)) + kRowEps));
    before += sum;
    after += sum * factors[row] * factors[row];
  }
  const double norm = after > 0 ? std::sqrt(before / after) : 0;
  for (int64_t row = 0; row < update.rows; ++row) {
    float* const values = update.data + row * update.columns;
    backend.Axpby(update.columns, values, static_cast<float>(norm * factors[row]), values, 0,
                  nullptr);
  }
}

void StepCautiously(const Matrix& update, float kept, float rate, float* weight) {
  for (int64_t i = 0; i < update.count(); ++i) {
    const bool towards_zero = update.data[i] * weight[i] > 0;
    weight[i] = (towards_zero ? kept * weight[i] : weight[i]) - rate * update.data[i];
  }
}

}  // namespace gp::engine
