// Small models and batches for tests of the model: odd sizes, and tokens by seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

inline runspec::ModelShape OddShape() {
  runspec::ModelShape shape{.layers = 2, .heads = 3, .channels = 21, .context = 19};
  shape.vocabulary = 31;
  shape.vocabulary_padded = 37;
  return shape;
}

// Random tokens and targets by seed; every seventh target is ignored.
class Batch {
 public:
  Batch(const runspec::ModelShape& shape, int64_t sequences, int64_t length, unsigned seed = 7)
      : sequences_(sequences), length_(length) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < sequences * length; ++i) {
      tokens.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(shape.vocabulary)));
      const auto target = static_cast<int32_t>(random() % static_cast<uint64_t>(shape.vocabulary));
      targets.push_back(i % 7 == 3 ? -1 : target);
    }
  }
  TokenBatch view() const { return {tokens, targets, sequences_, length_}; }

  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;

 private:
  int64_t sequences_;
  int64_t length_;
};

// Larger weights than those of a fresh model, so that attention and GELU are not nearly linear, and
// biases other than 0.
inline void FillParameters(LanguageModel& model, float deviation = 0.2f, unsigned seed = 3) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  for (const runspec::ParameterInfo& tensor : model.layout().tensors) {
    const bool gain = !tensor.decayed && tensor.name.ends_with(".weight");
    for (int64_t i = 0; i < tensor.count; ++i) {
      model.parameters()[static_cast<size_t>(tensor.offset + i)] =
          normal(random) + (gain ? 1.0f : 0.0f);
    }
  }
  model.ParametersChanged();
}

inline std::vector<double> Widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// The relative difference ||a - b|| / ||b|| of one tensor.
template <typename A, typename B>
double RelativeDifference(const runspec::ParameterInfo& tensor, const A& a, const B& b) {
  double difference = 0;
  double norm = 0;
  for (int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
    const double x = a[static_cast<size_t>(i)];
    const double y = b[static_cast<size_t>(i)];
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference) / (std::sqrt(norm) + 1e-30);
}

inline std::vector<float> Gradients(LanguageModel& model, const TokenBatch& batch,
                                    const Dropout& dropout = {}, float scale = 1) {
  std::vector<float> gradients(static_cast<size_t>(model.layout().total_count), 99.0f);
  model.Forward(batch, dropout);
  model.Backward(scale, gradients, false, {});
  return gradients;
}

}  // namespace gp::engine
