#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"
#include "lib/formats/sample_checkpoint.h"

namespace gp::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// A run of 200 steps, evaluated at every 50th, whose losses end at `last`.
class CompareTest : public ::testing::Test {
 protected:
  CompareTest() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  void AddRun(const std::string& name, const std::string& id, double last,
              const std::string& resolved, int steps = 200) {
    v1::Run run = MakeRun(name, id, v1::RUN_STATE_SUCCEEDED);
    run.set_resolved(resolved);
    run.mutable_progress()->set_step(steps);
    service_.AddRun(run);
    v1::CurvePoints loss;
    loss.set_field("loss");
    v1::CurvePoints validation;
    validation.set_field("val_loss");
    for (int step = 1; step <= steps; ++step) {
      Add(step, last + 1.0 / step, loss);
      if (step % 50 == 0) Add(step, last + 10.0 / step, validation);
    }
    service_.SetCurve(id, loss);
    service_.SetCurve(id, validation);
  }

  static void Add(int step, double value, v1::CurvePoints& curve) {
    curve.add_steps(step);
    curve.add_tokens(step * 1024);
    curve.add_seconds(step);
    curve.add_values(value);
  }

  void AddTwo() {
    AddRun("base", "aaaaaaaaaa", 3, "name: base\nseed: 1\noptimizer: {lr: 0.001}\n");
    AddRun("higher", "bbbbbbbbbb", 2.9, "name: higher\nseed: 1\noptimizer: {lr: 0.002}\n");
  }

