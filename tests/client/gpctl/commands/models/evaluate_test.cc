// gpctl eval over a stand-in for gp-evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/gpctl/gpctl_runner.h"
#include "lib/formats/sample_checkpoint.h"

namespace gp::gpctl {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;

constexpr char kLoss[] =
    R"({"checkpoint":"/c","step":10,"precision":"fp32","task":"val","val_loss":1.5,"val_bpb":2.25,)"
    R"("tokens":1000,"bytes":2000})";
constexpr char kAnswers[] =
    R"({"checkpoint":"/c","step":10,"precision":"fp32","task":"hellaswag","style":"harness","acc":0.25,)"
    R"("acc_norm":0.5,"correct":2,"correct_norm":4,"items":8})";

class EvalCommandTest : public ::testing::Test {
 protected:
  EvalCommandTest() { formats::WriteSampleCheckpoint(checkpoint_, 10); }

  // Writes a stand-in that prints a line of progress and `result`, and records its arguments.
  void WriteEvaluator(const std::string& result, int code = 0) {
    const std::string path = gpctl_.home() + "/gp-evaluator";
    std::ofstream(path) << "#!/bin/sh\necho \"$*\" >\"$0.arguments\"\n"
                        << "echo '{\"done\":3,\"of\":12}'\necho '" << result << "'\nexit " << code
                        << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  std::string Arguments() const {
    return ReadFile(gpctl_.home() + "/gp-evaluator.arguments").value_or("");
  }

  Outcome Eval(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"eval", checkpoint_});
    return gpctl_.Run(more);
  }

  testing::GpctlRunner gpctl_;
  const std::string checkpoint_ = gpctl_.home() + "/checkpoint";
};

TEST_F(EvalCommandTest, PrintsLossAndBitsPerByteAndNothingElseInAPipe) {
  WriteEvaluator(kLoss);
  const Outcome outcome = Eval();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "checkpoint   /c   step 10, computed in fp32\n"
            "val loss     1.5000 nats per token   1,000 tokens\n"
            "val bpb      2.2500 bits a byte\n");
  EXPECT_THAT(Arguments(),
              AllOf(HasSubstr("--checkpoint " + checkpoint_), HasSubstr("--task val")));
}

TEST_F(EvalCommandTest, SaysWhenTheBytesAreUnknown) {
  json result = json::parse(kLoss);
  result["val_bpb"] = nullptr;
  WriteEvaluator(result.dump());
  EXPECT_THAT(Eval().out, HasSubstr("val bpb      unknown: the checkpoint's tokenizer"));
}

TEST_F(EvalCommandTest, PrintsBothAccuraciesWithTheirStyle) {
  WriteEvaluator(kAnswers);
  const Outcome outcome = Eval(
      {"--task", "hellaswag", "--file", "h.jsonl", "--style", "harness", "--items", "items.jsonl"});
  EXPECT_THAT(outcome.out, HasSubstr("acc          0.2500   2 of 8 right, harness style\n"
                                     "acc_norm     0.5000   4 of 8 right, harness style\n"));
  EXPECT_THAT(Arguments(), AllOf(HasSubstr("--style harness"), HasSubstr("/h.jsonl"),
                                 HasSubstr("/items.jsonl")));
}

TEST_F(EvalCommandTest, IsADocumentForPrograms) {
  WriteEvaluator(kAnswers);
  const json document =
      json::parse(Eval({"--task", "hellaswag", "--file", "h.jsonl", "-o", "json"}).out);
  EXPECT_EQ(document["kind"], "Evaluation");
  EXPECT_EQ(document["acc_norm"], 0.5);
  EXPECT_EQ(document["style"], "harness");
}

TEST_F(EvalCommandTest, ATerminalSeesHowFarItIs) {
  WriteEvaluator(kLoss);
  gpctl_.terminal = true;
  EXPECT_THAT(Eval().out, AllOf(HasSubstr("25.0%, 3 of 12 batches"), HasSubstr(" left")));
}

TEST_F(EvalCommandTest, HandsOnTheEvaluatorsExitCodes) {
  for (const int code : {1, 2, 3, 9}) {
    WriteEvaluator("", code);
    const Outcome outcome = Eval();
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(EvalCommandTest, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(Eval().err, HasSubstr("gp-evaluator is missing: it belongs beside gpctl"));
  WriteEvaluator(kLoss);
  EXPECT_EQ(Eval({"--task", "choices"}).code, 2);
  EXPECT_EQ(Eval({"--task", "choices", "--file", "a", "--file", "b"}).code, 2);
  EXPECT_EQ(Eval({"--items", "i"}).code, 2);
  EXPECT_EQ(gpctl_.Run({"eval", gpctl_.home() + "/absent"}).code, 3);
}

}  // namespace
}  // namespace gp::gpctl
