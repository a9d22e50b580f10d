#include "client/gpctl/commands/results/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Three steps, the last of which is evaluated.
ComparedRun RunOf(const std::string& name, const std::string& id, int tokens_per_step,
                  const std::string& resolved) {
  v1::Run run = gp::testing::MakeRun(name, id, v1::RUN_STATE_SUCCEEDED);
  run.set_resolved(resolved);
  ComparedRun compared{.named = {run, name}, .loss = {}, .validation = {}};
  for (int step = 1; step <= 3; ++step) {
    for (v1::CurvePoints* curve : {&compared.loss, &compared.validation}) {
      if (curve == &compared.validation && step < 3) continue;
      curve->add_steps(step);
      curve->add_tokens(step * tokens_per_step);
      curve->add_seconds(step);
      curve->add_values(4.0 - step);
    }
  }
  return compared;
}

std::string TextOf(std::vector<ComparedRun> runs, std::vector<PairedRuns> paired = {}) {
  const auto comparison = Comparison::Make(std::move(runs), std::move(paired));
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return comparison->Text(0, {});
}

TEST(Comparison, ComparesAtEqualTokensWhenStepsHaveOtherNumbersOfThem) {
  const std::string same =
      TextOf({RunOf("a", "aaaaaaaaaa", 10, ""), RunOf("b", "bbbbbbbbbb", 10, "")});
  EXPECT_THAT(same, Not(HasSubstr("loss at 30 tokens")));
  const std::string other =
      TextOf({RunOf("a", "aaaaaaaaaa", 10, ""), RunOf("b", "bbbbbbbbbb", 20, "")});
  EXPECT_THAT(other, HasSubstr("loss at 30 tokens"));
}

TEST(Comparison, NamesRunsWithOneSeedAndKeysOfWindows) {
  const std::string text = TextOf({RunOf("a", "aaaaaaaaaa", 10, "seed: 1\nname: a\n"),
                                   RunOf("b", "bbbbbbbbbb", 10, "seed: 1\nname: b\n")});
  EXPECT_THAT(text, HasSubstr("The run files have the same values."));
  EXPECT_THAT(text, HasSubstr("One seed each: the noise of seeds is unknown."));
  EXPECT_THAT(TextOf({RunOf("a", "aaaaaaaaaa", 10, "eval: {batches: 4}\n"),
                      RunOf("b", "bbbbbbbbbb", 10, "eval: {batches: 8}\n")}),
              HasSubstr("different windows of text (eval.batches differs)"));
}

TEST(Comparison, SaysWhetherAPairedDifferenceIsClear) {
  PairedRuns pair{.first = "a@3", .second = "b@3", .paired = {}};
  pair.paired = {.windows = 5, .tokens = 50, .first = 4, .second = 3.9, .difference = -0.1};
  pair.paired.standard_error = 0.1;
  const auto text = [&] {
    return TextOf({RunOf("a", "aaaaaaaaaa", 10, ""), RunOf("b", "bbbbbbbbbb", 10, "")}, {pair});
  };
  EXPECT_THAT(text(),
              HasSubstr("-0.1000, standard error 0.1000. That is within 2 standard errors"));
  pair.paired.standard_error = 0.01;
  EXPECT_THAT(text(), HasSubstr("That is more than 2 standard errors"));
  pair.paired.standard_error.reset();
  EXPECT_THAT(text(), HasSubstr("One block gives no standard error."));
}

TEST(Comparison, AFileThatIsNotYamlIsAnError) {
  EXPECT_FALSE(
      Comparison::Make({RunOf("a", "aaaaaaaaaa", 10, "{"), RunOf("b", "bbbbbbbbbb", 10, "")}, {})
          .ok());
}

}  // namespace
}  // namespace gp::gpctl