  void WriteEvaluator(const std::string& body) {
    const std::string path = gpctl_.home() + "/gp-evaluator";
    std::ofstream(path) << "#!/bin/sh\necho \"$*\" >>\"$0.arguments\"\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  void AddCheckpoint(const std::string& run_id) {
    const std::string directory = gpctl_.home() + "/checkpoint-" + run_id;
    formats::WriteSampleCheckpoint(directory, 200);
    v1::Checkpoint checkpoint;
    checkpoint.set_run_id(run_id);
    checkpoint.set_step(200);
    checkpoint.set_directory(directory);
    checkpoint.set_latest(true);
    service_.AddCheckpoint(checkpoint);
  }

  Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    return gpctl_.Run(arguments);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(CompareTest, ShowsTheKeysThatDifferAndTheLosses) {
  AddTwo();
  const Outcome outcome = Run({"base", "higher"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("optimizer.lr +0.001 +0.002\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("name ")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("seed  ")));
  EXPECT_THAT(outcome.out, ContainsRegex("val_loss, best +3.0500 +2.9500 \\(-0.1000\\)\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("of step +200 +200\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("val_loss at step 200 +3.0500 +2.9500 \\(-0.1000\\)\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("val_loss at 205k tokens"))) << "the same as at the step";
  EXPECT_THAT(outcome.out, ContainsRegex("val_loss at 3m20s +3.0500"));
  EXPECT_THAT(outcome.out, HasSubstr("One seed each: the noise of seeds is unknown."));
  EXPECT_THAT(outcome.out, HasSubstr("used the same windows of text"));
}

TEST_F(CompareTest, ComparesAtEqualStepsThoughTheRunsAreOfDifferentLength) {
  AddRun("short", "aaaaaaaaaa", 3, "{}", 120);
  AddRun("long", "bbbbbbbbbb", 2.9, "{}", 200);
  const Outcome outcome = Run({"short", "long"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("val_loss at step 100 +3.1000 +3.0000 \\(-0.1000\\)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("loss at step 120"));
  EXPECT_THAT(outcome.out, HasSubstr("The run files have the same values."));
}

TEST_F(CompareTest, SaysThatWindowsDiffer) {
  AddRun("a", "aaaaaaaaaa", 3, "seed: 1\ndata: {text: [x.txt]}\n");
  AddRun("b", "bbbbbbbbbb", 2.9, "seed: 1\ndata: {text: [y.txt]}\n");
  EXPECT_THAT(Run({"a", "b"}).out, HasSubstr("evaluated on different windows of text (data.text"));
}

TEST_F(CompareTest, UsesRepeatsWithOtherSeeds) {
  AddRun("a1", "aaaaaaaaaa", 3.00, "seed: 1\noptimizer: {lr: 0.001}\n");
  AddRun("a2", "bbbbbbbbbb", 3.02, "seed: 2\noptimizer: {lr: 0.001}\n");
  AddRun("b1", "cccccccccc", 2.90, "seed: 1\noptimizer: {lr: 0.002}\n");
  AddRun("b2", "dddddddddd", 2.92, "seed: 2\noptimizer: {lr: 0.002}\n");
  const Outcome outcome = Run({"a1", "a2", "b1", "b2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("a1, a2 differ only in the seed: their last val_loss is "
                              "3.0600 on average, with a standard deviation of 0.0141"),
                    HasSubstr("The means differ by -0.1000, standard error 0.0141."),
                    Not(HasSubstr("One seed each"))));
}

TEST_F(CompareTest, PrintsJson) {
  AddTwo();
  const Outcome outcome = Run({"base", "higher", "-o", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json document = json::parse(outcome.out);
  EXPECT_EQ(document["kind"], "Comparison");
  EXPECT_EQ(document["runs"][1]["name"], "higher");
  EXPECT_EQ(document["runs"][0]["best_val_step"], 200);
  EXPECT_EQ(document["keys"],
            json::parse(R"([{"key": "optimizer.lr", "values": ["0.001", "0.002"]}])"));
  EXPECT_EQ(document["at_equal_places"][0]["what"], "val_loss_at_step");
  EXPECT_EQ(document["paired"], json::array());
}

TEST_F(CompareTest, MeasuresBothCheckpointsOnTheSameWindows) {
  AddTwo();
  AddCheckpoint("aaaaaaaaaa");
  AddCheckpoint("bbbbbbbbbb");
  WriteEvaluator(
      "case \"$2\" in *aaaaaaaaaa) w='[10,30],[10,50],[10,40]' ;; *) w='[10,29],[10,48],[10,39]' "
      ";; "
      "esac\necho '{\"done\":1,\"of\":3}'\necho \"{\\\"windows\\\":[$w]}\"\n");
  const Outcome outcome = Run({"base", "higher", "--eval"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("On the same 3 blocks of 30 tokens together, base@200 has the loss 4.0000 "
                        "and higher@200 3.8667: -0.1333, standard error 0.0333. That is more than "
                        "2 standard errors"));
  EXPECT_THAT(ReadFile(gpctl_.home() + "/gp-evaluator.arguments").value(), HasSubstr("--windows"));
  ASSERT_EQ(Run({"base", "higher", "--file", "held.txt"}).code, 0);
  EXPECT_THAT(ReadFile(gpctl_.home() + "/gp-evaluator.arguments").value(),
              HasSubstr("--file " + gpctl_.home() + "/held.txt"));
  const json document = json::parse(Run({"base", "higher", "--eval", "-o", "json"}).out);
  EXPECT_EQ(document["paired"][0]["blocks"], 3);
}

TEST_F(CompareTest, RefusesToPairDifferentWindows) {
  AddTwo();
  AddCheckpoint("aaaaaaaaaa");
  AddCheckpoint("bbbbbbbbbb");
  WriteEvaluator(
      "case \"$2\" in *aaaaaaaaaa) w='[10,30]' ;; *) w='[20,60]' ;; esac\n"
      "echo \"{\\\"windows\\\":[$w]}\"\n");
  const Outcome outcome = Run({"base", "higher", "--eval"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("were measured on different windows"));
  WriteEvaluator("echo 'gp-evaluator: no file' >&2\nexit 3\n");
  EXPECT_EQ(Run({"base", "higher", "--eval"}).code, 3);
}

TEST_F(CompareTest, NeedsTwoDifferentRuns) {
  AddTwo();
  EXPECT_EQ(Run({"base"}).code, 2);
  EXPECT_EQ(Run({"base", "base"}).code, 2);
  EXPECT_EQ(Run({"base", "missing"}).code, 3);
}

TEST_F(CompareTest, ARunWithoutPointsIsComparedByItsKeys) {
  AddTwo();
  v1::Run queued = MakeRun("waiting", "cccccccccc", v1::RUN_STATE_QUEUED);
  queued.clear_progress();
  queued.set_resolved("seed: 1\noptimizer: {lr: 0.003}\n");
  service_.AddRun(queued);
  const Outcome outcome = Run({"base", "waiting"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("optimizer.lr +0.001 +0.003\n"));
  EXPECT_THAT(outcome.out, HasSubstr("waiting has no points yet: it is queued"));
}

TEST_F(CompareTest, ALossThatIsNotFiniteIsShown) {
  AddTwo();
  v1::CurvePoints loss;
  loss.set_field("loss");
  Add(1, 5, loss);
  Add(2, NAN, loss);
  service_.SetCurve("bbbbbbbbbb", loss);
  const Outcome outcome = Run({"base", "higher"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("loss \\(last 50 steps\\) +3.0[0-9]+ +nan\n"));
}

}  // namespace
}  // namespace gp::testing
