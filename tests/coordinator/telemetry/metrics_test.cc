#include "coordinator/telemetry/metrics.h"

#include <gtest/gtest.h>

#include <sstream>

#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "fakes/fake_clock.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

// The value of a series in the exposition text; empty if it is absent.
std::string ValueOf(const CoordinatorMetrics& metrics, const std::string& series) {
  std::istringstream lines(metrics.Text());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "";
}

// A cordoned or drained node counts neither as lost nor as free.
TEST(CoordinatorMetrics, CountNodesWithACordonApart) {
  FakeClock clock;
  CoordinatorMetrics metrics("1", clock, Policy());
  Cluster cluster;
  const auto publish = [&](Event event) {
    event.at = At(7);
    cluster.now = clock.Now();
    ASSERT_TRUE(Apply(event, cluster).ok());
    metrics.Published(std::make_shared<const Cluster>(cluster), {{cluster.last_sequence, event}});
  };
  const auto nodes = [&metrics](const std::string& state) {
    return ValueOf(metrics, "gp_coordinator_workers{state=\"" + state + "\"}");
  };
  NodeConnected hello;
  hello.node = NodeId("n");
  hello.name = "a";
  hello.session = 1;
  hello.slots = {{SlotId("s0"), "cpu", {0}, 0}, {SlotId("s1"), "GPU-1", {1}, 0}};
  publish({.body = hello});
  EXPECT_EQ(nodes("ready"), "1");
  publish({.body = NodeCordoned{NodeId("n"), "a", false, ""}});
  EXPECT_EQ(nodes("cordoned"), "1");
  EXPECT_EQ(nodes("ready"), "0");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_slots{state=\"cordoned\"}"), "2");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_slots{state=\"free\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_gpus{state=\"cordoned\"}"), "1");
  publish({.body = NodeCordoned{NodeId("n"), "a", true, ""}});
  publish({.body = NodeDisconnected{NodeId("n"), 1}});
  EXPECT_EQ(nodes("drained"), "1");
  EXPECT_EQ(nodes("lost"), "0");
  publish({.body = NodeUncordoned{NodeId("n")}});
  EXPECT_EQ(nodes("lost"), "1");
}

// The TCP connection of a silent node stays up for long, and nothing else changes the published
// cluster.
TEST(CoordinatorMetrics, ASilentNodeIsLostAtTheScrapeAfterItsLease) {
  FakeClock clock;
  const Policy policy;
  CoordinatorMetrics metrics("1", clock, policy);
  Cluster cluster;
  NodeConnected hello;
  hello.node = NodeId("n");
  hello.name = "a";
  hello.slots = {{SlotId("s0"), "cpu", {0}, 0}};
  for (const Event& event : {Event{.body = Tick{clock.Now()}}, Event{.body = hello}}) {
    ASSERT_TRUE(Apply(event, cluster).ok());
  }
  metrics.Published(std::make_shared<const Cluster>(cluster), {});
  clock.Advance(policy.lease);
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_workers{state=\"ready\"}"), "1");
  clock.Advance(seconds(1));
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_workers{state=\"lost\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_workers{state=\"ready\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_slots{state=\"free\"}"), "0");
}

TEST(CoordinatorMetrics, ASlotWithAProblemIsUnusableAndNotFree) {
  FakeClock clock;
  CoordinatorMetrics metrics("1", clock, Policy());
  Cluster cluster;
  NodeConnected hello;
  hello.node = NodeId("n");
  hello.name = "a";
  hello.slots = {{SlotId("s0"), "cpu", {0}, 0},
                 {SlotId("s1"), "cpu", {1}, 0},
                 {SlotId("s2"), "GPU-1", {2}, 0}};
  hello.slots[1].problem = "core 1 is offline";
  const auto slots = [&metrics](const std::string& state) {
    return ValueOf(metrics, "gp_coordinator_slots{state=\"" + state + "\"}");
  };
  const auto publish = [&] {
    ASSERT_TRUE(Apply({.at = At(7), .body = hello}, cluster).ok());
    cluster.leases_from = clock.Now();
    metrics.Published(std::make_shared<const Cluster>(cluster), {});
  };
  publish();
  EXPECT_EQ(slots("free"), "2");
  EXPECT_EQ(slots("unusable"), "1");
  hello.storage_problem = "it sees another storage root";
  publish();
  EXPECT_EQ(slots("free"), "0");
  EXPECT_EQ(slots("unusable"), "3");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_gpus{state=\"unusable\"}"), "1");
}

