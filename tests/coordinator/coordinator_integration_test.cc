// A real gp-coordinator, spoken to over gRPC by a scripted agent and a user.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/eventually.h"
#include "base/file.h"
#include "coordinator/coordinator_process.h"
#include "coordinator/scripted_agent.h"
#include "coordinator/temporary_directory.h"
#include "formats/sample_checkpoint.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

constexpr const char* kRunFile = R"(apiVersion: gp/v1
name: smoke
model: {n_layer: 2, n_head: 2, n_embd: 32, n_ctx: 32}
data: {text: [/data/text.txt], tokenizer: bytes}
resources: {workers: 2}
batch: {micro_batch: 4, sequence: 32}
budget: {steps: 20}
)";

using Ranks = std::vector<v1::RankStatus>;

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
}

Status Submit(v1::RunService::Stub& stub, const v1::SubmitRequest& request,
              v1::SubmitResponse& response) {
  grpc::ClientContext context;
  SetDeadline(context);
  return rpc::FromGrpc(stub.Submit(&context, request, &response));
}

v1::SubmitRequest MakeRequest(const std::string& request_id) {
  v1::SubmitRequest request;
  request.set_request_id(request_id);
  request.set_source(kRunFile);
  request.set_source_name("smoke.yaml");
  return request;
}

v1::Run SubmitSmoke(v1::RunService::Stub& stub, const std::string& request_id) {
  v1::SubmitResponse response;
  const Status status = Submit(stub, MakeRequest(request_id), response);
  EXPECT_TRUE(status.ok()) << status;
  return response.run();
}

v1::Run Get(v1::RunService::Stub& stub, const std::string& run) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetRequest request;
  request.set_run(run);
  v1::Run response;
  const grpc::Status status = stub.Get(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

// Follows the run until `wanted`.
v1::Run Await(v1::RunService::Stub& stub, const std::string& run,
              const std::function<bool(const v1::Run&)>& wanted) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchRequest request;
  request.set_run(run);
  auto stream = stub.Watch(&context, request);
  v1::WatchResponse response;
  while (stream->Read(&response)) {
    if (!wanted(response.run())) continue;
    context.TryCancel();
    return response.run();
  }
  ADD_FAILURE() << "the run did not get there: " << stream->Finish().error_message()
                << "; last seen " << response.run().DebugString();
  return response.run();
}

template <typename Response, typename Request, typename Call>
std::vector<Response> ReadAll(v1::RunService::Stub& stub, Call call, const Request& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = (stub.*call)(&context, request);
  std::vector<Response> all;
  Response one;
  while (stream->Read(&one)) all.push_back(one);
  const grpc::Status status = stream->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return all;
}

bool HasMembership(const v1::DesiredState& desired) {
  return desired.assignments_size() > 0 && desired.assignments(0).has_membership();
}
bool HasGo(const v1::DesiredState& desired) {
  return desired.assignments_size() > 0 && desired.assignments(0).go();
}

Ranks StatusesOf(const v1::DesiredState& desired, v1::RankPhase phase) {
  Ranks ranks;
  for (const v1::Assignment& assignment : desired.assignments()) {
    ranks.push_back(ScriptedAgent::StatusOf(assignment, phase));
  }
  return ranks;
}

// Takes the assigned ranks to RUNNING.
v1::DesiredState StartRanks(ScriptedAgent& agent, int count) {
  v1::DesiredState desired = agent.AwaitDesired(
      [&](const auto& candidate) { return candidate.assignments_size() == count; });
  agent.Report(StatusesOf(desired, v1::RANK_PHASE_LISTENING));
  desired = agent.AwaitDesired(HasMembership);
  agent.Report(StatusesOf(desired, v1::RANK_PHASE_READY));
  desired = agent.AwaitDesired(HasGo);
  agent.Report(StatusesOf(desired, v1::RANK_PHASE_RUNNING));
  return desired;
}

class Coordinator : public ::testing::Test {
 protected:
  void SetUp() override {
    process_.Start();
    stub_ = process_.NewStub();
  }
  void Restart() {
    process_.Kill();
    process_.Start();
    stub_ = process_.NewStub();
  }

  TemporaryDirectory directory_;
  CoordinatorProcess process_{directory_.path()};
  std::unique_ptr<v1::RunService::Stub> stub_;
};

