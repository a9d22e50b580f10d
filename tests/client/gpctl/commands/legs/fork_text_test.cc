// Goal: before a fork starts, a user reads what it keeps, how far it trains, and both rates.
#include "client/gpctl/commands/legs/fork_text.h"

#include <gtest/gtest.h>

#include "client/gpctl/render/leg_text.h"
#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

class ForkTextTest : public ::testing::Test {
 protected:
  ForkTextTest() {
    const auto file = runspec::LoadRunFile(
        "apiVersion: gp/v1\nname: base\nmodel: {n_ctx: 16}\n"
        "data: {text: [/text.txt], tokenizer: bytes}\nbatch: {micro_batch: 2, sequence: 16}\n"
        "budget: {steps: 300}\n",
        "run.yaml");
    EXPECT_TRUE(file.spec.has_value());
    source_ = {.text = "base@150",
               .run = "base",
               .run_id = "aaaaaaaa01",
               .directory = "/c",
               .run_file = runspec::ResolvedYaml(*file.spec),
               .step = 150,
               .tokens = 4800};
  }

  std::string Text(const ForkRequest& request) const {
    const auto fork = MakeForkRunFile(source_, request, "gpctl fork base");
    EXPECT_TRUE(fork.ok()) << fork.status();
    return ForkText(source_, *fork);
  }

  ForkSource source_;
};

TEST_F(ForkTextTest, SaysWhatIsKeptAndWhichRateFollows) {
  EXPECT_EQ(
      Text({.overrides = {"optimizer.lr=5e-4"}}),
      "  from      base@150 (aaaaaaaa01), after 4,800 tokens\n"
      "  keeps     weights, optimizer, position in the data\n"
      "  changes   optimizer.lr 0.001 -> 0.0005\n"
      "  trains    150 steps, from step 150 to step 300: 4,800 tokens\n"
      "  parent    learning rate 0.00055 in base at step 150\n"
      "  fork      learning rate 0.000275 at step 150, 5e-05 at step 300: the cosine schedule "
      "ends at step 300\n");
}

TEST_F(ForkTextTest, SaysWhyTheDataBeginAgain) {
  source_.superseded = true;
  EXPECT_EQ(Text({.overrides = {"seed=7"}, .reset_optimizer = true}),
            "  from      base@150 (aaaaaaaa01), after 4,800 tokens; a later leg of the run began "
            "before that step (superseded)\n"
            "  keeps     weights alone; steps, schedule and data begin at 0: seed changes\n"
            "  changes   seed 1337 -> 7\n"
            "  trains    300 steps, from the start to step 300: 9,600 tokens\n"
            "  parent    learning rate 0.00055 in base at step 150\n"
            "  fork      learning rate 0.001 at step 0, 0.0001 at step 300: the cosine schedule "
            "ends at step 300\n");
}

TEST_F(ForkTextTest, ADirectoryOfNoKnownRunHasItsStep) {
  source_.text = source_.directory = "/copy/step-150";
  source_.run_id = "";
  EXPECT_TRUE(Text({}).starts_with("  from      /copy/step-150, step 150, after 4,800 tokens\n"))
      << Text({});
}

}  // namespace
}  // namespace gp::gpctl
