#include "client/gpctl/screen/run_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(const std::vector<ScreenLine>& lines) {
  std::string text;
  for (const ScreenLine& line : lines) text += line.Text(false) + "\n";
  return text;
}

RunCurves Falling(int64_t steps) {
  RunCurves curves;
  for (int64_t step = 1; step <= steps; ++step) {
    curves.loss.Add(step, 2 + 8 * std::exp(-static_cast<double>(step) / 50));
    if (step % 100 == 0) curves.validation.Add(step, 3);
  }
  return curves;
}

TEST(LossChart, NamesTheCurvesThatAreThere) {
  EXPECT_THAT(Text(LossChart(Falling(50), 60, 12, {})),
              AllOf(HasSubstr("training 4.9"), Not(HasSubstr("validation"))));
  EXPECT_THAT(Text(LossChart(Falling(500), 60, 12, {})),
              AllOf(HasSubstr("validation 3"), HasSubstr("training, smoothed 2")));
  EXPECT_TRUE(LossChart(RunCurves(), 60, 12, {}).empty());
}

// The first steps would hide the rest: 10 against 2.02.
TEST(LossChart, LeavesOutTheFirstStepsAndSaysSo) {
  const auto shown = [](int64_t steps, CurveSpan span) {
    return Text(LossChart(Falling(steps), 60, 12, {.span = span}));
  };
  EXPECT_THAT(shown(1000, CurveSpan::kSettled),
              AllOf(HasSubstr("loss (nats per token), from step 40 "), Not(HasSubstr("8 "))));
  EXPECT_THAT(shown(400, CurveSpan::kSettled), Not(HasSubstr("from step")));
  EXPECT_THAT(shown(1000, CurveSpan::kAll), AllOf(HasSubstr("10 ┤"), Not(HasSubstr("from step"))));
  EXPECT_THAT(shown(500, CurveSpan::kLastHalf),
              AllOf(HasSubstr(", last half"), HasSubstr("400"), Not(HasSubstr("100"))));
}

TEST(CurveSpan, ComesRoundAgain) {
  CurveSpan span = CurveSpan::kSettled;
  for (int i = 0; i < 4; ++i) span = NextSpan(span);
  EXPECT_EQ(span, CurveSpan::kSettled);
}

TEST(LossChart, ShowsLossesThatAreNotFinite) {
  RunCurves curves = Falling(300);
  curves.loss.Add(301, NAN);
  EXPECT_THAT(Text(LossChart(curves, 60, 12, {})), HasSubstr("x"));
}

}  // namespace
}  // namespace gp::gpctl
