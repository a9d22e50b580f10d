#include "client/gpctl/commands/sweep/sweep_charts.h"

#include <gtest/gtest.h>

#include "client/api/sample_sweep.h"

namespace gp::gpctl {
namespace {

TEST(SweepCharts, DrawADotForEachTrialAndTheMeans) {
  const v1::Sweep sweep = client::SampleSweep({3.0, 3.2, 2.0, 2.2, 4.0, std::nullopt});
  const std::vector<KeyChart> charts = ChartsOf(sweep);
  ASSERT_EQ(charts.size(), 1U) << "the seed has no chart";
  EXPECT_EQ(charts[0].key, "optimizer.lr");
  const Chart& chart = charts[0].chart;
  EXPECT_EQ(chart.title, "val_loss by optimizer.lr");
  EXPECT_TRUE(chart.x_log) << "from 1e-3 to 1e-1";
  ASSERT_EQ(chart.curves.size(), 6U);
  EXPECT_EQ(chart.curves[0].label, "mean");
  EXPECT_EQ(chart.curves[0].x, (std::vector<double>{1e-3, 3e-3, 1e-1}));
  EXPECT_EQ(chart.curves[0].y, (std::vector<double>{3.1, 2.1, 4.0}));
}

TEST(SweepCharts, ValuesThatAreNotNumbersAreNumbered) {
  v1::Sweep sweep = client::SampleSweep({3.0, 3.2, 2.0, 2.2, 4.0, 4.1});
  for (int index = 0; index < 6; ++index) {
    (*sweep.mutable_trials(index)->mutable_keys())["optimizer.lr"] = index < 3 ? "cosine" : "wsd";
  }
  const Chart chart = ChartsOf(sweep)[0].chart;
  EXPECT_EQ(chart.title, "val_loss by optimizer.lr (1: cosine, 2: wsd)");
  EXPECT_FALSE(chart.x_log);
}

TEST(SweepCharts, NothingIsDrawnWithoutALoss) {
  EXPECT_TRUE(ChartsOf(client::SampleSweep({{}, {}, {}, {}, {}, {}})).empty());
}

}  // namespace
}  // namespace gp::gpctl
