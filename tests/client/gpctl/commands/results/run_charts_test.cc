#include "client/gpctl/commands/results/run_charts.h"

#include <gtest/gtest.h>

#include "client/fake_run_service.h"

namespace gp::gpctl {
namespace {

using Panels = std::vector<std::vector<std::string>>;

TEST(RunCharts, EachWordIsAPanel) {
  const std::vector<NamedRun> runs = {
      {gp::testing::MakeRun("tiny", "aaaaaaaaaa", v1::RUN_STATE_RUNNING), "tiny"}};
  const auto panels = ParsePanels({"loss+val_loss", "lr"}, runs);
  ASSERT_TRUE(panels.ok()) << panels.status();
  EXPECT_EQ(*panels, (Panels{{"loss", "val_loss"}, {"lr"}}));
  for (const char* word : {"", "+", "loss+", "loss val_loss", "step"}) {
    EXPECT_EQ(ParsePanels({word}, runs).status().code(), StatusCode::kInvalidArgument) << word;
  }
}

TEST(RunCharts, ValidationAndScoresAreEvaluated) {
  EXPECT_TRUE(IsEvaluated("val_loss"));
  EXPECT_TRUE(IsEvaluated("val_bpb"));
  EXPECT_TRUE(IsEvaluated("sums/completion/acc"));
  EXPECT_FALSE(IsEvaluated("loss"));
}

}  // namespace
}  // namespace gp::gpctl
