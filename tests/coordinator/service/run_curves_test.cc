#include "coordinator/service/run_curves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

class IgnoringObserver final : public RecordObserver {
 public:
  void OnRecorded(const RunId&, const Progress&) override {}
};

class RunCurvesTest : public ::testing::Test {
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

  void Start() { recorder_.emplace(directory_.path(), RecorderOptions{}, observer_); }

  StatusOr<std::map<std::string, v1::CurvePoints>> Read(const std::vector<std::string>& fields,
                                                        int max_points = 0) {
    if (!recorder_) Start();
    v1::CurvesRequest request;
    for (const std::string& field : fields) request.add_fields(field);
    request.set_max_points(max_points);
    return Drain(*MakeCurvesSource(*recorder_, RunId("r"), request));
  }

  StatusOr<std::map<std::string, v1::CurvePoints>> Drain(StreamSource<v1::CurvePoints>& source) {
    std::map<std::string, v1::CurvePoints> curves;
    messages_ = 0;
    while (true) {
      v1::CurvePoints message;
      ASSIGN_OR_RETURN(const Pull pull, source.Next(message));
      if (pull == Pull::kEnd) return curves;
      if (pull != Pull::kMessage) continue;
      ++messages_;
      EXPECT_LE(message.steps_size(), kCurvePageRecords);
      EXPECT_EQ(message.steps_size(), message.values_size());
      EXPECT_EQ(message.steps_size(), message.tokens_size());
      EXPECT_EQ(message.steps_size(), message.seconds_size());
      curves[message.field()].MergeFrom(message);
    }
  }

  TemporaryDirectory directory_;
  IgnoringObserver observer_;
  std::optional<Recorder> recorder_;
  int messages_ = 0;
};

TEST_F(RunCurvesTest, SendsEachStepOnceAsTheNewestEpochCommittedIt) {
  Append(1, 1, 1000);
  Append(2, 501, 600);
  Append(3, 551, 1500);
  const auto curves = Read({"loss", "val_loss"});
  ASSERT_TRUE(curves.ok()) << curves.status();
  const v1::CurvePoints& loss = curves->at("loss");
  ASSERT_EQ(loss.steps_size(), 1500);
  for (int i = 0; i < 1500; ++i) EXPECT_EQ(loss.steps(i), i + 1);
  EXPECT_DOUBLE_EQ(loss.values(499), 500.1);
  EXPECT_DOUBLE_EQ(loss.values(520), 521.2);
  EXPECT_DOUBLE_EQ(loss.values(1400), 1401.3);
  EXPECT_EQ(loss.tokens(1400), 14'010);
  EXPECT_DOUBLE_EQ(loss.seconds(1400), 700);
  EXPECT_EQ(curves->at("val_loss").steps_size(), 15);
  EXPECT_EQ(curves->at("val_loss").steps(14), 1500);
}

TEST_F(RunCurvesTest, ReducesALongCurveAndKeepsItsExtremes) {
  std::vector<contract::TrainingPoint> points;
  for (int64_t step = 1; step <= 40'000; ++step) {
    points.push_back(Point(1, step));
    points.back().loss = step == 12'345 ? 99 : step == 23'456 ? NAN : 3;
  }
  Append(points);
  const auto curves = Read({"loss"}, 500);
  ASSERT_TRUE(curves.ok()) << curves.status();
  const v1::CurvePoints& loss = curves->at("loss");
  EXPECT_LE(loss.steps_size(), 510);
  EXPECT_EQ(loss.steps(0), 1);
  EXPECT_EQ(loss.steps(loss.steps_size() - 1), 40'000);
  bool has_peak = false;
  bool has_gap = false;
  for (int i = 0; i < loss.steps_size(); ++i) {
    has_peak = has_peak || (loss.steps(i) == 12'345 && loss.values(i) == 99);
    has_gap = has_gap || (loss.steps(i) == 23'456 && std::isnan(loss.values(i)));
  }
  EXPECT_TRUE(has_peak);
  EXPECT_TRUE(has_gap);
}

TEST_F(RunCurvesTest, SendsALongCurveInBoundedMessages) {
  Append(1, 1, 2 * kCurvePageRecords + 1);
  const auto curves = Read({"loss"});
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->at("loss").steps_size(), 2 * kCurvePageRecords + 1);
  EXPECT_EQ(messages_, 3);
}

TEST_F(RunCurvesTest, StepsNeverFallThoughAnEpochBeginsMeanwhile) {
  Append(1, 1, 100);
  Start();
  v1::CurvesRequest request;
  request.add_fields("loss");
  const auto source = MakeCurvesSource(*recorder_, RunId("r"), request);
  Append(2, 51, 60);
  const auto curves = Drain(*source);
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->at("loss").steps_size(), 100);
}

TEST_F(RunCurvesTest, ARunWithoutPointsHasNoMessages) {
  const auto curves = Read({"loss"}, 100);
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_TRUE(curves->empty());
}

TEST_F(RunCurvesTest, RefusesInvalidRequests) {
  EXPECT_EQ(Read({"los"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({"loss"}, -1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({"loss"}, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Read({"loss"}, kCurvePointsMax + 1).status().code(), StatusCode::kInvalidArgument);
  std::vector<std::string> many;
  for (int i = 0; i <= kCurveFieldsMax; ++i) many.push_back("task/" + std::to_string(i));
  EXPECT_EQ(Read(many).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gp::coordinator
