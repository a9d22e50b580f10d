// Goal: Muon equals its formula in fp64 over several steps, for wide, tall and square matrices,
// with AdamW for all other tensors; its update has singular values near 1.
#include "worker/engine/optim/muon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "worker/engine/model/make_language_model.h"
#include "worker/engine/optim/adamw.h"

namespace gp::engine {
namespace {

runspec::ModelShape TinyShape() {
  runspec::ModelShape shape{.layers = 2, .heads = 1, .channels = 11, .context = 9};
  shape.vocabulary = shape.vocabulary_padded = 17;
  return shape;
}

runspec::OptimizerSpec MuonSpec() {
  runspec::OptimizerSpec spec{.kind = runspec::OptimizerKind::kMuon, .lr = 3e-3};
  spec.muon_lr = 0.02;
  spec.muon_momentum = 0.9;
  spec.weight_decay = 0.1;
  return spec;
}

using Values = std::vector<double>;  // row-major

Values Product(const Values& a, const Values& b, int64_t m, int64_t k, int64_t n) {
  Values c(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        c[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
      }
    }
  }
  return c;
}

Values Transposed(const Values& a, int64_t rows, int64_t columns) {
  Values t(a.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      t[static_cast<size_t>(j * rows + i)] = a[static_cast<size_t>(i * columns + j)];
    }
  }
  return t;
}

// The Newton-Schulz iteration as Muon's authors write it; it needs rows <= columns, so a tall
// matrix is transposed.
Values Orthogonalized(Values x, int64_t rows, int64_t columns) {
  const bool tall = rows > columns;
  if (tall) x = Transposed(x, rows, columns);
  const int64_t m = std::min(rows, columns);
  const int64_t n = std::max(rows, columns);
  double squares = 0;
  for (const double value : x) squares += value * value;
  for (double& value : x) value /= std::sqrt(squares) + 1e-7;
  for (int step = 0; step < 5; ++step) {
    const Values a = Product(x, Transposed(x, m, n), m, n, m);
    const Values aa = Product(a, a, m, m, m);
    Values b(a.size());
    for (size_t i = 0; i < a.size(); ++i) b[i] = -4.7750 * a[i] + 2.0315 * aa[i];
    const Values bx = Product(b, x, m, m, n);
    for (size_t i = 0; i < x.size(); ++i) x[i] = 3.4445 * x[i] + bx[i];
  }
  return tall ? Transposed(x, m, n) : x;
}

class Fp64Muon {
 public:
  Fp64Muon(std::span<const float> weight, int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), weight_(weight.begin(), weight.end()), m_(weight_.size()) {}

  void Step(std::span<const float> gradient, double lr, double coefficient,
            const runspec::OptimizerSpec& spec) {
    Values direction(m_.size());
    for (size_t i = 0; i < m_.size(); ++i) {
      const double added = (1 - spec.muon_momentum) * coefficient * gradient[i];
      m_[i] = spec.muon_momentum * m_[i] + added;
      direction[i] = spec.muon_momentum * m_[i] + added;
    }
    direction = Orthogonalized(direction, rows_, columns_);
    const double scale = std::sqrt(std::max(1.0, static_cast<double>(rows_) / columns_));
    for (size_t i = 0; i < m_.size(); ++i) {
      weight_[i] = weight_[i] * (1 - lr * spec.weight_decay) - lr * scale * direction[i];
    }
  }
  const Values& weight() const { return weight_; }

 private:
  int64_t rows_, columns_;
  Values weight_, m_;
};

std::vector<float> RandomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(Muon, EqualsItsFormulaAndLeavesTheRestToAdamW) {
  const runspec::OptimizerSpec spec = MuonSpec();
  const auto model = MakeLanguageModel({.shape = TinyShape(), .micro_batch = 1, .sequence = 4});
  const auto other = MakeLanguageModel({.shape = TinyShape(), .micro_batch = 1, .sequence = 4});
  InitializeNormal(1, *model);
  InitializeNormal(1, *other);
  const auto muon =
      MakeOptimizer(model->backend(), model->shape(), model->layout(), {.spec = spec});
  AdamW adamw(other->backend(), other->layout(), {.spec = spec});
  const auto part = [](std::span<float> values, const runspec::ParameterInfo& tensor) {
    return values.subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.count));
  };
  std::map<std::string, Fp64Muon> expected;
  for (const runspec::ParameterInfo& tensor : model->layout().tensors) {
    if (tensor.shape.size() != 2 || !tensor.name.starts_with("h.")) continue;
    expected.emplace(tensor.name,
                     Fp64Muon(part(model->parameters(), tensor), tensor.shape[0], tensor.shape[1]));
  }
  ASSERT_EQ(expected.size(), 8u);
  for (unsigned step = 0; step < 6; ++step) {
    const double schedule = 1.0 / (1 + step);
    std::vector<float> gradients = RandomValues(model->parameters().size(), 10 + step);
    for (auto& [name, matrix] : expected) {
      matrix.Step(part(gradients, model->layout().at(name)), spec.muon_lr * schedule, 0.5, spec);
    }
    std::vector<float> copy = gradients;
    const float half = 0.5f;
    muon->Update(*model, gradients, spec.lr * schedule, &half);
    adamw.Update(*other, copy, spec.lr * schedule, &half);
  }
  for (const runspec::ParameterInfo& tensor : model->layout().tensors) {
    const std::span<float> values = part(model->parameters(), tensor);
    const auto found = expected.find(tensor.name);
    for (size_t i = 0; i < values.size(); ++i) {
      if (found != expected.end()) {
        // The iteration amplifies the fp32 rounding errors of small singular values.
        ASSERT_NEAR(values[i], found->second.weight()[i], 2e-5) << tensor.name << " " << i;
      } else {
        ASSERT_EQ(values[i], part(other->parameters(), tensor)[i]) << tensor.name << " " << i;
      }
    }
  }
}

// The squared norm of an orthogonal (m, n) matrix is min(m, n). The iteration leaves singular
// values between 0.7 and 1.2.
TEST(Muon, MovesByAMatrixWithSingularValuesNearOne) {
  runspec::OptimizerSpec spec = MuonSpec();
  spec.weight_decay = 0;
  const auto model = MakeLanguageModel({.shape = TinyShape(), .micro_batch = 1, .sequence = 4});
  const auto muon =
      MakeOptimizer(model->backend(), model->shape(), model->layout(), {.spec = spec});
  std::vector<float> gradients = RandomValues(model->parameters().size(), 3);
  const float one = 1;
  muon->Update(*model, gradients, spec.lr, &one);
  for (const char* name : {"h.0.attn.c_attn.weight", "h.1.mlp.c_proj.weight"}) {
    const runspec::ParameterInfo& tensor = model->layout().at(name);
    const double ratio =
        static_cast<double>(tensor.shape[0]) / static_cast<double>(tensor.shape[1]);
    double squares = 0;
    for (int64_t i = 0; i < tensor.count; ++i) {
      const double moved = model->parameters()[static_cast<size_t>(tensor.offset + i)];
      squares += std::pow(moved / spec.muon_lr, 2) / std::max(1.0, ratio);
    }
    EXPECT_GT(squares, 0.5 * 11) << name;
    EXPECT_LT(squares, 1.5 * 11) << name;
  }
}

}  // namespace
}  // namespace gp::engine
