// Goal: at every place of a command line the words that fit there are offered, and no others.
#include "client/gpctl/commands/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class CandidatesTest : public ::testing::Test {
 protected:
  CandidatesTest() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  // The lines that the scripts read; the last word is being typed.
  std::vector<std::string> Lines(std::vector<std::string> words) {
    words.insert(words.begin(), "__complete");
    const Outcome outcome = gpctl_.Run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream text(outcome.out);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(CandidatesTest, CommandsVerbsAndFlags) {
  EXPECT_THAT(Lines({"sta"}), ElementsAre("status"));
  EXPECT_THAT(Lines({""}), AllOf(Contains("metrics"), Contains("label"), Not(Contains("ps"))));
  EXPECT_THAT(Lines({"ckpt", ""}), Contains("list"));
  EXPECT_THAT(Lines({"--timeout", "2s", "sta"}), ElementsAre("status"));
  EXPECT_THAT(Lines({"submit", "--dry"}), ElementsAre("--dry-run"));
  EXPECT_THAT(Lines({"submit", "run.yaml", "--set-f"}), ElementsAre("--set-file"));
  EXPECT_THAT(Lines({"nothing", "--x"}), IsEmpty());
}

TEST_F(CandidatesTest, ValuesOfFlags) {
  EXPECT_THAT(Lines({"init", "--preset", "shakespeare-char"}),
              UnorderedElementsAre("shakespeare-char", "shakespeare-char-gpu"));
  EXPECT_THAT(Lines({"list", "--state", "run"}), ElementsAre("running"));
  EXPECT_THAT(Lines({"list", "--state=run"}), ElementsAre("--state=running"));
  EXPECT_THAT(Lines({"list", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(Lines({"export", "tiny", "dir", "--format", "h"}), ElementsAre("hf"));
  EXPECT_THAT(Lines({"import", "dir", "--format", "n"}), ElementsAre("nanogpt"));
  EXPECT_THAT(Lines({"wait", "tiny", "--for", "val"}), ElementsAre("val_loss<"));
  EXPECT_THAT(Lines({"submit", "--set-file", ""}), ElementsAre(":files"));
  EXPECT_THAT(Lines({"plot", "tiny", "--y", "val"}), ElementsAre("val_loss"));
}

TEST_F(CandidatesTest, KeysOfTheRunFileAndTheirValues) {
  EXPECT_THAT(Lines({"submit", "run.yaml", "--set", "optimizer.l"}), ElementsAre("optimizer.lr="));
  EXPECT_THAT(Lines({"submit", "run.yaml", "--set", "schedule.kind=co"}),
              UnorderedElementsAre("schedule.kind=cosine", "schedule.kind=constant"));
  EXPECT_THAT(Lines({"validate", "run.yaml", "--set", "model.bias="}),
              UnorderedElementsAre("model.bias=true", "model.bias=false"));
  EXPECT_THAT(Lines({"submit", "--set", "unknown=x"}), Not(Contains("unknown=x")));
  EXPECT_THAT(Lines({"explain", "optimizer.g"}), ElementsAre("optimizer.grad_clip"));
  EXPECT_THAT(Lines({"explain", "sched"}), Contains("schedule"));
  EXPECT_THAT(Lines({"help", "exit"}), ElementsAre("exit-codes"));
  EXPECT_THAT(Lines({"help", "sub"}), ElementsAre("submit"));
  EXPECT_THAT(Lines({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
}

TEST_F(CandidatesTest, RunsAndTheirCheckpointsAfterAnyFlag) {
  service_.AddRun(MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_RUNNING));
  service_.AddRun(MakeRun("tuned", "aaaaaaaa02", v1::RUN_STATE_SUCCEEDED));
  v1::Checkpoint checkpoint;
  checkpoint.set_step(300);
  service_.AddCheckpoint(checkpoint);
  EXPECT_THAT(Lines({"status", "t"}), UnorderedElementsAre("tiny", "tuned"));
  EXPECT_THAT(Lines({"logs", "-f", "--rank", "0", "ti"}), ElementsAre("tiny"));
  EXPECT_THAT(Lines({"cancel", "tiny", "tu"}), ElementsAre("tuned"));
  EXPECT_THAT(Lines({"status", "@"}), ElementsAre("@last"));
  EXPECT_THAT(Lines({"delete", "tiny", "tu"}), ElementsAre("tuned"));
  EXPECT_THAT(Lines({"fork", "tiny@3"}), ElementsAre(":files", "tiny@300"));
  EXPECT_THAT(Lines({"label", "tiny", "team"}), IsEmpty());
  EXPECT_THAT(Lines({"note", "tiny", "a"}), IsEmpty());
  EXPECT_THAT(Lines({"sample", "ti"}), ElementsAre(":files", "tiny"));
  EXPECT_THAT(Lines({"sample", "tiny@3"}), ElementsAre(":files", "tiny@300"));
  EXPECT_THAT(Lines({"export", "tiny@b"}), Contains("tiny@best"));
}

TEST_F(CandidatesTest, WithoutAServiceThereAreFewerWordsAndNoError) {
  gpctl_.environment.erase("GPCTL_SERVER");
  EXPECT_THAT(Lines({"status", ""}), IsEmpty());
  EXPECT_THAT(Lines({"sta"}), ElementsAre("status"));
  EXPECT_THAT(Lines({}), IsEmpty());
}

TEST(Candidates, AreWrittenAsLines) {
  EXPECT_EQ(gpctl::CandidateLines({.words = {"a", "b"}, .files = true}), ":files\na\nb\n");
  EXPECT_EQ(gpctl::CandidateLines({}), "");
}

}  // namespace
}  // namespace gp::testing