v1::Telemetry MakePoints(const std::string& run, uint64_t first_sequence, int64_t first_step,
                         int count) {
  v1::Telemetry telemetry;
  telemetry.set_first_sequence(first_sequence);
  for (int i = 0; i < count; ++i) {
    v1::TelemetryItem& item = *telemetry.add_items();
    item.set_run_id(run);
    item.mutable_point()->set_step(first_step + i);
    item.mutable_point()->set_epoch(1);
    item.mutable_point()->set_loss(5.5 - 0.1 * i);
  }
  return telemetry;
}

// What the events of one kind say.
std::vector<std::string> EventsOfKind(v1::RunService::Stub& stub, const std::string& run,
                                      const std::string& kind) {
  v1::EventsRequest request;
  request.set_run(run);
  std::vector<std::string> reasons;
  for (const auto& event : ReadAll<v1::RunEvent>(stub, &v1::RunService::Stub::Events, request)) {
    if (event.kind() == kind) reasons.push_back(event.reason());
  }
  return reasons;
}

v1::WrittenCheckpoint MakeFinal(const v1::Run& run) {
  v1::WrittenCheckpoint written;
  written.set_step(20);
  written.set_directory(run.run_directory() + "/checkpoints/step-00000020-e1-abc");
  written.set_manifest_digest("d1");
  written.set_size_bytes(100);
  written.set_validation_loss(3.5);
  written.set_final(true);
  return written;
}

TEST_F(Coordinator, TakesARunFromSubmitToASealedCheckpoint) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  const v1::DesiredState desired = StartRanks(agent, 2);
  EXPECT_EQ(desired.assignments(0).membership().addresses_size(), 2);
  EXPECT_EQ(desired.assignments(0).membership().secret().size(), 64u);
  EXPECT_EQ(desired.assignments(0).choices().logical_shards(), 2);
  v1::Telemetry telemetry = MakePoints(run.run_id(), 1, 1, 20);
  telemetry.mutable_items(0)->mutable_point()->set_warning("the first loss is far from ln V");
  agent.Send(telemetry);
  agent.AwaitAck(20);
  agent.Send(telemetry);  // as after a lost acknowledgement

  Ranks ranks = StatusesOf(desired, v1::RANK_PHASE_FINISHED);
  *ranks[0].add_written() = MakeFinal(run);
  agent.Report(ranks);
  agent.AwaitDesired(
      [](const auto& candidate) { return candidate.assignments(0).sealed_steps_size() == 1; });
  for (v1::RankStatus& rank : ranks) {
    rank.clear_written();
    rank.set_phase(v1::RANK_PHASE_EXITED);
    rank.set_exit_cause(v1::EXIT_CAUSE_COMPLETED);
  }
  agent.Report(ranks);
  agent.AwaitDesired([](const auto& candidate) { return candidate.assignments().empty(); });

  const v1::Run ended = Get(*stub_, "smoke");
  EXPECT_EQ(ended.state(), v1::RUN_STATE_SUCCEEDED) << ended.reason();
  EXPECT_EQ(ended.progress().step(), 20);
  EXPECT_EQ(ended.latest_checkpoint_step(), 20);
  EXPECT_TRUE(FileExists(ended.run_directory() + "/run.yaml"));
  EXPECT_EQ(EventsOfKind(*stub_, run.run_id(), "warned"),
            (std::vector<std::string>{"step 1: the first loss is far from ln V"}));
}

TEST_F(Coordinator, StreamsResumeWithoutGapOrDuplicateAcrossAKill) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  StartRanks(agent, 2);
  agent.Send(MakePoints(run.run_id(), 1, 1, 10));
  agent.AwaitAck(10);
  Restart();

  ScriptedAgent again(process_.address(), process_.storage_root(), 2);
  again.Connect();
  // The acknowledgement might have been lost: the agent repeats what was kept already.
  again.Send(MakePoints(run.run_id(), 1, 6, 10));
  again.AwaitAck(10);
  v1::MetricsRequest request;
  request.set_run(run.run_id());
  request.set_after_step(3);
  const auto points = ReadAll<v1::MetricPoint>(*stub_, &v1::RunService::Stub::Metrics, request);
  ASSERT_EQ(points.size(), 12u);
  for (size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i].step(), 4 + static_cast<int>(i));

  v1::EventsRequest events_request;
  events_request.set_run(run.run_id());
  const auto events = ReadAll<v1::RunEvent>(*stub_, &v1::RunService::Stub::Events, events_request);
  ASSERT_GE(events.size(), 5u);
  EXPECT_EQ(events[0].kind(), "submitted");
  EXPECT_EQ(events[0].request_id(), "r1");
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_GT(events[i].sequence(), events[i - 1].sequence());
}

