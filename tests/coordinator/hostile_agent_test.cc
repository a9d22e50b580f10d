// A lying agent and an honest one on a real coordinator. Whatever the liar sends, the honest
// agent's run continues and no lie is stored; absurd messages end the liar's stream with an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "coordinator/coordinator_fixture.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;
using Ranks = std::vector<v1::RankStatus>;

constexpr const char* kHonestRun = R"(apiVersion: gp/v1
name: honest
model: {n_layer: 1, n_head: 2, n_embd: 32, n_ctx: 32}
data: {text: [/data/text.txt], tokenizer: bytes}
batch: {micro_batch: 4, sequence: 32}
budget: {steps: 2000}
)";

class HostileAgent : public CoordinatorFixture {
 protected:
  void SetUp() override {
    CoordinatorFixture::SetUp();
    run_ = SubmitHonest("r1");
    honest_.emplace(process_.address(), process_.storage_root(), 1, "honest");
    honest_->Connect();
    assignment_ = AwaitOne(*honest_);
    Ranks ranks;
    for (const auto phase :
         {v1::RANK_PHASE_LISTENING, v1::RANK_PHASE_READY, v1::RANK_PHASE_RUNNING}) {
      ranks = {ScriptedAgent::StatusOf(assignment_, phase)};
      honest_->Report(ranks);
      if (phase == v1::RANK_PHASE_LISTENING) {
        honest_->AwaitDesired([](const auto& d) { return d.assignments(0).has_membership(); });
      }
    }
    honest_->AwaitDesired([](const auto& d) { return d.assignments(0).go(); });
    liar_.emplace(process_.address(), process_.storage_root(), 1, "liar");
    liar_->Connect();
  }

  std::string SubmitHonest(const std::string& request_id) {
    v1::SubmitRequest request = MakeRequest(request_id);
    request.set_source(kHonestRun);
    return SubmitRun(request).run_id();
  }

  static v1::Assignment AwaitOne(ScriptedAgent& agent) {
    return agent.AwaitDesired([](const auto& d) { return d.assignments_size() == 1; })
        .assignments(0);
  }

  // Assigns the liar a run of its own. The answer proves that all its earlier messages were read.
  std::string GiveTheLiarARun() {
    const std::string own = SubmitHonest("r2");
    own_ = AwaitOne(*liar_);
    EXPECT_EQ(own_.run_id(), own);
    return own;
  }

  void ExpectTheHonestRunGoesOn() {
    const v1::Run run = Get(run_);
    EXPECT_EQ(run.state(), v1::RUN_STATE_RUNNING) << run.reason();
    EXPECT_EQ(run.epoch(), 1u);
    EXPECT_EQ(run.failures(), 0);
    EXPECT_EQ(run.progress().step(), 0);
    EXPECT_EQ(run.latest_checkpoint_step(), Get(own_.run_id()).latest_checkpoint_step());
  }

  std::string run_;
  std::optional<ScriptedAgent> honest_;
  std::optional<ScriptedAgent> liar_;
  v1::Assignment assignment_;  // of the honest agent
  v1::Assignment own_;         // of the liar
};

TEST_F(HostileAgent, SpeaksForNoOtherRun) {
  Ranks lies;
  for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{2}, UINT64_MAX}) {
    v1::RankStatus rank = ScriptedAgent::StatusOf(assignment_, v1::RANK_PHASE_EXITED);
    rank.set_epoch(epoch);
    rank.set_exit_cause(v1::EXIT_CAUSE_CONFIG);
    v1::WrittenCheckpoint& written = *rank.add_written();
    written.set_step(7);
    written.set_directory(Get(run_).run_directory() + "/checkpoints/step-00000007-e1-liar");
    written.set_final(true);
    lies.push_back(rank);
  }
  liar_->Report(lies);
  v1::Telemetry telemetry;
  for (const uint64_t epoch : {uint64_t{0}, uint64_t{1}, uint64_t{2}}) {
    v1::TelemetryItem& item = *telemetry.add_items();
    item.set_run_id(run_);
    item.mutable_point()->set_step(1000);
    item.mutable_point()->set_epoch(epoch);
    item.mutable_point()->set_warning("a lie");
    *telemetry.add_items()->mutable_line() = {};
  }
  telemetry.set_first_sequence(1);
  liar_->Send(telemetry);
  liar_->AwaitAck(6);
  GiveTheLiarARun();
  ExpectTheHonestRunGoesOn();
}

