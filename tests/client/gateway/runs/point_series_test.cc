#include "client/gateway/runs/point_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace gp::gateway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Point At(int64_t step, float loss = 1) {
  Point point;
  point.step = step;
  point.Set(kLossColumn, loss);
  return point;
}

std::vector<int64_t> Steps(const std::vector<Point>& points) {
  std::vector<int64_t> steps;
  for (const Point& point : points) steps.push_back(point.step);
  return steps;
}

size_t Evaluated(const std::vector<Point>& points) {
  return static_cast<size_t>(
      std::count_if(points.begin(), points.end(), [](const Point& p) { return p.evaluated(); }));
}

bool LessLoss(const Point& a, const Point& b) { return a.loss() < b.loss(); }

TEST(PointSeries, FewPointsAreToldAsTheyAre) {
  PointSeries series;
  for (int step = 1; step <= 50; ++step) series.Append(At(step));
  EXPECT_EQ(series.Select({}).size(), 50u);
  EXPECT_THAT(Steps(series.Select({.from = 10, .to = 12})), ElementsAre(10, 11, 12));
  EXPECT_THAT(series.Select({.from = 51, .to = 90}), IsEmpty());
  EXPECT_THAT(series.Select({.from = 20, .to = 10}), IsEmpty());
  EXPECT_THAT(PointSeries().Select({}), IsEmpty());
}

TEST(PointSeries, StepsThatARestartTakesAgainReplaceTheOldOnes) {
  PointSeries series;
  for (int step = 1; step <= 5; ++step) series.Append(At(step, 1));
  series.Append(At(4, 2));
  EXPECT_THAT(Steps(series.Select({})), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(series.Select({}).back().loss(), 2);
  EXPECT_EQ(series.last_step(), 4);
}

TEST(PointSeries, AReaderIsToldWhatItHasNotSeenAlsoOverARestart) {
  PointSeries series;
  for (int step = 1; step <= 5; ++step) series.Append(At(step));
  const uint32_t seen = series.appended();
  EXPECT_THAT(series.After(seen, 100), IsEmpty());
  series.Append(At(3));
  series.Append(At(4));
  EXPECT_THAT(Steps(series.After(seen, 100)), ElementsAre(3, 4));
  EXPECT_THAT(Steps(series.After(0, 100)), ElementsAre(1, 2, 3, 4));
}

TEST(PointSeries, ALongRunStaysWithinItsCapacityWithItsExtremes) {
  PointSeries series(1000);
  for (int step = 1; step <= 20'000; ++step) series.Append(At(step, step == 777 ? 50 : 1));
  EXPECT_LE(series.size(), 1000u);
  const std::vector<Point> all = series.Select({});
  EXPECT_EQ(all.front().step, 1);
  EXPECT_EQ(all.back().step, 20'000);
  EXPECT_EQ(std::max_element(all.begin(), all.end(), LessLoss)->step, 777);
}

struct Shape {
  int points;
  int evaluation_every;
  size_t count_max;
};

std::vector<Point> RandomPoints(const Shape& shape, std::mt19937& random) {
  std::uniform_real_distribution<float> loss(0, 10);
  std::vector<Point> points;
  int64_t step = 0;
  for (int i = 0; i < shape.points; ++i) {
    step += 1 + static_cast<int64_t>(random() % 3);
    Point point = At(step, random() % 50 == 0 ? kAbsent : loss(random));
    if (i % shape.evaluation_every == 0) point.Set(kValidationColumn, loss(random));
    points.push_back(point);
  }
  return points;
}

// Checks the guarantees of Decimate with random series.
TEST(PointSeries, DecimationKeepsOrderExtremesEndsAndEvaluations) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    const Shape shape{static_cast<int>(1 + random() % 3000), static_cast<int>(1 + random() % 200),
                      50 + random() % 500};
    const std::vector<Point> points = RandomPoints(shape, random);
    const std::vector<Point> kept = Decimate(points, shape.count_max);
    const std::vector<int64_t> steps = Steps(kept);
    ASSERT_LE(kept.size(), shape.count_max);
    ASSERT_TRUE(std::is_sorted(steps.begin(), steps.end()));
    ASSERT_EQ(std::adjacent_find(steps.begin(), steps.end()), steps.end());
    const size_t evaluated = Evaluated(points);
    if (evaluated < shape.count_max) {
      ASSERT_EQ(Evaluated(kept), evaluated);
    }
    ASSERT_EQ(kept.back().step, points.back().step);
    if (evaluated + 2 > shape.count_max) continue;
    ASSERT_EQ(kept.front().step, points.front().step);
    if (evaluated + 4 > shape.count_max) continue;
    std::vector<Point> finite = points;
    std::erase_if(finite, [](const Point& p) { return !std::isfinite(p.loss()); });
    for (const auto& extreme : {std::min_element(finite.begin(), finite.end(), LessLoss),
                                std::max_element(finite.begin(), finite.end(), LessLoss)}) {
      if (extreme == finite.end()) continue;
      ASSERT_TRUE(std::any_of(kept.begin(), kept.end(),
                              [&](const Point& p) { return p.loss() == extreme->loss(); }));
    }
  }
}

TEST(PointSeries, EachStretchKeepsItsSpike) {
  std::vector<Point> points;
  for (int step = 1; step <= 10'000; ++step) points.push_back(At(step, step % 1000 == 500 ? 9 : 1));
  const std::vector<Point> kept = Decimate(points, 100);
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const Point& p) { return p.loss() == 9; }),
            10);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(PointSeries, ALossThatIsNotFiniteIsKeptAndHidesNoExtreme) {
  std::vector<Point> points;
  for (int step = 1; step <= 10'000; ++step) points.push_back(At(step, step == 700 ? 9 : 1));
  points[299].Set(kLossColumn, kNan);
  for (int step = 695; step <= 705; ++step) {
    if (step != 700) points[step - 1].Set(kLossColumn, kInfinity);
  }
  points[9000].Set(kLossColumn, -kInfinity);
  const std::vector<Point> kept = Decimate(points, 100);
  EXPECT_LE(kept.size(), 100u);
  std::vector<int64_t> gaps;
  for (const Point& point : kept) {
    if (!std::isfinite(point.loss())) gaps.push_back(point.step);
  }
  EXPECT_THAT(gaps, ElementsAre(300, 695, 705, 9001));
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const Point& p) { return p.loss() == 9; }),
            1);
}

TEST(PointSeries, ARunWhoseLossStaysNanFitsIntoTheChart) {
  std::vector<Point> points;
  for (int step = 1; step <= 10'000; ++step) points.push_back(At(step, step < 100 ? 3 : kNan));
  const std::vector<Point> kept = Decimate(points, 100);
  EXPECT_LE(kept.size(), 100u);
  EXPECT_EQ(kept.back().step, 10'000);
  EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [](const Point& p) { return p.step == 100; }))
      << "where it began";
}

TEST(PointSeries, AnAbsentLossIsNoGap) {
  std::vector<Point> points;
  for (int step = 1; step <= 1000; ++step) points.push_back(At(step));
  for (Point& point : points) point.measured.reset(kLossColumn);
  for (Point& point : points) point.columns[kLossColumn] = kAbsent;
  EXPECT_THAT(Steps(Decimate(points, 50)), ElementsAre(1, 1000));
}

TEST(PointSeries, AValidationLossThatIsNanCountsAsEvaluated) {
  Point point = At(1);
  EXPECT_FALSE(point.evaluated());
  point.Set(kValidationColumn, kNan);
  EXPECT_TRUE(point.evaluated());
}

}  // namespace
}  // namespace gp::gateway