TEST_F(Coordinator, TellsAgentsHowMuchTelemetryItTakes) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  const v1::CoordinatorMessage answer = agent.Greet(agent.MakeHello());
  EXPECT_EQ(answer.welcome().telemetry_window_bytes(), 1u << 20);
  agent.Send(MakePoints("nobody", 1, 1, 3));
  EXPECT_EQ(agent.AwaitAck(3).window_bytes(), 1u << 20);
}

// A directory stands where the run's log should be.
TEST_F(Coordinator, ARunWhoseLogCannotBeWrittenIsWarnedAndItsAgentGoesOn) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  StartRanks(agent, 2);
  ASSERT_TRUE(MakeDirectories(process_.state_dir() + "/runs/" + run.run_id() + "/points.log").ok());
  agent.Send(MakePoints(run.run_id(), 1, 1, 3));
  agent.AwaitAck(3);
  agent.Send(MakePoints(run.run_id(), 4, 4, 3));
  agent.AwaitAck(6);
  // Answered after what was told before it.
  grpc::ClientContext context;
  v1::CancelRequest cancel;
  cancel.set_run(run.run_id());
  v1::Run cancelled;
  ASSERT_TRUE(stub_->Cancel(&context, cancel, &cancelled).ok());
  const auto warnings = EventsOfKind(*stub_, run.run_id(), "warned");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("points and lines of this run are lost"), std::string::npos);
}

TEST_F(Coordinator, ARunningRunGoesOnWhenItsAgentReattachesAfterAKill) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  const v1::DesiredState desired = StartRanks(agent, 2);
  Restart();
  ScriptedAgent again(process_.address(), process_.storage_root(), 2);
  again.Connect(StatusesOf(desired, v1::RANK_PHASE_RUNNING));
  const v1::DesiredState same = again.AwaitDesired(HasGo);
  EXPECT_EQ(same.assignments(0).epoch(), 1u);
  EXPECT_EQ(same.assignments(0).membership().secret(),
            desired.assignments(0).membership().secret());
  EXPECT_EQ(Get(*stub_, run.run_id()).state(), v1::RUN_STATE_RUNNING);
}

TEST_F(Coordinator, ADeadTrainerLeadsToTheNextEpochFromTheNewestSealedCheckpoint) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  const v1::DesiredState desired = StartRanks(agent, 2);
  Ranks ranks = StatusesOf(desired, v1::RANK_PHASE_RUNNING);
  *ranks[0].add_written() = MakeFinal(run);
  ranks[0].mutable_written(0)->set_step(10);
  ranks[0].mutable_written(0)->set_final(false);
  agent.Report(ranks);
  agent.AwaitDesired(
      [](const auto& candidate) { return candidate.assignments(0).sealed_steps_size() == 1; });
  ranks[1].set_phase(v1::RANK_PHASE_EXITED);
  ranks[1].set_exit_cause(v1::EXIT_CAUSE_SIGNAL);
  ranks[1].set_message("killed by signal 9");
  agent.Report(ranks);
  agent.AwaitDesired([](const auto& candidate) { return candidate.assignments().empty(); });
  agent.Report({});
  const v1::DesiredState next =
      agent.AwaitDesired([](const auto& candidate) { return candidate.assignments_size() == 2; });
  EXPECT_EQ(next.assignments(0).epoch(), 2u);
  EXPECT_EQ(next.assignments(0).resume().step(), 10);
  EXPECT_EQ(Get(*stub_, run.run_id()).failures(), 1);
}

