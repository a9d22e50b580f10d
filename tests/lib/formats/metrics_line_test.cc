#include "formats/metrics_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gp::formats {
namespace {

using contract::TrainingPoint;

TrainingPoint ExamplePoint() {
  return {.step = 7,
          .tokens = 5376,
          .loss = 3.2714,
          .learning_rate = 4.93e-4,
          .gradient_norm = 0.31,
          .tokens_per_second = 21000.5,
          .mfu = 0.556,
          .step_seconds = 0.0366,
          .validation_loss = 3.2958};
}

TrainingPoint WithPhases() {
  TrainingPoint point = ExamplePoint();
  point.phases = {.data_wait = 0.5, .forward = 1, .backward = 2, .optimizer = 0.25, .other = 0.125};
  point.peak_flops = 4.5e11;
  point.peak_source = "measured";
  point.processor_wait = 0.125;
  point.scores = {{contract::kBitsPerByte, 2.5}, {"quiz/completion/acc", 0.25}};
  return point;
}

TEST(MetricsLine, ComesBackEqual) {
  TrainingPoint point = ExamplePoint();
  EXPECT_EQ(*ParseMetricsLine(FormatMetricsLine(point)), point);
  point.validation_loss = std::nullopt;
  point.skipped = true;
  point.spike = true;
  EXPECT_EQ(*ParseMetricsLine(FormatMetricsLine(point)), point);
  EXPECT_EQ(*ParseMetricsLine(FormatMetricsLine(WithPhases())), WithPhases());
}

TEST(MetricsLine, HasTheDocumentedKeysOnOneLine) {
  EXPECT_EQ(FormatMetricsLine(ExamplePoint()),
            R"({"step":7,"tokens":5376,"loss":3.2714,"lr":0.000493,"grad_norm":0.31,)"
            R"("tokens_per_second":21000.5,"mfu":0.556,"step_seconds":0.0366,"val_loss":3.2958})");
  EXPECT_THAT(
      FormatMetricsLine(WithPhases()),
      testing::HasSubstr(R"("val_loss":3.2958,"quiz/completion/acc":0.25,"val_bpb":2.5,"phases")"));
  EXPECT_THAT(FormatMetricsLine(WithPhases()),
              testing::EndsWith(R"("phases":{"data_wait":0.5,"forward":1.0,"backward":2.0,)"
                                R"("allreduce_exposed":0.0,"optimizer":0.25,"other":0.125},)"
                                R"("peak_flops":450000000000.0,"peak_source":"measured",)"
                                R"("processor_wait":0.125})"));
}

TEST(MetricsLine, NonFiniteNumbersBecomeNull) {
  TrainingPoint point = ExamplePoint();
  point.loss = std::numeric_limits<double>::quiet_NaN();
  point.gradient_norm = std::numeric_limits<double>::infinity();
  const auto back = ParseMetricsLine(FormatMetricsLine(point));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(std::isnan(back->loss));
  EXPECT_TRUE(std::isnan(back->gradient_norm));
}

TEST(MetricsLine, EveryTruncationIsRefused) {
  const std::string text = FormatMetricsLine(ExamplePoint());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseMetricsLine(text.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(ParseMetricsLine(text.substr(0, text.size() - 1) + R"(,"later":[1]})").ok());
}

}  // namespace
}  // namespace gp::formats
