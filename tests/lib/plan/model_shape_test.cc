// Goal: parameter counts and layout equal those of the published GPT-2 sizes, so that no run trains
// another size by mistake.
#include "plan/model_shape.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gp::runspec {
namespace {

ModelShape Gpt2(int64_t vocabulary_padded) {
  ModelShape shape = *NamedModelShape("124M");
  shape.vocabulary_padded = vocabulary_padded;
  return shape;
}

TEST(ModelShape, CountsGpt2AsPublished) {
  EXPECT_EQ(ParameterCount(Gpt2(50257)), 124439808);
  EXPECT_EQ(ParameterCount(Gpt2(50304)), 124475904);
}

TEST(ModelShape, CountsTheLargerSizesAsPublished) {
  for (const auto& [name, count] : {std::pair{"350M", 354823168}, std::pair{"774M", 774030080},
                                    std::pair{"1558M", 1557611200}}) {
    ModelShape shape = *NamedModelShape(name);
    shape.vocabulary_padded = shape.vocabulary;
    EXPECT_EQ(ParameterCount(shape), count) << name;
  }
}

TEST(ModelShape, SplitsDecayedAndUndecayedTensorsLikeBuildNanoGpt) {
  int64_t tensors[2] = {0, 0};
  int64_t values[2] = {0, 0};
  for (const ParameterInfo& tensor : MakeParameterLayout(Gpt2(50304)).tensors) {
    ++tensors[tensor.decayed ? 1 : 0];
    values[tensor.decayed ? 1 : 0] += tensor.count;
  }
  EXPECT_EQ(tensors[1], 50);
  EXPECT_EQ(values[1], 124354560);
  EXPECT_EQ(tensors[0], 98);
  EXPECT_EQ(values[0], 121344);
}

TEST(ModelShape, LaysTensorsOutAlignedAndDecayedFirst) {
  ModelShape shape{.layers = 2, .heads = 1, .channels = 5, .context = 3};
  shape.vocabulary = shape.vocabulary_padded = 7;
  shape.tied_head = false;
  const ParameterLayout layout = MakeParameterLayout(shape);
  int64_t end = 0;
  for (const ParameterInfo& tensor : layout.tensors) {
    EXPECT_EQ(tensor.offset % 16, 0) << tensor.name;
    EXPECT_GE(tensor.offset, end) << tensor.name;
    EXPECT_EQ(tensor.decayed, tensor.offset < layout.decayed_count) << tensor.name;
    end = tensor.offset + tensor.count;
  }
  EXPECT_GE(layout.total_count, end);
  EXPECT_EQ(layout.at("lm_head.weight").shape, (std::vector<int64_t>{7, 5}));
  EXPECT_THROW(layout.at("lm_head.bias"), std::out_of_range);
}

TEST(ModelShape, GapsAreWhatNoTensorHolds) {
  ModelShape shape{.layers = 1, .heads = 1, .channels = 16, .context = 3};
  shape.vocabulary = shape.vocabulary_padded = 7;
  // Every tensor's size is a multiple of the alignment.
  EXPECT_TRUE(MakeParameterLayout(shape).Gaps().empty());
  shape.channels = 5;
  const ParameterLayout layout = MakeParameterLayout(shape);
  std::vector<int> owners(static_cast<size_t>(layout.total_count));
  const auto own = [&](int64_t offset, int64_t count) {
    for (int64_t i = offset; i < offset + count; ++i) ++owners.at(static_cast<size_t>(i));
  };
  for (const ParameterInfo& tensor : layout.tensors) own(tensor.offset, tensor.count);
  for (const ParameterGap& gap : layout.Gaps()) {
    EXPECT_GT(gap.count, 0);
    own(gap.offset, gap.count);
  }
  EXPECT_EQ(owners, std::vector<int>(owners.size(), 1));
}

TEST(ModelShape, LeavesBiasesOutWhenTheModelHasNone) {
  ModelShape shape = *NamedModelShape("tiny");
  shape.bias = false;
  for (const ParameterInfo& tensor : MakeParameterLayout(shape).tensors) {
    EXPECT_EQ(tensor.name.find(".bias"), std::string::npos) << tensor.name;
  }
}

TEST(ModelShape, KnowsItsNames) {
  for (const std::string& name : ModelNames()) EXPECT_TRUE(NamedModelShape(name).has_value());
  EXPECT_FALSE(NamedModelShape("125M").has_value());
}

}  // namespace
}  // namespace gp::runspec
