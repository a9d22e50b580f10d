// BigramModel: a predictable LanguageModel: the logits after token t are row t of a table, which is
// its parameters. It has no backend and no gradient.
#pragma once

#include <cmath>
#include <stdexcept>
#include <vector>

#include "worker/engine/model/language_model.h"

namespace gp::engine {

class BigramModel final : public LanguageModel {
 public:
  explicit BigramModel(int64_t vocabulary) : table_(static_cast<size_t>(vocabulary * vocabulary)) {
    shape_.vocabulary = shape_.vocabulary_padded = vocabulary;
  }

  void SetLogit(int64_t after, int64_t token, float logit) {
    table_[static_cast<size_t>(after * shape_.vocabulary + token)] = logit;
  }

  const runspec::ModelShape& shape() const override { return shape_; }
  const runspec::ParameterLayout& layout() const override { return layout_; }
  std::span<float> parameters() override { return table_; }
  void ParametersChanged() override {}
  std::span<uint16_t> working_copy() override { return {}; }
  Backend& backend() override { throw std::logic_error("a bigram model has no backend"); }

  double Forward(const TokenBatch& batch, const Dropout&) override { return Loss(batch); }
  void Backward(float, std::span<float>, bool, const GradientReady&) override {
    throw std::logic_error("a bigram model has no gradient");
  }

  double Loss(const TokenBatch& batch) override {
    double loss = 0;
    for (size_t i = 0; i < batch.targets.size(); ++i) {
      if (batch.targets[i] < 0) continue;
      loss -= LogProbability(batch.tokens[i], batch.targets[i]);
    }
    return loss;
  }

  void NextTokenLogits(const TokenBatch& batch, std::span<float> logits) override {
    const auto classes = static_cast<size_t>(shape_.vocabulary);
    for (int64_t s = 0; s < batch.sequences; ++s) {
      const auto last = batch.tokens[static_cast<size_t>((s + 1) * batch.length - 1)];
      for (size_t c = 0; c < classes; ++c) {
        logits[static_cast<size_t>(s) * classes + c] =
            table_[static_cast<size_t>(last) * classes + c];
      }
    }
  }

 private:
  double LogProbability(int32_t after, int32_t token) const {
    const auto classes = static_cast<size_t>(shape_.vocabulary);
    const float* row = &table_[static_cast<size_t>(after) * classes];
    double total = 0;
    for (size_t c = 0; c < classes; ++c) total += std::exp(static_cast<double>(row[c]));
    return row[token] - std::log(total);
  }

  runspec::ModelShape shape_;
  runspec::ParameterLayout layout_;
  std::vector<float> table_;
};

}  // namespace gp::engine