TEST_F(HostileAgent, SealsNothingOutsideItsOwnRun) {
  const std::string own = GiveTheLiarARun();
  const std::string runs = DirectoryOf(Get(own).run_directory());
  v1::RankStatus rank = ScriptedAgent::StatusOf(own_, v1::RANK_PHASE_LISTENING);
  const std::vector<std::string> directories = {
      "/etc",
      runs + "/" + run_ + "/checkpoints/step-00000001-e1-a",
      runs + "/" + own + "/checkpoints/../../" + run_ + "/checkpoints/step-00000001-e1-a",
      runs + "/" + own + "/checkpoints/..",
      runs + "/" + own + "/checkpoints",
      ""};
  for (size_t i = 0; i < directories.size(); ++i) {
    v1::WrittenCheckpoint& written = *rank.add_written();
    written.set_step(static_cast<int64_t>(i) + 1);
    written.set_directory(directories[i]);
    written.set_manifest_digest("d");
  }
  liar_->Report({rank});
  const v1::DesiredState answered = liar_->AwaitDesired([&](const auto& d) {
    return d.assignments_size() == 1 &&
           d.assignments(0).refused_seals_size() == static_cast<int>(directories.size());
  });
  EXPECT_EQ(answered.assignments(0).sealed_steps_size(), 0);
  EXPECT_THAT(answered.assignments(0).refused_seals(0).reason(),
              HasSubstr("is not a directory of this run's checkpoints"));
  ExpectTheHonestRunGoesOn();
}

TEST_F(HostileAgent, IsSentAwayWithWordsWhenItSaysTooMuch) {
  Ranks many(5000, ScriptedAgent::StatusOf(assignment_, v1::RANK_PHASE_EXITED));
  liar_->Report(many);
  const Status status = liar_->AwaitEnd();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("5000 ranks are too many; at most 4096 are accepted"));
  ScriptedAgent again(process_.address(), process_.storage_root(), 1, "liar");
  v1::AgentHello hello = again.MakeHello();
  hello.set_name(std::string(5000, 'n'));
  const v1::CoordinatorMessage answer = again.Greet(hello);
  EXPECT_THAT(answer.refused().reason(), HasSubstr("the node's name has 5000 bytes"));
  liar_.emplace(process_.address(), process_.storage_root(), 1, "liar");
  liar_->Connect();
  GiveTheLiarARun();
  ExpectTheHonestRunGoesOn();
}

// Dropped telemetry is still acknowledged; otherwise an honest agent whose data is late would
// resend it forever.
TEST_F(HostileAgent, AFloodOfTelemetryOfForeignRunsIsReadAndDropped) {
  v1::Telemetry telemetry;
  for (int i = 0; i < 20'000; ++i) {
    v1::TelemetryItem& item = *telemetry.add_items();
    item.set_run_id(i % 2 == 0 ? run_ : "nobody");
    item.mutable_line()->set_text("a lie");
    item.mutable_line()->set_epoch(1);
  }
  for (uint64_t round = 0; round < 10; ++round) {
    telemetry.set_first_sequence(1 + round * 20'000);
    liar_->Send(telemetry);
    liar_->AwaitAck((round + 1) * 20'000);
  }
  EXPECT_FALSE(FileExists(process_.state_dir() + "/runs/" + run_ + "/lines.log"));
  GiveTheLiarARun();
  ExpectTheHonestRunGoesOn();
}

}  // namespace
}  // namespace gp::coordinator