v1::CheckpointsResponse Checkpoints(v1::RunService::Stub& stub, const std::string& run) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CheckpointsRequest request;
  request.set_run(run);
  v1::CheckpointsResponse response;
  const grpc::Status status = stub.Checkpoints(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

StatusCode Restore(v1::RunService::Stub& stub, const std::string& run, int64_t step) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::RestoreCheckpointRequest request;
  request.set_run(run);
  request.set_step(step);
  v1::Checkpoint response;
  const Status status = rpc::FromGrpc(stub.RestoreCheckpoint(&context, request, &response));
  EXPECT_EQ(response.step(), status.ok() ? step : 0) << status;
  return status.code();
}

void ReportExit(ScriptedAgent& agent, const v1::DesiredState& desired, v1::ExitCause cause) {
  Ranks ranks = StatusesOf(desired, v1::RANK_PHASE_EXITED);
  for (v1::RankStatus& rank : ranks) rank.set_exit_cause(cause);
  agent.Report(ranks);
  agent.AwaitDesired([](const auto& candidate) { return candidate.assignments().empty(); });
  agent.Report({});
}

// Directories are renamed on a thread of their own.
bool Appears(const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!FileExists(path) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  return FileExists(path);
}

// A run whose epoch 2 has begun at the checkpoint of step 10, which is on disk.
struct ResumedRun {
  v1::Run run;
  std::string checkpoint;
  v1::DesiredState desired;
};

ResumedRun ResumeFromDisk(v1::RunService::Stub& stub, ScriptedAgent& agent) {
  ResumedRun resumed{.run = SubmitSmoke(stub, "r1")};
  const v1::DesiredState desired = StartRanks(agent, 2);
  resumed.checkpoint = resumed.run.run_directory() + "/checkpoints/step-00000010-e1-abc";
  Ranks ranks = StatusesOf(desired, v1::RANK_PHASE_RUNNING);
  v1::WrittenCheckpoint& written = *ranks[0].add_written();
  written.set_step(10);
  written.set_directory(resumed.checkpoint);
  written.set_manifest_digest(formats::WriteSampleCheckpoint(resumed.checkpoint, 10));
  agent.Report(ranks);
  agent.AwaitDesired(
      [](const auto& candidate) { return candidate.assignments(0).sealed_steps_size() == 1; });
  ReportExit(agent, desired, v1::EXIT_CAUSE_SIGNAL);
  resumed.desired =
      agent.AwaitDesired([](const auto& candidate) { return candidate.assignments_size() == 2; });
  return resumed;
}

TEST_F(Coordinator, OneRanksWordTakesNoCheckpointAway) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const ResumedRun resumed = ResumeFromDisk(*stub_, agent);
  ReportExit(agent, resumed.desired, v1::EXIT_CAUSE_DAMAGED_CHECKPOINT);
  const v1::DesiredState again =
      agent.AwaitDesired([](const auto& candidate) { return candidate.assignments_size() == 2; });
  EXPECT_EQ(again.assignments(0).resume().step(), 10);
  EXPECT_EQ(EventsOfKind(*stub_, resumed.run.run_id(), "checkpoint_verified").size(), 1u);
  EXPECT_TRUE(FileExists(resumed.checkpoint));
}

TEST_F(Coordinator, WhatIsDamagedIsListedInQuarantineAndComesBackOnlyWhenItIsWhole) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const ResumedRun resumed = ResumeFromDisk(*stub_, agent);
  const std::string id = resumed.run.run_id();
  formats::DamageFile(resumed.checkpoint + "/model.safetensors");
  ReportExit(agent, resumed.desired, v1::EXIT_CAUSE_DAMAGED_CHECKPOINT);
  const v1::Run ended =
      Await(*stub_, id, [](const v1::Run& seen) { return seen.state() == v1::RUN_STATE_FAILED; });
  EXPECT_NE(ended.reason().find("no earlier checkpoint"), std::string::npos) << ended.reason();
  v1::CheckpointsResponse listed = Checkpoints(*stub_, id);
  EXPECT_EQ(listed.checkpoints_size(), 0);
  ASSERT_EQ(listed.quarantined_size(), 1);
  EXPECT_EQ(listed.quarantined(0).directory(), resumed.checkpoint + ".damaged");
  EXPECT_NE(listed.quarantined(0).quarantine_reason().find("model.safetensors"), std::string::npos);
  ASSERT_TRUE(Appears(resumed.checkpoint + ".damaged"));
  Restart();
  EXPECT_EQ(Restore(*stub_, id, 10), StatusCode::kDataLoss);
  formats::DamageFile(resumed.checkpoint + ".damaged/model.safetensors");  // as it was
  EXPECT_EQ(Restore(*stub_, id, 20), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Restore(*stub_, id, 10), StatusCode::kOk);
  listed = Checkpoints(*stub_, id);
  EXPECT_EQ(listed.quarantined_size(), 0);
  ASSERT_EQ(listed.checkpoints_size(), 1);
  EXPECT_EQ(listed.checkpoints(0).directory(), resumed.checkpoint);
  EXPECT_TRUE(FileExists(resumed.checkpoint + "/manifest.json"));
}

