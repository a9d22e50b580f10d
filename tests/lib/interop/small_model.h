// A small model whose weights are derived from their names and indices, as a source for writers;
// and a function that reads whole models.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interop/model_source.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp::interop {

// 2 blocks of 12 channels; the embedding includes padding rows.
inline runspec::ModelShape SmallShape() {
  return {.layers = 2,
          .heads = 3,
          .channels = 12,
          .context = 10,
          .vocabulary = 259,
          .vocabulary_padded = 264};
}

class SmallModel final : public ModelSource {
 public:
  explicit SmallModel(
      const runspec::ModelShape& shape = SmallShape(),
      std::shared_ptr<const Tokenizer> tokenizer = std::make_shared<ByteTokenizer>())
      : ModelSource("small", shape, std::move(tokenizer)) {}

  // The value has seven significant bits, so it is exact in bf16 and fp16.
  static float ValueAt(const std::string& name, int64_t index) {
    const uint64_t mixed =
        std::hash<std::string>()(name) * 31 + static_cast<uint64_t>(index) * 2654435761u;
    return (static_cast<float>(mixed >> 7 & 127) - 63) / 64;
  }

  float& Override(const std::string& name, int64_t index) { return overrides_[{name, index}]; }

 private:
  Status ReadValues(const runspec::ParameterInfo& tensor, std::span<float> values) const override {
    for (int64_t i = 0; i < tensor.count; ++i) {
      const auto found = overrides_.find({tensor.name, i});
      values[static_cast<size_t>(i)] =
          found == overrides_.end() ? ValueAt(tensor.name, i) : found->second;
    }
    return OkStatus();
  }
  std::string Describe(const runspec::ParameterInfo& tensor) const override {
    return "small: tensor '" + tensor.name + "'";
  }

  std::map<std::pair<std::string, int64_t>, float> overrides_;
};

inline std::map<std::string, std::vector<float>> ReadAll(const ModelSource& source) {
  std::map<std::string, std::vector<float>> weights;
  for (const auto& tensor : runspec::MakeParameterLayout(source.shape()).tensors) {
    std::vector<float>& values = weights[tensor.name];
    values.resize(static_cast<size_t>(tensor.count));
    const Status status = source.Read(tensor, values);
    EXPECT_TRUE(status.ok()) << status;
  }
  return weights;
}

}  // namespace gp::interop
