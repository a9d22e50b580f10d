#include "client/gpctl/commands/results/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/terminal/display_text.h"

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

// On a narrow terminal every value is there, in several tables that begin with the first run.
TEST(Comparison, NoValueIsCutAway) {
  std::vector<ComparedRun> runs;
  for (const char* name : {"base", "second", "third", "a-run-with-a-name-of-some-length"}) {
    runs.push_back(RunOf(name, std::string("aaaaaaaaa") + name[0], 10,
                         fmt::format("init_from: /a/long/path/to/the/checkpoint/of/{}\n", name)));
  }
  const auto comparison = Comparison::Make(std::move(runs), {});
  ASSERT_TRUE(comparison.ok());
  for (const int width : {60, 80, 100, 160}) {
    const std::string text = comparison->Text(0, {.width = width});
    size_t tables = 0;
    size_t values = 0;
    for (size_t at = 0; (at = text.find("val_loss, last", at)) != std::string::npos; ++at) {
      ++tables;
      const std::string line = text.substr(at, text.find('\n', at) - at);
      for (size_t i = 0; (i = line.find("1.0000", i)) != std::string::npos; ++i) ++values;
    }
    EXPECT_EQ(values, 3 + tables) << width << "\n" << text;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      EXPECT_LE(DisplayWidth(text.substr(at, end - at)), width);
      at = end + 1;
    }
  }
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

TEST(Comparison, RunsAreRepeatsThoughTheySampleAtOtherSteps) {
  const std::string text =
      TextOf({RunOf("a", "aaaaaaaaaa", 10, "seed: 1\nsample: {every: 5}\noptimizer: {lr: 1}\n"),
              RunOf("b", "bbbbbbbbbb", 10, "seed: 2\nsample: {every: 9}\noptimizer: {lr: 1}\n")});
  EXPECT_THAT(text, HasSubstr("a, b differ only in the seed: their last val_loss is 1.0000"));
  EXPECT_THAT(TextOf({RunOf("a", "aaaaaaaaaa", 10, "seed: 1\noptimizer: {lr: 1}\n"),
                      RunOf("b", "bbbbbbbbbb", 10, "seed: 2\noptimizer: {lr: 2}\n")}),
              HasSubstr("One seed each"));
}

TEST(Comparison, SaysWhetherAPairedDifferenceIsClear) {
  PairedRuns pair{.first = "a@3", .second = "b@3", .paired = {}};
  pair.paired = {.windows = 5, .tokens = 50, .first = 4, .second = 3.9, .difference = -0.1};
  pair.paired.standard_error = 0.1;
  const auto text = [&] {
    return TextOf({RunOf("a", "aaaaaaaaaa", 10, ""), RunOf("b", "bbbbbbbbbb", 10, "")}, {pair});
  };
  EXPECT_THAT(text(),
              HasSubstr("-0.1000, standard error 0.1000, 95 % interval -0.3776 to +0.1776. It "
                        "contains 0"));
  pair.paired.standard_error = 0.01;
  EXPECT_THAT(text(), HasSubstr("It does not contain 0: these two checkpoints differ"));
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