TEST_F(Coordinator, ACancelledRunStopsItsRanksAndEndsOnce) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  const v1::DesiredState desired = StartRanks(agent, 2);
  for (int attempt = 0; attempt < 2; ++attempt) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::CancelRequest request;
    request.set_run("@last");
    request.set_request_id("c1");
    v1::Run answer;
    EXPECT_TRUE(stub_->Cancel(&context, request, &answer).ok());
    EXPECT_EQ(answer.state(), v1::RUN_STATE_CANCELLING);
  }
  agent.AwaitDesired([](const auto& candidate) { return candidate.assignments(0).stop(); });
  Ranks ranks = StatusesOf(desired, v1::RANK_PHASE_EXITED);
  for (v1::RankStatus& rank : ranks) rank.set_exit_cause(v1::EXIT_CAUSE_STOPPED);
  agent.Report(ranks);
  const v1::Run ended = Await(*stub_, run.run_id(), [](const v1::Run& seen) {
    return seen.state() == v1::RUN_STATE_CANCELLED;
  });
  EXPECT_EQ(ended.failures(), 0);
}

TEST_F(Coordinator, EveryAcknowledgedSubmitSurvivesAKill) {
  constexpr int kSubmits = 200;
  std::vector<std::string> ids;
  for (int i = 0; i < kSubmits; ++i) {
    ids.push_back(SubmitSmoke(*stub_, "request-" + std::to_string(i)).run_id());
  }
  Restart();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListRequest list;
  list.set_limit(1000);
  v1::ListResponse listed;
  ASSERT_TRUE(stub_->List(&context, list, &listed).ok());
  ASSERT_EQ(listed.runs_size(), kSubmits);
  for (int i = 0; i < kSubmits; ++i) {
    EXPECT_EQ(listed.runs(i).run_id(), ids[static_cast<size_t>(kSubmits - 1 - i)]);
  }
  v1::SubmitResponse replayed;
  ASSERT_TRUE(Submit(*stub_, MakeRequest("request-7"), replayed).ok());
  EXPECT_TRUE(replayed.replayed());
  EXPECT_EQ(replayed.run().run_id(), ids[7]);
  v1::SubmitRequest other = MakeRequest("request-7");
  other.add_overrides("budget.steps=21");
  EXPECT_EQ(Submit(*stub_, other, replayed).code(), StatusCode::kAlreadyExists);
}

TEST_F(Coordinator, ARepeatedRequestGetsItsRunEvenWhenTheStorageIsGone) {
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  const std::string moved = process_.storage_root() + ".moved";
  const std::string directory = process_.storage_root() + "/runs/" + run.run_id();
  ASSERT_TRUE(Eventually([&] { return FileExists(directory + "/resolved.yaml"); }));
  ASSERT_EQ(rename(process_.storage_root().c_str(), moved.c_str()), 0);
  v1::SubmitResponse replayed;
  EXPECT_TRUE(Submit(*stub_, MakeRequest("r1"), replayed).ok());
  EXPECT_EQ(replayed.run().run_id(), run.run_id());
  ASSERT_EQ(rename(moved.c_str(), process_.storage_root().c_str()), 0);
}

