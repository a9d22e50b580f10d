#include "coordinator/service/run_streams.h"

#include <gtest/gtest.h>

#include <map>

#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

class NoObserver final : public BatchObserver, public RecordObserver {
 public:
  void OnBatch(const PublishedBatch&) override {}
  void OnRecorded(const RunId&, const Progress&) override {}
};

using Steps = std::vector<int64_t>;

Steps Range(int64_t first, int64_t last) {
  Steps steps;
  for (int64_t step = first; step <= last; ++step) steps.push_back(step);
  return steps;
}

// A run whose restarts repeated steps: epoch 1 took steps 1 to 1000, epoch 2 took 501 to 600, and
// epoch 3 took 551 to 1500.
class MetricsSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Append(1, 1, 1000);
    Append(2, 501, 600);
    Append(3, 551, 1500);
    recorder_.emplace(directory_.path(), RecorderOptions{}, observer_);
  }

  void Append(Epoch epoch, int64_t first, int64_t last) {
    auto log = RunLog::Open(JoinPath(directory_.path(), "r"), {});
    ASSERT_TRUE(log.ok()) << log.status();
    std::vector<contract::TrainingPoint> points;
    for (const int64_t step : Range(first, last)) {
      contract::TrainingPoint point;
      point.epoch = epoch;
      point.step = step;
      points.push_back(point);
    }
    ASSERT_TRUE(log->AppendPoints(points).ok());
  }

  std::unique_ptr<StreamSource<v1::MetricPoint>> Open(int64_t after_step, bool follow) {
    v1::MetricsRequest request;
    request.set_after_step(after_step);
    request.set_follow(follow);
    return MakeMetricsSource({reconciler_, *recorder_, store_}, RunId("r"), request);
  }

  // The steps that the source sends until it waits or ends; expects that it stops with `last`.
  static Steps Tell(StreamSource<v1::MetricPoint>& source, Pull last) {
    Steps told;
    v1::MetricPoint point;
    while (true) {
      const StatusOr<Pull> pull = source.Next(point);
      EXPECT_TRUE(pull.ok()) << pull.status();
      if (pull.ok() && *pull == Pull::kMore) continue;
      if (!pull.ok() || *pull != Pull::kMessage) {
        EXPECT_TRUE(pull.ok() && *pull == last);
        return told;
      }
      told.push_back(point.step());
    }
  }

  TemporaryDirectory directory_;
  NoObserver observer_;
  FakeClock clock_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  Reconciler reconciler_{store_, clock_, observer_, Cluster(), {}};
  std::optional<Recorder> recorder_;
};

TEST_F(MetricsSourceTest, TellsEachStepOnceAsTheNewestEpochCommittedIt) {
  const auto source = Open(0, false);
  EXPECT_EQ(Tell(*source, Pull::kEnd), Range(1, 1500));
}

TEST_F(MetricsSourceTest, LeavesOutWhatTheCallerHas) {
  const auto source = Open(700, false);
  EXPECT_EQ(Tell(*source, Pull::kEnd), Range(701, 1500));
}

TEST_F(MetricsSourceTest, FollowsWhatIsNewThoughStepsAreTakenAgain) {
  const auto source = Open(1490, true);
  EXPECT_EQ(Tell(*source, Pull::kWait), Range(1491, 1500));
  EXPECT_EQ(Tell(*source, Pull::kWait), Steps{});
  Append(4, 1400, 1402);
  EXPECT_EQ(Tell(*source, Pull::kWait), Range(1400, 1402));
}

TEST_F(MetricsSourceTest, PointsAreTheSameInFewMessages) {
  v1::MetricsRequest request;
  request.set_after_step(700);
  const auto source = MakePointsSource({reconciler_, *recorder_, store_}, RunId("r"), request);
  Steps told;
  int messages = 0;
  v1::MetricPoints page;
  StatusOr<Pull> pull = source->Next(page);
  for (; pull.ok() && *pull != Pull::kEnd; pull = source->Next(page)) {
    if (*pull != Pull::kMessage) continue;
    ++messages;
    EXPECT_GT(page.points_size(), 0);
    for (const v1::MetricPoint& point : page.points()) told.push_back(point.step());
  }
  EXPECT_TRUE(pull.ok()) << pull.status();
  EXPECT_EQ(told, Range(701, 1500));
  EXPECT_LE(messages, 20);
}

TEST_F(MetricsSourceTest, CurvesAreColumnsOfThePoints) {
  v1::CurvesRequest request;
  request.add_fields("loss");
  request.add_fields("lr");
  const auto source = MakeCurvesSource({reconciler_, *recorder_, store_}, RunId("r"), request);
  std::map<std::string, Steps> told;
  v1::CurvePoints message;
  StatusOr<Pull> pull = source->Next(message);
  for (; pull.ok() && *pull != Pull::kEnd; pull = source->Next(message)) {
    if (*pull != Pull::kMessage) continue;
    EXPECT_EQ(message.values_size(), message.steps_size());
    Steps& steps = told[message.field()];
    steps.insert(steps.end(), message.steps().begin(), message.steps().end());
    message.Clear();
  }
  EXPECT_TRUE(pull.ok()) << pull.status();
  EXPECT_EQ(told, (std::map<std::string, Steps>{{"loss", Range(1, 1500)}, {"lr", Range(1, 1500)}}));
}

TEST_F(MetricsSourceTest, CurvesRefuseAnUnknownField) {
  v1::CurvesRequest request;
  request.add_fields("los");
  const auto source = MakeCurvesSource({reconciler_, *recorder_, store_}, RunId("r"), request);
  v1::CurvePoints message;
  EXPECT_EQ(source->Next(message).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(MetricsSourceTest, EventsBeginBehindTheOneTheCallerHas) {
  const std::vector<Event> life = OneOfEachKind();
  ASSERT_TRUE(store_.Append(life).ok());
  v1::EventsRequest request;
  request.set_after_sequence(life.size() - 2);
  const auto source = MakeEventsSource({reconciler_, *recorder_, store_}, kSampleRun, request);
  std::vector<uint64_t> told;
  v1::RunEvent event;
  StatusOr<Pull> pull = source->Next(event);
  for (; pull.ok() && *pull != Pull::kEnd; pull = source->Next(event)) {
    if (*pull == Pull::kMessage) told.push_back(event.sequence());
  }
  EXPECT_TRUE(pull.ok()) << pull.status();
  EXPECT_EQ(told, (std::vector<uint64_t>{life.size() - 1, life.size()}));
}

}  // namespace
}  // namespace gp::coordinator