TEST(CoordinatorMetrics, FollowARunAndForgetItWhenItEnds) {
  FakeClock clock;
  CoordinatorMetrics metrics("1", clock, Policy());
  Cluster cluster;
  std::vector<StoredEvent> events;
  for (const Event& event : OneOfEachKind()) {
    if (std::holds_alternative<CancelRequested>(event.body)) break;
    ASSERT_TRUE(Apply(event, cluster).ok());
    events.push_back({cluster.last_sequence, event});
  }
  metrics.Published(std::make_shared<const Cluster>(cluster), events);
  Progress progress;
  contract::TrainingPoint point;
  point.step = 12;
  point.loss = 3.25;
  point.validation_loss = 3.5;
  point.target_steps = 40;
  point.peak_flops = 4.6e11;
  point.peak_source = "measured";
  point.processor_wait = 0.125;
  point.phases.backward = 0.25;
  point.skipped = true;
  point.scores = {{"val_bpb", 2.5}};
  progress.Add(point);
  point.spike = true;
  progress.Add(point);
  metrics.Recorded(RunId("r"), progress);
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_runs{state=\"finishing\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_runs{state=\"queued\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "gp_run_step{run=\"r\"}"), "12");
  EXPECT_EQ(ValueOf(metrics, "gp_train_loss{run=\"r\"}"), "3.25");
  EXPECT_EQ(ValueOf(metrics, "gp_run_target_steps{run=\"r\"}"), "40");
  EXPECT_EQ(ValueOf(metrics, "gp_run_peak_flops{run=\"r\",source=\"measured\"}"), "460000000000");
  EXPECT_EQ(ValueOf(metrics, "gp_run_step_phase_seconds{phase=\"backward\",run=\"r\"}"), "0.25");
  EXPECT_EQ(ValueOf(metrics, "gp_run_step_phase_seconds{phase=\"forward\",run=\"r\"}"), "0");
  EXPECT_EQ(ValueOf(metrics, "gp_run_processor_wait_ratio{run=\"r\"}"), "0.125");
  EXPECT_EQ(ValueOf(metrics, "gp_train_skipped_steps_total{reason=\"nonfinite\",run=\"r\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "gp_train_skipped_steps_total{reason=\"spike\",run=\"r\"}"), "1");
  EXPECT_EQ(ValueOf(metrics, "gp_eval_loss{run=\"r\",split=\"val\"}"), "3.5");
  EXPECT_EQ(ValueOf(metrics, "gp_eval_score{run=\"r\",score=\"val_bpb\"}"), "2.5");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_run_restarts_total{reason=\"signal\"}"), "1");

  const Event end{RunId("r"), At(9), "scheduler", "", RunEnded{RunState::kSucceeded, "done"}};
  ASSERT_TRUE(Apply(end, cluster).ok());
  metrics.Published(std::make_shared<const Cluster>(cluster), {{cluster.last_sequence, end}});
  metrics.Recorded(RunId("r"), progress);
  EXPECT_EQ(metrics.Text().find("run=\"r\""), std::string::npos);
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_runs_finished_total{outcome=\"succeeded\"}"), "1");
}

