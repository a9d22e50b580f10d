#include "client/api/run_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "client/fake_run_service.h"

namespace gp::client {
namespace {

using ::testing::ElementsAre;

class RunStreamsTest : public ::testing::Test {
 protected:
  RunStreamsTest() {
    for (const int64_t step : {10, 20, 30}) {
      v1::MetricPoint point;
      point.set_epoch(1);
      point.set_step(step);
      service_.AddPoint(point);
    }
  }

  // The steps of a stream of points, and the status that it ended with.
  std::pair<std::vector<int64_t>, Status> ReadPoints() {
    std::vector<int64_t> steps;
    const auto stream = streams_.Metrics(
        {}, [&steps](const v1::MetricPoint& point) { steps.push_back(point.step()); });
    while (!stream->end()) std::this_thread::yield();
    return {steps, *stream->end()};
  }

  testing::FakeRunService service_;
  RunStreams streams_{service_.address()};
};

TEST_F(RunStreamsTest, PointsComeInTheirOrder) {
  const auto [steps, end] = ReadPoints();
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_THAT(steps, ElementsAre(10, 20, 30));
}

TEST_F(RunStreamsTest, AnOlderCoordinatorIsAskedInItsOwnWayTheSecondTime) {
  service_.SetWithoutPoints();
  EXPECT_EQ(ReadPoints().second.code(), StatusCode::kUnimplemented);
  const auto [steps, end] = ReadPoints();
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_THAT(steps, ElementsAre(10, 20, 30));
}

}  // namespace
}  // namespace gp::client
