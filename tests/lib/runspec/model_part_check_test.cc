// Goal: a run file with an unknown model part is refused with the part's line and column and the
// possible names.
#include "runspec/model_part_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runspec/run_file.h"

namespace gp::runspec {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The file's first six lines; the keys in `more` start on line 7.
constexpr char kTuned[] = R"(apiVersion: gp/v1
name: tune
init_from: /models/base
data: {text: [a.txt]}
model: {n_layer: 4}
budget: {steps: 100}
)";

std::string Problems(const std::string& more, const std::vector<std::string>& overrides = {}) {
  return RenderProblems(LoadRunFile(kTuned + more, "run.yaml", overrides).problems);
}

std::string Warnings(const std::string& text) {
  return RenderProblems(LoadRunFile(text, "run.yaml").warnings, "warning");
}

TEST(ModelPartCheck, TakesEveryForm) {
  EXPECT_THAT(Problems("train: [wte, wpe, blocks, block 3, first 2 blocks, last 4 blocks, ln_f]\n"),
              IsEmpty());
  EXPECT_THAT(Problems("train: last 2 blocks\nlearning_rates: {last 2 blocks: 1e-4}\n"), IsEmpty());
  EXPECT_THAT(Problems("", {"train=[ln_f]", "learning_rates={ln_f: 1e-4}"}), IsEmpty());
  EXPECT_THAT(Problems("train: [lm_head]\n", {"model.tie_embeddings=false"}), IsEmpty());
}

TEST(ModelPartCheck, NamesTheEntryItsPlaceAndWhatIsPossible) {
  const std::string words = Problems("train: [ln_f, lst 2 blocks]\n");
  EXPECT_THAT(words, HasSubstr("run.yaml:7:15: train names 'lst 2 blocks', which is not part of "
                               "this model"));
  EXPECT_THAT(words, HasSubstr("did you mean 'last 2 blocks'?"));
  EXPECT_THAT(words, HasSubstr("wte, wpe, blocks, block 0 to block 3, first N blocks, last N "
                               "blocks, ln_f"));
  EXPECT_THAT(Problems("train: [block 4]\n"), HasSubstr("block 0 to block 3"));
  EXPECT_THAT(Problems("train: [lm_head]\n"), HasSubstr("the head shares the weights of wte"));
  EXPECT_THAT(Problems("train: [ln_f]\n", {"train=[wt]"}),
              HasSubstr("error: --set train: train names 'wt'"));
}

TEST(ModelPartCheck, RefusesRatesThatCannotBe) {
  EXPECT_THAT(Problems("learning_rates: {wt: 1e-4}\n"),
              HasSubstr("run.yaml:7:18: learning_rates names 'wt'"));
  EXPECT_THAT(Problems("train: [ln_f]\nlearning_rates: {ln_f: 1e-4, wte: 1e-5}\n"),
              HasSubstr("run.yaml:8:30: learning_rates has 'wte', which train leaves frozen"));
  EXPECT_THAT(Problems("learning_rates: {block 3: 1e-4, last 2 blocks: 1e-5}\n"),
              HasSubstr("'block 3' and 'last 2 blocks' overlap"));
  EXPECT_THAT(
      Problems("learning_rates: {wte: fast}\n"),
      HasSubstr("run.yaml:7:23: learning_rates must be a map of text to numbers above 0 and "
                "at most 10, not 'fast' inside it"));
  EXPECT_THAT(Problems("learning_rates: {wte: -1}\n"), HasSubstr("not '-1' inside it"));
  EXPECT_THAT(Problems("learning_rates: 1e-4\n"), HasSubstr("learning_rates must be a map"));
}

TEST(ModelPartCheck, MuonTakesRatesForWhatItLeavesToAdamW) {
  const std::vector<std::string> muon = {"optimizer.kind=muon"};
  EXPECT_THAT(Problems("learning_rates: {wte: 1e-4}\n", muon), IsEmpty());
  EXPECT_THAT(Problems("learning_rates: {block 1: 1e-4}\n", muon),
              HasSubstr("not possible with optimizer.kind: muon"));
}

TEST(ModelPartCheck, WarnsOfFrozenRandomWeights) {
  EXPECT_THAT(Warnings("apiVersion: gp/v1\nname: a\ndata: {text: [a]}\nbudget: {steps: 100}\n"
                       "train: [ln_f]\n"),
              HasSubstr("run.yaml:5:8: train freezes parts of a model that begins from scratch"));
  EXPECT_THAT(Warnings(std::string(kTuned) + "train: [ln_f]\n"), IsEmpty());
}

TEST(ModelPartCheck, KeysComeBackFromTheResolvedFile) {
  const auto loaded = LoadRunFile(
      std::string(kTuned) + "train: [last 2 blocks, ln_f]\nlearning_rates: {ln_f: 5e-5}\n",
      "run.yaml");
  ASSERT_TRUE(loaded.spec.has_value());
  EXPECT_EQ(loaded.spec->train, (std::vector<std::string>{"last 2 blocks", "ln_f"}));
  EXPECT_EQ(loaded.spec->learning_rates, (std::map<std::string, double>{{"ln_f", 5e-5}}));
  EXPECT_EQ(LoadRunFile(ResolvedYaml(*loaded.spec), "resolved.yaml").spec, loaded.spec);
}

}  // namespace
}  // namespace gp::runspec
