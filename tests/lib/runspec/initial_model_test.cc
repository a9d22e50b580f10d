#include "runspec/initial_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runspec/run_file.h"

namespace gp::runspec {
namespace {

using ::testing::HasSubstr;

constexpr char kFineTune[] = R"(apiVersion: gp/v1
name: tune
init_from: ../gpt2
data: {text: [a.txt], tokenizer: gpt2}
budget: {steps: 100}
)";

ModelShape Source() {
  return {.layers = 3,
          .heads = 2,
          .channels = 64,
          .context = 256,
          .vocabulary = 50257,
          .vocabulary_padded = 50257,
          .dropout = 0.1};
}

StatusOr<InitialModel> FindSource(const std::string& reference, const std::string& base) {
  if (reference == "gone") return NotFound("run gone does not exist");
  InitialModel model{.path = base + "+" + reference, .shape = Source()};
  if (reference == "bare") return model;
  model.tokenizer = "/models/gpt2";
  model.has_tokens_of = [](const std::string& name) {
    return name == "gpt2" || name == "/models/gpt2";
  };
  return model;
}

RunFileResult LoadTuned(const std::string& more, const std::vector<std::string>& overrides = {}) {
  LoadOptions options{.base_directory = "/runs/files", .override_directory = "/here"};
  options.find_initial_model = FindSource;
  return LoadRunFile(std::string(kFineTune) + more, "run.yaml", overrides, options);
}

RunSpec Tuned(const std::string& more, const std::vector<std::string>& overrides = {}) {
  const RunFileResult result = LoadTuned(more, overrides);
  EXPECT_TRUE(result.spec.has_value()) << RenderProblems(result.problems);
  return result.spec.value_or(RunSpec{});
}

std::string ProblemOf(const std::string& more, const std::vector<std::string>& overrides = {}) {
  const RunFileResult result = LoadTuned(more, overrides);
  EXPECT_FALSE(result.spec.has_value());
  return RenderProblems(result.problems);
}

TEST(InitialModel, GivesItsShapeToARunFileThatSaysNone) {
  const RunSpec spec = Tuned("model: {pad_vocab_to: 64, dropout: 0.2}\n");
  EXPECT_EQ(spec.init_from, "/runs/files+../gpt2");
  EXPECT_EQ(spec.model.layers, 3);
  EXPECT_EQ(spec.model.vocabulary, 50257);
  EXPECT_EQ(spec.model.vocabulary_padded, 50304);
  EXPECT_EQ(spec.model.dropout, 0.2);
  EXPECT_FALSE(spec.vocabulary_auto);
}

TEST(InitialModel, StandsAboveThePresetAndBelowTheFile) {
  EXPECT_EQ(Tuned("preset: tiny\n").model.layers, 3);
  EXPECT_EQ(Tuned("model: {n_ctx: 128}\n").model.context, 128);
  EXPECT_EQ(Tuned("model: {vocab: 50300}\n").model.vocabulary, 50300);
}

TEST(InitialModel, WhatCannotBeginWithItIsNamedWhereItStands) {
  EXPECT_THAT(ProblemOf("model: {n_layer: 4}\n"),
              HasSubstr("run.yaml:6:18: model.n_layer is 4, but the model of init_from has 3"));
  EXPECT_THAT(ProblemOf("model: {gelu: erf}\n"), HasSubstr("model.gelu is erf"));
  EXPECT_THAT(ProblemOf("model: {n_ctx: 512}\n"), HasSubstr("has only 256 positions"));
  EXPECT_THAT(ProblemOf("model: {vocab: 300}\n"), HasSubstr("has 50257 ids"));
  EXPECT_THAT(ProblemOf("", {"model.n_embd=32"}), HasSubstr("model.n_embd is 32"));
}

// Loads a run file without the key `tokenizer`.
RunFileResult LoadWithoutTokenizer(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {"name=tune", "init_from=../gpt2", "data.text=[a.txt]",
                                  "budget.steps=100"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  LoadOptions options;
  options.find_initial_model = FindSource;
  return LoadRunFile("apiVersion: gp/v1\n", "run.yaml", all, options);
}

TEST(InitialModel, GivesItsTokenizerToARunFileThatSaysNone) {
  const RunFileResult plain = LoadWithoutTokenizer({});
  ASSERT_TRUE(plain.spec.has_value()) << RenderProblems(plain.problems);
  EXPECT_EQ(plain.spec->data.tokenizer, "/models/gpt2");
  EXPECT_TRUE(plain.warnings.empty());
  EXPECT_EQ(LoadWithoutTokenizer({"preset=shakespeare-char"}).spec->data.tokenizer, "/models/gpt2");
  EXPECT_EQ(Tuned("").data.tokenizer, "gpt2") << "as the file says";
}

TEST(InitialModel, WarnsOfIdsThatMeanOtherTokens) {
  EXPECT_TRUE(LoadTuned("").warnings.empty());
  const auto words = [](const std::vector<std::string>& overrides) {
    return RenderProblems(LoadWithoutTokenizer(overrides).warnings, "warning");
  };
  EXPECT_THAT(words({"data.tokenizer=bytes"}),
              HasSubstr("data.tokenizer is bytes, but the model of init_from was trained with "
                        "another tokenizer"));
  EXPECT_THAT(words({"init_from=bare"}),
              HasSubstr("comes without a tokenizer: data.tokenizer is bytes"));
  EXPECT_THAT(words({"init_from=bare", "data.tokenizer=gpt2"}), ::testing::IsEmpty());
}

TEST(InitialModel, OneThatIsNotFoundIsSaidAtItsKey) {
  EXPECT_THAT(ProblemOf("", {"init_from=gone"}), HasSubstr("run gone does not exist"));
}

TEST(InitialModel, PathsOfOverridesStartWhereTheyWereTyped) {
  EXPECT_EQ(Tuned("", {"init_from=./other"}).init_from, "/here+./other");
}

TEST(InitialModel, IsWhatTheResolvedFileSays) {
  const RunSpec spec = Tuned("");
  const RunFileResult again = LoadRunFile(ResolvedYaml(spec), "resolved.yaml");
  ASSERT_TRUE(again.spec.has_value()) << RenderProblems(again.problems);
  EXPECT_EQ(*again.spec, spec);
}

}  // namespace
}  // namespace gp::runspec