TEST_F(Coordinator, LogsAreFollowedToTheEndOfTheRun) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  StartRanks(agent, 2);
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
  const auto tail = ReadAll<v1::LogLine>(*stub_, &v1::RunService::Stub::Logs, request);
  ASSERT_EQ(tail.size(), 4u);
  EXPECT_EQ(tail[0].text(), "line 2");
  EXPECT_EQ(tail[0].sequence(), 3u);

  request.set_tail(0);
  request.set_rank(1);
  request.set_follow(true);
  std::vector<v1::LogLine> followed;
  {
    const std::jthread reader(
        [&] { followed = ReadAll<v1::LogLine>(*stub_, &v1::RunService::Stub::Logs, request); });
    grpc::ClientContext context;
    v1::CancelRequest cancel;
    cancel.set_run(run.run_id());
    v1::Run answer;
    EXPECT_TRUE(stub_->Cancel(&context, cancel, &answer).ok());
    agent.AwaitDesired([](const auto& desired) { return desired.assignments(0).stop(); });
    agent.Report({});
  }
  EXPECT_EQ(followed.size(), 3u);
}

// An agent that reports and sends a point of `run` every 0.4 s, as a training one does. On a thread
// of its own.
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
      agent_.Send(MakePoints(run_, static_cast<uint64_t>(step), step, 1));
      never.wait_for(lock, stop, std::chrono::milliseconds(400), [] { return false; });
    }
  }

  ScriptedAgent agent_;
  std::string run_;
  std::jthread thread_;
};

TEST_F(Coordinator, OnABusyFleetAWatcherSeesAnotherReasonThatIsNoEvent) {
  const v1::Run other = SubmitSmoke(*stub_, "other");
  const BusyAgent one(process_, "busy-1", other.run_id());
  const BusyAgent two(process_, "busy-2", other.run_id());
  const v1::Run run = SubmitSmoke(*stub_, "waits");
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
TEST_F(Coordinator, OnABusyFleetStreamsEndWithTheirRun) {
  const v1::Run other = SubmitSmoke(*stub_, "other");
  const BusyAgent one(process_, "busy-1", other.run_id());
  const BusyAgent two(process_, "busy-2", other.run_id());
  const v1::Run run = SubmitSmoke(*stub_, "ends");
  v1::LogsRequest logs;
  logs.set_run(run.run_id());
  logs.set_follow(true);
  v1::EventsRequest events;
  events.set_run(run.run_id());
  events.set_follow(true);
  v1::WatchRequest watch;
  watch.set_run(run.run_id());
  std::vector<std::jthread> readers;
  readers.emplace_back([&] { ReadAll<v1::LogLine>(*stub_, &v1::RunService::Stub::Logs, logs); });
  readers.emplace_back(
      [&] { ReadAll<v1::RunEvent>(*stub_, &v1::RunService::Stub::Events, events); });
  const auto seen = [&] {
    std::jthread canceller([&] {
      grpc::ClientContext context;
      v1::CancelRequest cancel;
      cancel.set_run(run.run_id());
      v1::Run answer;
      EXPECT_TRUE(stub_->Cancel(&context, cancel, &answer).ok());
    });
    return ReadAll<v1::WatchResponse>(*stub_, &v1::RunService::Stub::Watch, watch);
  }();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().run().state(), v1::RUN_STATE_CANCELLED);
}

// Dies before and after the commit, and before the answer: the client does not know, repeats its
// request, and there is one run.
class CoordinatorFailpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(CoordinatorFailpoint, ARepeatedSubmitAfterAKillMakesOneRun) {
  TemporaryDirectory directory;
  CoordinatorProcess fragile(directory.path(),
                             {std::string("GP_FAILPOINT=") + GetParam() + ":kill"});
  fragile.Start();
  v1::SubmitResponse response;
  EXPECT_FALSE(Submit(*fragile.NewStub(), MakeRequest("r1"), response).ok());
  CoordinatorProcess sound(directory.path());
  sound.Start();
  const auto stub = sound.NewStub();
  ASSERT_TRUE(Submit(*stub, MakeRequest("r1"), response).ok());
  grpc::ClientContext context;
  v1::ListResponse listed;
  ASSERT_TRUE(stub->List(&context, {}, &listed).ok());
  ASSERT_EQ(listed.runs_size(), 1);
  EXPECT_EQ(listed.runs(0).run_id(), response.run().run_id());
}

INSTANTIATE_TEST_SUITE_P(Submit, CoordinatorFailpoint,
                         ::testing::Values("store.before_commit", "store.after_commit",
                                           "reconciler.before_answer"));