// Names chosen by users must not end a label, a line or the page.
TEST(CoordinatorMetrics, NamesThatUsersChoseCannotForgeASeries) {
  FakeClock clock;
  CoordinatorMetrics metrics("1", clock, Policy());
  Cluster cluster;
  Event submit = SampleSubmit("r", "request-1");
  submit.actor = "user eve\"} 1\ngp_forged 1";
  Submission& submission = std::get<RunSubmitted>(submit.body).submission;
  submission.name = "a\\";
  submission.dataset = std::string("b\0c\r\xff", 5) + std::string(10'000, 'x');
  submission.model = "\xc3\xa9t\xc3\xa9";
  ASSERT_TRUE(Apply(submit, cluster).ok());
  metrics.Published(std::make_shared<const Cluster>(cluster), {{cluster.last_sequence, submit}});
  EXPECT_EQ(ValueOf(metrics, "gp_run_info{dataset=\"b?c??" + std::string(115, 'x') +
                                 "\",model=\"\xc3\xa9t\xc3\xa9\",name=\"a\\\\\",namespace="
                                 "\"team\",precision=\"bf16\",run=\"r\",user=\"eve\\\"} 1?"
                                 "gp_forged 1\",world_size=\"2\"}"),
            "1");
  EXPECT_EQ(ValueOf(metrics, "gp_forged"), "");
}

// A run in epoch 2, whose first epoch failed after 100 seconds of steps.
class RunHistory {
 public:
  explicit RunHistory(Timestamp submitted) : submitted_(submitted) {
    const std::vector<Placement> placement = {{0, NodeId("n"), SlotId("s0")}};
    Event submit = SampleSubmit("r", "request-1");
    submit.at = submitted;
    events_.push_back(submit);
    Add(10, RunQueued{"needs a slot"});
    Add(30, RunPlaced{1, placement, "it fits", -1, 2, "avx2", Device::kCpu});
    Add(31, RunGroupReady{1, {"h:1"}, "nonce", "avx2", {}});
    Add(35, RunStarted{1});
    Add(135, RankFailed{1, 0, ExitCause::kSignal, "killed", true, submitted + seconds(136)});
    Add(137, RunPlaced{2, placement, "it fits", -1, 2, "avx2", Device::kCpu});
    Add(138, RunGroupReady{2, {"h:1"}, "nonce", "avx2", {}});
    Add(140, RunStarted{2});
  }

  const std::vector<Event>& events() const { return events_; }
  Timestamp submitted() const { return submitted_; }

  void Add(int second, EventBody body) {
    events_.push_back({RunId("r"), submitted_ + seconds(second), "scheduler", "", std::move(body)});
  }

  // Epoch 1 committed 10 steps. Epoch 2 starts again at the first step and takes one every 10
  // seconds.
  Progress ProgressAt(int64_t steps_again) const {
    Progress progress;
    for (int64_t step = 1; step <= 10; ++step) progress.Add(PointOf(1, step, 35));
    for (int64_t step = 1; step <= steps_again; ++step) progress.Add(PointOf(2, step, 140));
    return progress;
  }

 private:
  contract::TrainingPoint PointOf(Epoch epoch, int64_t step, int64_t begin) const {
    contract::TrainingPoint point;
    point.epoch = epoch;
    point.step = step;
    point.at_us = (submitted_ + seconds(begin + 10 * step)).time_since_epoch().count();
    point.step_seconds = 10;
    point.tokens_per_second = 100;
    return point;
  }

  Timestamp submitted_;
  std::vector<Event> events_;
};

class RunTimeTest : public ::testing::Test {
 protected:
  void Publish(CoordinatorMetrics& metrics) {
    for (const Event& event : history_.events()) {
      ASSERT_TRUE(Apply(event, cluster_).ok());
      metrics.Published(std::make_shared<const Cluster>(cluster_),
                        {{cluster_.last_sequence, event}});
    }
    ASSERT_TRUE(store_.Append(history_.events()).ok());
  }
  static std::string Time(const CoordinatorMetrics& metrics, const std::string& state) {
    return ValueOf(metrics, "gp_run_time_seconds_total{run=\"r\",state=\"" + state + "\"}");
  }

  FakeClock clock_;
  RunHistory history_{clock_.WallNow()};
  Cluster cluster_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
};

TEST_F(RunTimeTest, SaysWhatEverySecondSinceTheSubmitWentOn) {
  CoordinatorMetrics metrics("1", clock_, Policy());
  Publish(metrics);
  metrics.Recorded(RunId("r"), history_.ProgressAt(10));
  clock_.Advance(seconds(300));
  EXPECT_EQ(Time(metrics, "queued"), "30");
  EXPECT_EQ(Time(metrics, "starting"), "8");
  EXPECT_EQ(Time(metrics, "waiting"), "2");
  EXPECT_EQ(Time(metrics, "redone"), "100");
  EXPECT_EQ(Time(metrics, "productive"), "160");
}

TEST_F(RunTimeTest, GoesOnBetweenEventsAndCountsRedoneStepsUntilTheRunCaughtUp) {
  CoordinatorMetrics metrics("1", clock_, Policy());
  Publish(metrics);
  metrics.Recorded(RunId("r"), history_.ProgressAt(1));
  clock_.Advance(seconds(150));
  EXPECT_EQ(Time(metrics, "redone"), "10");
  clock_.Advance(seconds(7));
  EXPECT_EQ(Time(metrics, "redone"), "17");
  EXPECT_EQ(Time(metrics, "productive"), "100");
}

TEST_F(RunTimeTest, IsTheSameAfterTheCoordinatorRestarts) {
  CoordinatorMetrics before("1", clock_, Policy());
  Publish(before);
  before.Recorded(RunId("r"), history_.ProgressAt(10));
  clock_.Advance(seconds(300));
  CoordinatorMetrics after("1", clock_, Policy());
  ASSERT_TRUE(after.Started(cluster_, store_).ok());
  after.Recorded(RunId("r"), history_.ProgressAt(10));
  for (const char* state : {"queued", "starting", "waiting", "redone", "productive"}) {
    EXPECT_EQ(Time(after, state), Time(before, state)) << state;
  }
  EXPECT_EQ(ValueOf(after, "gp_train_steps_total{run=\"r\"}"), "20");
  EXPECT_EQ(ValueOf(after, "gp_train_tokens_total{run=\"r\"}"), "20000");
  EXPECT_EQ(ValueOf(after, "gp_run_failures_total{run=\"r\"}"), "1");
  EXPECT_EQ(ValueOf(after, "gp_run_epoch{run=\"r\"}"), "2");
}

TEST_F(RunTimeTest, TheEndIsEstimatedFromThePaceOfTheNewestEpoch) {
  CoordinatorMetrics metrics("1", clock_, Policy());
  Publish(metrics);
  Progress progress = history_.ProgressAt(4);
  progress.newest->target_steps = 10;
  metrics.Recorded(RunId("r"), progress);
  const std::string series = "gp_run_estimated_completion_timestamp_seconds{run=\"r\"}";
  const std::chrono::duration<double> end =
      (history_.submitted() + seconds(240)).time_since_epoch();
  EXPECT_DOUBLE_EQ(std::stod(ValueOf(metrics, series)), end.count());

  const Event failed{RunId("r"), At(9), "scheduler", "",
                     RankFailed{2, 0, ExitCause::kSignal, "killed", true, At(10)}};
  ASSERT_TRUE(Apply(failed, cluster_).ok());
  metrics.Published(std::make_shared<const Cluster>(cluster_), {{cluster_.last_sequence, failed}});
  metrics.Recorded(RunId("r"), progress);
  EXPECT_EQ(ValueOf(metrics, series), "") << "no rank takes steps";
}

TEST_F(RunTimeTest, NeverFallsWhenTheClockIsSetBack) {
  CoordinatorMetrics metrics("1", clock_, Policy());
  Publish(metrics);
  clock_.Advance(seconds(200));
  const std::string before = Time(metrics, "productive");
  clock_.StepWall(-seconds(100));
  EXPECT_EQ(Time(metrics, "productive"), before);
}

TEST_F(RunTimeTest, RecoveryIsMeasuredOnceUntilTheFirstStepAfterTheFailure) {
  CoordinatorMetrics metrics("1", clock_, Policy());
  Publish(metrics);
  metrics.Recorded(RunId("r"), history_.ProgressAt(0));
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_run_recovery_seconds_count"), "0");
  metrics.Recorded(RunId("r"), history_.ProgressAt(1));
  metrics.Recorded(RunId("r"), history_.ProgressAt(2));
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_run_recovery_seconds_count"), "1");
  EXPECT_EQ(ValueOf(metrics, "gp_coordinator_run_recovery_seconds_sum"), "15");
}

TEST(CoordinatorMetrics, ARunsSealedCheckpointIsKnownAfterARestart) {
  Cluster cluster;
  MemoryStore::Disk disk;
  MemoryStore store(disk);
  std::vector<Event> events;
  for (const Event& event : OneOfEachKind()) {
    ASSERT_TRUE(Apply(event, cluster).ok());
    events.push_back(event);
    if (std::holds_alternative<CheckpointSealed>(event.body)) break;
  }
  ASSERT_TRUE(store.Append(events).ok());
  FakeClock clock;
  CoordinatorMetrics metrics("1", clock, Policy());
  ASSERT_TRUE(metrics.Started(cluster, store).ok());
  EXPECT_EQ(ValueOf(metrics, "gp_checkpoint_size_bytes{run=\"r\"}"), "12345");
  EXPECT_NE(ValueOf(metrics, "gp_checkpoint_last_success_timestamp_seconds{run=\"r\"}"), "");
}

TEST(CoordinatorMetrics, CountCallsByCodeAndTimeThoseThatDoNotStream) {
  FakeClock clock;
  CoordinatorMetrics metrics("1", clock, Policy());
  metrics.CallEnded({.service = "gp.v1.RunService",
                     .method = "Submit",
                     .code = grpc::StatusCode::NOT_FOUND,
                     .seconds = 0.5});
  metrics.CallEnded({.service = "gp.v1.RunService", .method = "Watch", .streams = true});
  const std::string submit = "grpc_method=\"Submit\",grpc_service=\"gp.v1.RunService\"}";
  EXPECT_EQ(ValueOf(metrics, "grpc_server_handled_total{grpc_code=\"NotFound\"," + submit), "1");
  EXPECT_EQ(ValueOf(metrics, "grpc_server_handling_seconds_sum{" + submit), "0.5");
  EXPECT_EQ(metrics.Text().find("handling_seconds_sum{grpc_method=\"Watch\""), std::string::npos);
}

TEST(CoordinatorMetrics, TheListNamesThoseOfRunsToo) {
  const std::string list = CoordinatorMetrics::List("1");
  for (const char* name :
       {"gp_build_info", "gp_coordinator_runs", "gp_run_mfu", "gp_train_loss", "gp_eval_loss",
        "gp_eval_score", "gp_coordinator_run_restarts_total",
        "gp_checkpoint_last_success_timestamp_seconds", "gp_checkpoint_size_bytes",
        "gp_run_time_seconds_total", "grpc_server_handled_total", "grpc_server_handling_seconds"}) {
    EXPECT_NE(list.find(std::string("# TYPE ") + name + " "), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace gp::coordinator
