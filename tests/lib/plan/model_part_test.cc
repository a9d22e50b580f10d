// Goal: the parts of a model have the documented names and select the right tensors.
#include "plan/model_part.h"

#include <gtest/gtest.h>

#include <set>

namespace gp::runspec {
namespace {

ModelShape Small(bool tied = true) {
  ModelShape shape = *NamedModelShape("124M");
  shape.tied_head = tied;
  return shape;
}

std::set<std::string> Held(const std::string& text, const ModelShape& shape) {
  const auto part = ParseModelPart(text, shape);
  if (!part) return {};
  std::set<std::string> held;
  for (const ParameterInfo& tensor : MakeParameterLayout(shape).tensors) {
    if (!part->Holds(tensor.name)) continue;
    const bool block = tensor.name.starts_with("h.");
    held.insert(tensor.name.substr(0, tensor.name.find('.', block ? 2 : 0)));
  }
  return held;
}

TEST(ModelPart, HoldsWhatItsNameSays) {
  using Names = std::set<std::string>;
  EXPECT_EQ(Held("wte", Small()), Names{"wte"});
  EXPECT_EQ(Held("wpe", Small()), Names{"wpe"});
  EXPECT_EQ(Held("ln_f", Small()), Names{"ln_f"});
  EXPECT_EQ(Held("lm_head", Small(false)), Names{"lm_head"});
  EXPECT_EQ(Held("block 1", Small()), Names{"h.1"}) << "and not h.10 and h.11";
  EXPECT_EQ(Held("last 2 blocks", Small()), (Names{"h.10", "h.11"}));
  EXPECT_EQ(Held("last 1 block", Small()), Names{"h.11"});
  EXPECT_EQ(Held("first 3 blocks", Small()), (Names{"h.0", "h.1", "h.2"}));
  EXPECT_EQ(Held(" last  2 blocks ", Small()), (Names{"h.10", "h.11"})) << "spaces do not count";
  EXPECT_EQ(Held("blocks", Small()).size(), 12u);
  EXPECT_EQ(Held("last 12 blocks", Small()), Held("blocks", Small()));
}

TEST(ModelPart, IsNoneWhereTheModelHasNoSuchPart) {
  for (const char* text :
       {"", "lm_head", "h", "block", "block 12", "block -1", "block 1.5", "last 13 blocks",
        "last 0 blocks", "last blocks", "first 2", "last 2 layers", "last 2 blocks more", "ln_1",
        "last 99999999999999999999 blocks", "wte wpe"}) {
    EXPECT_FALSE(ParseModelPart(text, Small()).has_value()) << text;
  }
}

TEST(ModelPart, OverlapsWhereBothHoldATensor) {
  const auto overlap = [](const char* a, const char* b) {
    return ParseModelPart(a, Small())->Overlaps(*ParseModelPart(b, Small()));
  };
  EXPECT_TRUE(overlap("last 2 blocks", "block 11"));
  EXPECT_FALSE(overlap("last 2 blocks", "block 9"));
  EXPECT_TRUE(overlap("wte", "wte"));
  EXPECT_FALSE(overlap("wte", "wpe"));
  EXPECT_FALSE(overlap("wte", "blocks"));
}

TrainedParts PartsOf(std::vector<std::string> train, std::map<std::string, double> rates = {}) {
  RunSpec spec;
  spec.model = Small();
  spec.optimizer.lr = 1e-3;
  spec.train = std::move(train);
  spec.learning_rates = std::move(rates);
  return TrainedPartsOf(spec);
}

TEST(TrainedParts, MarkTheLayout) {
  const ParameterLayout layout = MakeParameterLayout(
      Small(), PartsOf({"last 2 blocks", "ln_f"}, {{"ln_f", 1e-4}, {"block 11", 2e-3}}));
  EXPECT_FALSE(layout.at("wte.weight").trained);
  EXPECT_FALSE(layout.at("h.9.mlp.c_fc.weight").trained);
  EXPECT_TRUE(layout.at("h.10.ln_1.bias").trained);
  EXPECT_TRUE(layout.at("ln_f.weight").trained);
  EXPECT_EQ(layout.at("h.10.ln_1.bias").lr_ratio, 1);
  EXPECT_DOUBLE_EQ(layout.at("h.11.ln_1.bias").lr_ratio, 2);
  EXPECT_DOUBLE_EQ(layout.at("ln_f.bias").lr_ratio, 0.1);
  // A block of GPT-2 small has 7,087,872 parameters, and ln_f has 1,536.
  EXPECT_EQ(TrainedParameterCount(layout), 2 * 7087872 + 1536);
  EXPECT_EQ(TrainedParameterCount(MakeParameterLayout(Small(), PartsOf({}))),
            ParameterCount(Small()));
}

TEST(TrainedParts, EndTheBackwardPassAboveWhatIsFrozen) {
  const auto forward_only = [](std::vector<std::string> train) {
    return ForwardOnlyBlocks(Small(), PartsOf(std::move(train)));
  };
  EXPECT_EQ(forward_only({}), 0);
  EXPECT_EQ(forward_only({"last 2 blocks", "ln_f"}), 10);
  EXPECT_EQ(forward_only({"block 3", "last 2 blocks"}), 3);
  EXPECT_EQ(forward_only({"ln_f"}), 12);
  EXPECT_EQ(forward_only({"wpe"}), 0) << "its gradient comes through every block";
  EXPECT_EQ(forward_only({"wte"}), 0);
}

}  // namespace
}  // namespace gp::runspec