TEST_F(Coordinator, SaysWhyARunWaits) {
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  EXPECT_NE(run.reason().find("no node offers any"), std::string::npos) << run.reason();
  ScriptedAgent agent(process_.address(), process_.storage_root(), 1);
  agent.Connect();
  Await(*stub_, run.run_id(), [](const v1::Run& seen) {
    return seen.reason().find("all nodes together have 1") != std::string::npos;
  });
}

TEST_F(Coordinator, ABadRunFileIsRefusedWithItsPlaces) {
  v1::SubmitRequest request = MakeRequest("r1");
  request.set_source("apiVersion: gp/v1\nnmae: x\n");
  v1::SubmitResponse response;
  const Status status = Submit(*stub_, request, response);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find("smoke.yaml:2:1"), std::string::npos) << status;
}

TEST_F(Coordinator, ADryRunTellsWhatWouldHappenAndKeepsNothing) {
  v1::SubmitRequest request = MakeRequest("r1");
  request.set_dry_run(true);
  v1::SubmitResponse response;
  ASSERT_TRUE(Submit(*stub_, request, response).ok());
  EXPECT_NE(response.run().reason().find("placement"), std::string::npos);
  EXPECT_NE(response.run().resolved().find("micro_batch"), std::string::npos);
  grpc::ClientContext context;
  v1::ListResponse listed;
  ASSERT_TRUE(stub_->List(&context, {}, &listed).ok());
  EXPECT_EQ(listed.runs_size(), 0);
}

TEST_F(Coordinator, ANodeThatSeesAnotherStorageIsNotUsed) {
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  v1::AgentHello hello = agent.MakeHello();
  hello.set_storage_probe("something else");
  EXPECT_TRUE(agent.Greet(hello).has_welcome());
  Await(*stub_, run.run_id(), [](const v1::Run& seen) {
    return seen.reason().find("another directory") != std::string::npos;
  });
}

TEST_F(Coordinator, AnIncompatibleOrFutureAgentIsRefusedInWords) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  v1::AgentHello hello = agent.MakeHello();
  hello.set_protocol_min(99);
  hello.set_protocol(99);
  EXPECT_NE(agent.Greet(hello).refused().reason().find("upgrade"), std::string::npos);
  hello = agent.MakeHello();
  hello.set_coordinator_generation_max(1000);
  EXPECT_NE(agent.Greet(hello).refused().reason().find("stale"), std::string::npos);
}

TEST_F(Coordinator, ASecondOneOnTheSameStateIsRefused) {
  CoordinatorProcess second(directory_.path());
  std::string error;
  EXPECT_EQ(second.RunToEnd(error), 1);
  EXPECT_NE(error.find("in use by another coordinator"), std::string::npos) << error;
}

TEST_F(Coordinator, APortInUseIsNamed) {
  TemporaryDirectory other;
  CoordinatorProcess second(other.path());
  second.SetFlags({"--socket", process_.address().substr(std::string("unix:").size())});
  std::string error;
  EXPECT_EQ(second.RunToEnd(error), 1);
  EXPECT_NE(error.find(process_.address()), std::string::npos) << error;
}

TEST_F(Coordinator, StopsCleanlyWhenAsked) { EXPECT_EQ(process_.Terminate(), 0); }

TEST_F(Coordinator, StopsCleanlyAlthoughAFileSystemHangs) {
  const v1::Run run = SubmitSmoke(*stub_, "r1");
  const std::string records = JoinPath(JoinPath(process_.state_dir(), "runs"), run.run_id());
  ASSERT_TRUE(MakeDirectories(records).ok());
  // Opening a FIFO waits for its writer.
  ASSERT_EQ(mkfifo(JoinPath(records, "lines.log").c_str(), 0600), 0);
  grpc::ClientContext context;
  v1::LogsRequest logs;
  logs.set_run(run.run_id());
  const auto stream = stub_->Logs(&context, logs);
  // Its turn comes later: the FIFO is being opened when it is answered.
  EXPECT_EQ(EventsOfKind(*stub_, run.run_id(), "submitted").size(), 1u);
  EXPECT_EQ(process_.Terminate(), 0);
  EXPECT_FALSE(stream->Finish().ok());
}

}  // namespace
}  // namespace gp::coordinator
