// A real gp-coordinator streams a run's points, lines, events and reasons.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "coordinator/coordinator_fixture.h"

namespace gp::coordinator {
namespace {

class StreamDelivery : public CoordinatorFixture {};

// An agent that reports and sends a point of `run` every 0.4 s, as during training. It runs on its
// own thread.
class BusyAgent {
 public:
  BusyAgent(const CoordinatorProcess& process, const std::string& node, std::string run)
      : agent_(process.address(), process.storage_root(), 0, node), run_(std::move(run)) {
    agent_.Connect();
    thread_ = std::jthread([this](const std::stop_token& stop) { Work(stop); });
  }

 private:
  void Work(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    for (int64_t step = 1; !stop.stop_requested(); ++step) {
      agent_.Report({});
      agent_.Send(ScriptedAgent::MakePoints(run_, static_cast<uint64_t>(step), step, 1));
      never.wait_for(lock, stop, std::chrono::milliseconds(400), [] { return false; });
    }
  }

  ScriptedAgent agent_;
  std::string run_;
  std::jthread thread_;
};

TEST_F(StreamDelivery, StreamsResumeWithoutGapOrDuplicateAcrossAKill) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke("r1");
  agent.StartRanks(2);
  agent.Send(ScriptedAgent::MakePoints(run.run_id(), 1, 1, 10));
  agent.AwaitAck(10);
  Restart();

  ScriptedAgent again(process_.address(), process_.storage_root(), 2);
  again.Connect();
  // After a lost acknowledgement, an agent resends points that are already stored.
  again.Send(ScriptedAgent::MakePoints(run.run_id(), 1, 6, 10));
  again.AwaitAck(10);
  v1::MetricsRequest request;
  request.set_run(run.run_id());
  request.set_after_step(3);
  const auto points = ReadAll<v1::MetricPoint>(&v1::RunService::Stub::Metrics, request);
  ASSERT_EQ(points.size(), 12u);
  for (size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i].step(), 4 + static_cast<int>(i));

  v1::EventsRequest events_request;
  events_request.set_run(run.run_id());
  const auto events = ReadAll<v1::RunEvent>(&v1::RunService::Stub::Events, events_request);
  ASSERT_GE(events.size(), 5u);
  EXPECT_EQ(events[0].kind(), "submitted");
  EXPECT_EQ(events[0].request_id(), "r1");
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_GT(events[i].sequence(), events[i - 1].sequence());
}

TEST_F(StreamDelivery, TellsAgentsHowMuchTelemetryItTakes) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  const v1::CoordinatorMessage answer = agent.Greet(agent.MakeHello());
  EXPECT_EQ(answer.welcome().telemetry_window_bytes(), 1u << 20);
  agent.Send(ScriptedAgent::MakePoints("nobody", 1, 1, 3));
  EXPECT_EQ(agent.AwaitAck(3).window_bytes(), 1u << 20);
}

// The run's log cannot be written, because a directory has its name.
TEST_F(StreamDelivery, ARunWhoseLogCannotBeWrittenIsWarnedAndItsAgentGoesOn) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke("r1");
  agent.StartRanks(2);
  ASSERT_TRUE(MakeDirectories(process_.state_dir() + "/runs/" + run.run_id() + "/points.log").ok());
  agent.Send(ScriptedAgent::MakePoints(run.run_id(), 1, 1, 3));
  agent.AwaitAck(3);
  agent.Send(ScriptedAgent::MakePoints(run.run_id(), 4, 4, 3));
  agent.AwaitAck(6);
  // This answer comes after the earlier messages were handled.
  Cancel(run.run_id());
  const auto warnings = EventsOfKind(run.run_id(), "warned");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("metric points and log lines of this run are lost"),
            std::string::npos);
}

TEST_F(StreamDelivery, LogsAreFollowedToTheEndOfTheRun) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke("r1");
  agent.StartRanks(2);
  v1::Telemetry telemetry;
  telemetry.set_first_sequence(1);
  for (int i = 0; i < 6; ++i) {
    v1::TelemetryItem& item = *telemetry.add_items();
    item.set_run_id(run.run_id());
    item.mutable_line()->set_rank(i % 2);
    item.mutable_line()->set_text("line " + std::to_string(i));
  }
  agent.Send(telemetry);
  agent.AwaitAck(6);
  v1::LogsRequest request;
  request.set_run("smoke");
  request.set_rank(-1);
  request.set_tail(4);
  const auto tail = ReadAll<v1::LogLine>(&v1::RunService::Stub::Logs, request);
  ASSERT_EQ(tail.size(), 4u);
  EXPECT_EQ(tail[0].text(), "line 2");
  EXPECT_EQ(tail[0].sequence(), 3u);

  request.set_tail(0);
  request.set_rank(1);
  request.set_follow(true);
  std::vector<v1::LogLine> followed;
  {
    const std::jthread reader(
        [&] { followed = ReadAll<v1::LogLine>(&v1::RunService::Stub::Logs, request); });
    Cancel(run.run_id());
    agent.AwaitDesired([](const auto& desired) { return desired.assignments(0).stop(); });
    agent.Report({});
  }
  EXPECT_EQ(followed.size(), 3u);
}

TEST_F(StreamDelivery, OnABusyFleetAWatcherSeesAnotherReasonThatIsNoEvent) {
  const v1::Run other = SubmitSmoke("other");
  const BusyAgent one(process_, "busy-1", other.run_id());
  const BusyAgent two(process_, "busy-2", other.run_id());
  const v1::Run run = SubmitSmoke("waits");
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchRequest request;
  request.set_run(run.run_id());
  auto stream = stub_->Watch(&context, request);
  v1::WatchResponse response;
  ASSERT_TRUE(stream->Read(&response));
  const std::string before = response.run().reason();
  ScriptedAgent agent(process_.address(), process_.storage_root(), 1);
  agent.Connect();
  ASSERT_TRUE(stream->Read(&response)) << "it was not told within the deadline";
  EXPECT_NE(response.run().reason(), before);
  context.TryCancel();
}

// `gpctl wait`, `watch` and `logs -f` end when these streams end.
TEST_F(StreamDelivery, OnABusyFleetStreamsEndWithTheirRun) {
  const v1::Run other = SubmitSmoke("other");
  const BusyAgent one(process_, "busy-1", other.run_id());
  const BusyAgent two(process_, "busy-2", other.run_id());
  const v1::Run run = SubmitSmoke("ends");
  v1::LogsRequest logs;
  logs.set_run(run.run_id());
  logs.set_follow(true);
  v1::EventsRequest events;
  events.set_run(run.run_id());
  events.set_follow(true);
  v1::WatchRequest watch;
  watch.set_run(run.run_id());
  std::vector<std::jthread> readers;
  readers.emplace_back([&] { ReadAll<v1::LogLine>(&v1::RunService::Stub::Logs, logs); });
  readers.emplace_back([&] { ReadAll<v1::RunEvent>(&v1::RunService::Stub::Events, events); });
  const auto seen = [&] {
    const std::jthread canceller([&] { Cancel(run.run_id()); });
    return ReadAll<v1::WatchResponse>(&v1::RunService::Stub::Watch, watch);
  }();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().run().state(), v1::RUN_STATE_CANCELLED);
}

}  // namespace
}  // namespace gp::coordinator
