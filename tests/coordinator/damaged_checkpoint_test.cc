// A rank reports a checkpoint as damaged. A real gp-coordinator lets a second reader verify it,
// keeps it in quarantine if it is damaged, and can restore it once it is intact again.
#include <gtest/gtest.h>

#include "base/file.h"
#include "coordinator/coordinator_fixture.h"
#include "lib/formats/sample_checkpoint.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

using Ranks = std::vector<v1::RankStatus>;

// A run in epoch 2, which started from the checkpoint of step 10; that checkpoint is on disk.
struct ResumedRun {
  v1::Run run;
  std::string checkpoint;
  v1::DesiredState desired;
};

class DamagedCheckpoint : public CoordinatorFixture {
 protected:
  v1::CheckpointsResponse Checkpoints(const std::string& run) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::CheckpointsRequest request;
    request.set_run(run);
    v1::CheckpointsResponse response;
    const Status status = rpc::FromGrpc(stub_->Checkpoints(&context, request, &response));
    EXPECT_TRUE(status.ok()) << status;
    return response;
  }

  StatusCode Restore(const std::string& run, int64_t step) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::RestoreCheckpointRequest request;
    request.set_run(run);
    request.set_step(step);
    request.set_request_id("restore-1");
    v1::Checkpoint response;
    const Status status = rpc::FromGrpc(stub_->RestoreCheckpoint(&context, request, &response));
    EXPECT_EQ(response.step(), status.ok() ? step : 0) << status;
    return status.code();
  }

  v1::RunEvent EventOfRestore(const std::string& run) {
    v1::EventsRequest request;
    request.set_run(run);
    for (const auto& event : ReadAll<v1::RunEvent>(&v1::RunService::Stub::Events, request)) {
      if (event.kind() == "checkpoint_restored") return event;
    }
    return {};
  }

  static void ReportExit(ScriptedAgent& agent, const v1::DesiredState& desired,
                         v1::ExitCause cause) {
    Ranks ranks = ScriptedAgent::StatusesOf(desired, v1::RANK_PHASE_EXITED);
    for (v1::RankStatus& rank : ranks) rank.set_exit_cause(cause);
    agent.Report(ranks);
    agent.AwaitDesired([](const auto& candidate) { return candidate.assignments().empty(); });
    agent.Report({});
  }

  ResumedRun ResumeFromDisk(ScriptedAgent& agent) {
    ResumedRun resumed{.run = SubmitSmoke("r1")};
    const v1::DesiredState desired = agent.StartRanks(2);
    resumed.checkpoint = resumed.run.run_directory() + "/checkpoints/step-00000010-e1-abc";
    Ranks ranks = ScriptedAgent::StatusesOf(desired, v1::RANK_PHASE_RUNNING);
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
};

TEST_F(DamagedCheckpoint, OneRanksWordTakesNoCheckpointAway) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const ResumedRun resumed = ResumeFromDisk(agent);
  ReportExit(agent, resumed.desired, v1::EXIT_CAUSE_DAMAGED_CHECKPOINT);
  const v1::DesiredState again =
      agent.AwaitDesired([](const auto& candidate) { return candidate.assignments_size() == 2; });
  EXPECT_EQ(again.assignments(0).resume().step(), 10);
  EXPECT_EQ(EventsOfKind(resumed.run.run_id(), "checkpoint_verified").size(), 1u);
  EXPECT_TRUE(FileExists(resumed.checkpoint));
}

TEST_F(DamagedCheckpoint, WhatIsDamagedIsListedInQuarantineAndComesBackOnlyWhenItIsWhole) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const ResumedRun resumed = ResumeFromDisk(agent);
  const std::string id = resumed.run.run_id();
  formats::DamageFile(resumed.checkpoint + "/model.safetensors");
  ReportExit(agent, resumed.desired, v1::EXIT_CAUSE_DAMAGED_CHECKPOINT);
  const v1::Run ended =
      Await(id, [](const v1::Run& seen) { return seen.state() == v1::RUN_STATE_FAILED; });
  EXPECT_NE(ended.reason().find("no earlier checkpoint"), std::string::npos) << ended.reason();
  v1::CheckpointsResponse listed = Checkpoints(id);
  EXPECT_EQ(listed.checkpoints_size(), 0);
  ASSERT_EQ(listed.quarantined_size(), 1);
  EXPECT_EQ(listed.quarantined(0).directory(), resumed.checkpoint);
  EXPECT_NE(listed.quarantined(0).quarantine_reason().find("model.safetensors"), std::string::npos);
  // The mark is created on another thread.
  ASSERT_TRUE(Eventually([&] { return FileExists(resumed.checkpoint + ".quarantined"); }));
  Restart();
  EXPECT_EQ(Restore(id, 10), StatusCode::kDataLoss);
  formats::DamageFile(resumed.checkpoint + "/model.safetensors");  // restores the original content
  EXPECT_EQ(Restore(id, 20), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Restore(id, 10), StatusCode::kOk);
  listed = Checkpoints(id);
  EXPECT_EQ(listed.quarantined_size(), 0);
  ASSERT_EQ(listed.checkpoints_size(), 1);
  EXPECT_EQ(listed.checkpoints(0).directory(), resumed.checkpoint);
  EXPECT_TRUE(FileExists(resumed.checkpoint + "/manifest.json"));
  const v1::RunEvent event = EventOfRestore(id);
  EXPECT_EQ(event.actor(), "owner") << "who asked for it";
  EXPECT_EQ(event.request_id(), "restore-1");
}

}  // namespace
}  // namespace gp::coordinator
