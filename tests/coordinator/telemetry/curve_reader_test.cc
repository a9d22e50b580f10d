#include "coordinator/telemetry/curve_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

// All points of each field.
using Curves = std::map<std::string, std::vector<CurvePoint>>;

class CurveReaderTest : public ::testing::Test {
 protected:
  static contract::TrainingPoint Point(Epoch epoch, int64_t step) {
    contract::TrainingPoint point;
    point.epoch = epoch;
    point.step = step;
    point.tokens = step * 10;
    point.at_us = 1'000'000'000 + step * 500'000;
    point.loss = static_cast<double>(step) + 0.1 * static_cast<double>(epoch);
    if (step % 100 == 0) point.validation_loss = 7;
    return point;
  }

  void Append(const std::vector<contract::TrainingPoint>& points) {
    auto log = RunLog::Open(JoinPath(directory_.path(), "r"), {});
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE(log->AppendPoints(points).ok());
  }

  void Append(Epoch epoch, int64_t first, int64_t last) {
    std::vector<contract::TrainingPoint> points;
    for (int64_t step = first; step <= last; ++step) points.push_back(Point(epoch, step));
    Append(points);
  }

  StatusOr<CurveReader> Open(const std::vector<std::string>& fields, int points_max = 0) {
    const std::string run = JoinPath(directory_.path(), "r");
    ASSIGN_OR_RETURN(const Progress progress, ReadProgress(run));
    return CurveReader::Make(run, progress.epochs, {fields, points_max});
  }

  StatusOr<Curves> Read(const std::vector<std::string>& fields, int points_max = 0) {
    ASSIGN_OR_RETURN(CurveReader reader, Open(fields, points_max));
    return Drain(reader);
  }

  StatusOr<Curves> Drain(CurveReader& reader) {
    Curves curves;
    pages_ = 0;
    while (!reader.complete()) {
      ASSIGN_OR_RETURN(const std::vector<CurvePage> pages, reader.Read());
      for (const CurvePage& page : pages) {
        ++pages_;
        EXPECT_FALSE(page.points.empty());
        EXPECT_LE(page.points.size(), static_cast<size_t>(kCurvePageRecords));
        auto& curve = curves[page.field];
        curve.insert(curve.end(), page.points.begin(), page.points.end());
      }
    }
    return curves;
  }

  TemporaryDirectory directory_;
  int pages_ = 0;
};

TEST_F(CurveReaderTest, ReadsEachStepOnceAsTheNewestEpochCommittedIt) {
  Append(1, 1, 1000);
  Append(2, 501, 600);
  Append(3, 551, 1500);
  const auto curves = Read({"loss", "val_loss"});
  ASSERT_TRUE(curves.ok()) << curves.status();
  const std::vector<CurvePoint>& loss = curves->at("loss");
  ASSERT_EQ(static_cast<int>(loss.size()), 1500);
  for (int i = 0; i < 1500; ++i) EXPECT_EQ(loss[i].step, i + 1);
  EXPECT_DOUBLE_EQ(loss[499].value, 500.1);
  EXPECT_DOUBLE_EQ(loss[520].value, 521.2);
  EXPECT_DOUBLE_EQ(loss[1400].value, 1401.3);
  EXPECT_EQ(loss[1400].tokens, 14'010);
  // Steps that were taken twice count twice, the time between two epochs does not count.
  EXPECT_DOUBLE_EQ(loss[1400].seconds, 499.5 + 49.5 + 425);
  EXPECT_EQ(curves->at("val_loss").size(), 15u);
  EXPECT_EQ(curves->at("val_loss")[14].step, 1500);
}

TEST_F(CurveReaderTest, ReducesALongCurveAndKeepsItsExtremes) {
  std::vector<contract::TrainingPoint> points;
  for (int64_t step = 1; step <= 40'000; ++step) {
    points.push_back(Point(1, step));
    points.back().loss = step == 12'345 ? 99 : step == 23'456 ? NAN : 3;
  }
  Append(points);
  const auto curves = Read({"loss"}, 500);
  ASSERT_TRUE(curves.ok()) << curves.status();
  const std::vector<CurvePoint>& loss = curves->at("loss");
  EXPECT_LE(static_cast<int>(loss.size()), 510);
  EXPECT_EQ(loss[0].step, 1);
  EXPECT_EQ(loss.back().step, 40'000);
  bool has_peak = false;
  bool has_gap = false;
  for (int i = 0; i < static_cast<int>(loss.size()); ++i) {
    has_peak = has_peak || (loss[i].step == 12'345 && loss[i].value == 99);
    has_gap = has_gap || (loss[i].step == 23'456 && std::isnan(loss[i].value));
  }
  EXPECT_TRUE(has_peak);
  EXPECT_TRUE(has_gap);
}

TEST_F(CurveReaderTest, ReadsALongCurveInBoundedPages) {
  Append(1, 1, 2 * kCurvePageRecords + 1);
  const auto curves = Read({"loss"});
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->at("loss").size(), 2u * kCurvePageRecords + 1);
  EXPECT_EQ(pages_, 3);
}

TEST_F(CurveReaderTest, StepsNeverFallThoughAnEpochBeginsMeanwhile) {
  Append(1, 1, 100);
  auto reader = Open({"loss"});
  ASSERT_TRUE(reader.ok()) << reader.status();
  Append(2, 51, 60);
  const auto curves = Drain(*reader);
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->at("loss").size(), 100u);
}

TEST_F(CurveReaderTest, ARunWithoutPointsHasNoPages) {
  const auto curves = Read({"loss"}, 100);
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_TRUE(curves->empty());
}

TEST_F(CurveReaderTest, RefusesInvalidRequests) {
  EXPECT_EQ(Read({"los"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({"loss"}, -1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({"loss"}, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({"loss"}, kCurvePointsMax + 1).status().code(), StatusCode::kInvalidArgument);
  std::vector<std::string> many;
  for (size_t i = 0; i <= kCurveFieldsMax; ++i) many.push_back("task/" + std::to_string(i));
  EXPECT_EQ(Read(many).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gp::coordinator
