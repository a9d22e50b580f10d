// A run from submit to end, seen by a scripted agent and by a user of a real gp-coordinator.
#include <gtest/gtest.h>

#include "base/file.h"
#include "coordinator/coordinator_fixture.h"

namespace gp::coordinator {
namespace {

using Ranks = std::vector<v1::RankStatus>;

class RunLife : public CoordinatorFixture {};

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

TEST_F(RunLife, TakesARunFromSubmitToASealedCheckpoint) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke("r1");
  const v1::DesiredState desired = agent.StartRanks(2);
  EXPECT_EQ(desired.assignments(0).membership().addresses_size(), 2);
  EXPECT_EQ(desired.assignments(0).membership().secret().size(), 64u);
  EXPECT_EQ(desired.assignments(0).choices().logical_shards(), 2);
  v1::Telemetry telemetry = ScriptedAgent::MakePoints(run.run_id(), 1, 1, 20);
  telemetry.mutable_items(0)->mutable_point()->set_warning("the first loss is far from ln V");
  agent.Send(telemetry);
  agent.AwaitAck(20);
  agent.Send(telemetry);  // resent, as after a lost acknowledgement

  Ranks ranks = ScriptedAgent::StatusesOf(desired, v1::RANK_PHASE_FINISHED);
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

  const v1::Run ended = Get("smoke");
  EXPECT_EQ(ended.state(), v1::RUN_STATE_SUCCEEDED) << ended.reason();
  EXPECT_EQ(ended.progress().step(), 20);
  EXPECT_EQ(ended.latest_checkpoint_step(), 20);
  // run.yaml is written on another thread.
  EXPECT_TRUE(Eventually([&] { return FileExists(ended.run_directory() + "/run.yaml"); }));
  EXPECT_EQ(EventsOfKind(run.run_id(), "warned"),
            (std::vector<std::string>{"step 1: the first loss is far from ln V"}));
}

TEST_F(RunLife, ARunningRunContinuesWhenItsAgentReconnectsAfterTheCoordinatorWasKilled) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke("r1");
  const v1::DesiredState desired = agent.StartRanks(2);
  Restart();
  ScriptedAgent again(process_.address(), process_.storage_root(), 2);
  again.Connect(ScriptedAgent::StatusesOf(desired, v1::RANK_PHASE_RUNNING));
  const v1::DesiredState same = again.AwaitDesired([](const auto& candidate) {
    return candidate.assignments_size() > 0 && candidate.assignments(0).go();
  });
  EXPECT_EQ(same.assignments(0).epoch(), 1u);
  EXPECT_EQ(same.assignments(0).membership().secret(),
            desired.assignments(0).membership().secret());
  EXPECT_EQ(Get(run.run_id()).state(), v1::RUN_STATE_RUNNING);
}

TEST_F(RunLife, ADeadTrainerLeadsToTheNextEpochFromTheNewestSealedCheckpoint) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke("r1");
  const v1::DesiredState desired = agent.StartRanks(2);
  Ranks ranks = ScriptedAgent::StatusesOf(desired, v1::RANK_PHASE_RUNNING);
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
  EXPECT_EQ(Get(run.run_id()).failures(), 1);
}

TEST_F(RunLife, ACancelledRunStopsItsRanksAndEndsOnce) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  const v1::Run run = SubmitSmoke("r1");
  const v1::DesiredState desired = agent.StartRanks(2);
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_EQ(Cancel("@last", "c1").state(), v1::RUN_STATE_CANCELLING);
  }
  agent.AwaitDesired([](const auto& candidate) { return candidate.assignments(0).stop(); });
  Ranks ranks = ScriptedAgent::StatusesOf(desired, v1::RANK_PHASE_EXITED);
  for (v1::RankStatus& rank : ranks) rank.set_exit_cause(v1::EXIT_CAUSE_STOPPED);
  agent.Report(ranks);
  const v1::Run ended = Await(
      run.run_id(), [](const v1::Run& seen) { return seen.state() == v1::RUN_STATE_CANCELLED; });
  EXPECT_EQ(ended.failures(), 0);
}

TEST_F(RunLife, SaysWhyARunWaits) {
  const v1::Run run = SubmitSmoke("r1");
  EXPECT_NE(run.reason().find("no node offers any"), std::string::npos) << run.reason();
  ScriptedAgent agent(process_.address(), process_.storage_root(), 1);
  agent.Connect();
  Await(run.run_id(), [](const v1::Run& seen) {
    return seen.reason().find("all nodes together have 1") != std::string::npos;
  });
}

TEST_F(RunLife, ARunThatIsTooLargeSaysSoWhateverWaitsBeforeIt) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  agent.Connect();
  SubmitSmoke("r1");
  EXPECT_NE(SubmitSmoke("r2").reason().find("0 free of 2"), std::string::npos);
  EXPECT_NE(SubmitSmoke("r3").reason().find("queue: behind run"), std::string::npos);
  v1::SubmitRequest large = MakeRequest("r4");
  large.add_overrides("resources.workers=3");
  EXPECT_NE(SubmitRun(large).reason().find("all nodes together have 2"), std::string::npos);
}

TEST_F(RunLife, ANodeThatSeesAnotherStorageIsNotUsed) {
  const v1::Run run = SubmitSmoke("r1");
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  v1::AgentHello hello = agent.MakeHello();
  hello.set_storage_probe("something else");
  EXPECT_TRUE(agent.Greet(hello).has_welcome());
  Await(run.run_id(), [](const v1::Run& seen) {
    return seen.reason().find("another directory") != std::string::npos;
  });
}

TEST_F(RunLife, AnIncompatibleOrFutureAgentIsRefusedInWords) {
  ScriptedAgent agent(process_.address(), process_.storage_root(), 2);
  v1::AgentHello hello = agent.MakeHello();
  hello.set_protocol_min(99);
  hello.set_protocol(99);
  EXPECT_NE(agent.Greet(hello).refused().reason().find("upgrade"), std::string::npos);
  hello = agent.MakeHello();
  hello.set_coordinator_generation_max(1000);
  EXPECT_NE(agent.Greet(hello).refused().reason().find("stale"), std::string::npos);
}

}  // namespace
}  // namespace gp::coordinator
