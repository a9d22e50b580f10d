#include "runspec/parent_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runspec/run_file.h"

namespace gp::runspec {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFork[] = R"(apiVersion: gp/v1
name: fork
init_from: base@150
init_optimizer: keep
init_data: keep
data: {text: [a.txt], tokenizer: bytes}
model: {dropout: 0.1}
batch: {micro_batch: 4, sequence: 16}
budget: {steps: 300}
)";

// A checkpoint after 150 steps of 64 tokens.
ParentState Parent() {
  ParentState parent{.step = 150,
                     .tokens = 150 * 64,
                     .shape = {.layers = 2,
                               .heads = 2,
                               .channels = 32,
                               .context = 16,
                               .vocabulary = 256,
                               .vocabulary_padded = 256}};
  parent.optimizer = "adamw";
  parent.seed = 1337;
  parent.order = "random";
  parent.sequence = 16;
  parent.trained.emplace();
  return parent;
}

RunFileResult Load(const ParentState& parent, const std::vector<std::string>& overrides) {
  LoadOptions options;
  options.find_initial_model = [&](const std::string&, const std::string&) {
    InitialModel model{.path = "/base", .shape = parent.shape, .tokenizer = "bytes"};
    model.state = parent;
    model.has_tokens_of = [](const std::string& name) { return name == "bytes"; };
    return StatusOr<InitialModel>(model);
  };
  return LoadRunFile(kFork, "run.yaml", overrides, options);
}

std::string ProblemsOf(const std::vector<std::string>& overrides,
                       const ParentState& parent = Parent()) {
  return RenderProblems(Load(parent, overrides).problems);
}

std::string WarningsOf(const std::vector<std::string>& overrides,
                       const ParentState& parent = Parent()) {
  const RunFileResult result = Load(parent, overrides);
  EXPECT_THAT(RenderProblems(result.problems), IsEmpty());
  return RenderProblems(result.warnings, "warning");
}

TEST(ParentState, TheSameSettingsGoOn) {
  EXPECT_THAT(ProblemsOf({}), IsEmpty());
  EXPECT_THAT(WarningsOf({}), IsEmpty());
  const RunSpec spec = *Load(Parent(), {}).spec;
  EXPECT_TRUE(spec.KeepsOptimizer());
  EXPECT_TRUE(spec.KeepsData());
  const auto again = LoadRunFile(ResolvedYaml(spec), "resolved.yaml");
  ASSERT_TRUE(again.spec.has_value()) << RenderProblems(again.problems);
  EXPECT_EQ(*again.spec, spec);
}

TEST(ParentState, SettingsThatDecideNothingSoFarMayChange) {
  for (const char* change :
       {"optimizer.lr=1e-4", "schedule.kind=constant", "model.dropout=0", "eval.every=7",
        "batch.micro_batch=2", "resources.workers=1", "budget.tokens=100000"}) {
    EXPECT_THAT(ProblemsOf({change, "batch.total_tokens=64"}), IsEmpty()) << change;
  }
}

TEST(ParentState, AResetRunIsNotCompared) {
  const std::vector<std::string> reset = {"init_optimizer=reset",
                                          "init_data=reset",
                                          "optimizer.kind=muon",
                                          "budget.steps=10",
                                          "data.order=shuffled",
                                          "model.pad_vocab_to=64",
                                          "seed=7"};
  EXPECT_THAT(ProblemsOf(reset), IsEmpty());
  EXPECT_THAT(WarningsOf(reset), IsEmpty());
  const ParentState foreign{.refusal = "holds weights only: it is a Hugging Face directory",
                            .shape = Parent().shape};
  EXPECT_THAT(ProblemsOf({"init_optimizer=reset", "init_data=reset"}, foreign), IsEmpty());
}

TEST(ParentState, WithoutAStateNothingIsKept) {
  const ParentState foreign{.refusal = "holds weights only: it is a Hugging Face directory",
                            .shape = Parent().shape};
  const std::string problems = ProblemsOf({}, foreign);
  EXPECT_THAT(problems,
              HasSubstr("run.yaml:4:17: init_optimizer: keep takes over the optimizer's state, and "
                        "what init_from names holds weights only: it is a Hugging Face directory"));
  EXPECT_THAT(problems, HasSubstr("run.yaml:5:12: init_data: keep takes over the position in the"));
  EXPECT_THAT(problems, HasSubstr("name a checkpoint of a run, or set init_optimizer: reset"));
}

TEST(ParentState, FromScratchThereIsNothingToKeep) {
  const std::string problems = ProblemsOf({"init_from=scratch"});
  EXPECT_THAT(problems, HasSubstr("init_optimizer: keep takes over the state of a checkpoint"));
  EXPECT_THAT(problems, HasSubstr("init_data: keep takes over the state of a checkpoint"));
}

TEST(ParentState, AnOptimizerNeedsItsKindItsModelAndItsParts) {
  EXPECT_THAT(ProblemsOf({"optimizer.kind=muon"}),
              HasSubstr("init_optimizer: keep takes the state of adamw, which made the checkpoint "
                        "in init_from, and optimizer.kind is muon"));
  EXPECT_THAT(ProblemsOf({"optimizer.kind=muon"}),
              HasSubstr("set optimizer.kind: adamw, or init_optimizer: reset"));
  EXPECT_THAT(ProblemsOf({"model.n_ctx=16", "model.vocab=300"}),
              HasSubstr("model.vocab gives 300 ids, the checkpoint has 256"));
  EXPECT_THAT(ProblemsOf({"model.pad_vocab_to=100"}),
              HasSubstr("model.pad_vocab_to gives 300 rows of the embedding, the checkpoint has "
                        "256"));
  EXPECT_THAT(ProblemsOf({"train=[ln_f]"}),
              HasSubstr("train has [ln_f], and the run of the checkpoint in init_from trained all "
                        "parts"));
  ParentState blocks = Parent();
  blocks.trained = ParseTrained("block 1, block 0");
  EXPECT_THAT(ProblemsOf({"train=[blocks]"}, blocks), IsEmpty()) << "the same tensors";
  EXPECT_THAT(ProblemsOf({"train=[ln_f]", "init_optimizer=reset"}, blocks), IsEmpty());
}

TEST(ParentState, AnotherBatchGoesOnAfterWholeMicroBatches) {
  EXPECT_THAT(ProblemsOf({"batch.micro_batch=7"}), IsEmpty()) << "random batches have no order";
  ParentState ordered = Parent();
  ordered.order = "sequential";
  EXPECT_THAT(ProblemsOf({"data.order=sequential", "batch.total_tokens=128"}, ordered), IsEmpty());
  EXPECT_THAT(
      ProblemsOf({"data.order=sequential", "batch.micro_batch=7"}, ordered),
      HasSubstr("continues after the 9,600 tokens that the checkpoint in init_from has used, "
                "and these are not a multiple of 1 logical shard x 7 sequences x 16 tokens "
                "= 112"));
  EXPECT_THAT(ProblemsOf({"data.order=sequential"}),
              HasSubstr("data.order is sequential, the checkpoint in init_from was trained with "
                        "random"));
}

TEST(ParentState, AShuffledOrderBelongsToItsSeedAndSequence) {
  ParentState shuffled = Parent();
  shuffled.order = "shuffled";
  EXPECT_THAT(ProblemsOf({"data.order=shuffled"}, shuffled), IsEmpty());
  EXPECT_THAT(ProblemsOf({"data.order=shuffled", "seed=7"}, shuffled),
              HasSubstr("seed is 7, the checkpoint in init_from was trained with 1337"));
  EXPECT_THAT(
      ProblemsOf({"data.order=shuffled", "batch.sequence=8", "batch.total_tokens=64"}, shuffled),
      HasSubstr("batch.sequence is 8, the checkpoint in init_from was trained with 16"));
  EXPECT_THAT(WarningsOf({"seed=7"}),
              HasSubstr("from step 151 on the choice of batches and dropout follows the new seed"));
}

TEST(ParentState, ABudgetCountsTheEarlierSteps) {
  EXPECT_THAT(ProblemsOf({"budget.steps=151"}), IsEmpty());
  EXPECT_THAT(ProblemsOf({"budget.steps=150"}),
              HasSubstr("no step is left: the run ends at step 150, and with init_data: keep it "
                        "begins after step 150"));
  EXPECT_THAT(ProblemsOf({"budget.steps=0", "budget.tokens=9600"}),
              HasSubstr("raise budget.tokens, which counts the earlier steps, too"));
  EXPECT_THAT(ProblemsOf({"budget.steps=0", "budget.tokens=9728", "batch.total_tokens=128"}),
              IsEmpty())
      << "one step of 128 tokens after the 9,600 of the earlier run";
  EXPECT_THAT(ProblemsOf({"budget.steps=0", "budget.wall_time=1h"}), IsEmpty());
}

TEST(ParentState, OtherTokensHaveNoPlaceInTheData) {
  EXPECT_THAT(ProblemsOf({"data.tokenizer=gpt2"}), HasSubstr("data.tokenizer is gpt2"));
  EXPECT_THAT(ProblemsOf({"data.tokenizer=chars"}), IsEmpty()) << "the trainer compares the text";
}

TEST(ParentState, AnOlderCheckpointIsTrustedWithAWarning) {
  ParentState old = Parent();
  old.optimizer.reset();
  old.seed.reset();
  old.order.reset();
  old.sequence.reset();
  old.trained.reset();
  EXPECT_THAT(WarningsOf({"seed=7", "data.order=shuffled"}, old),
              HasSubstr("an older version of gp wrote the checkpoint in init_from"));
}

TEST(ParentState, TrainedPartsComeBackFromTheirText) {
  for (const std::vector<std::string>& parts :
       {std::vector<std::string>{}, {"ln_f"}, {"last 2 blocks", "ln_f", "wte"}}) {
    EXPECT_EQ(ParseTrained(FormatTrained(parts)), parts);
  }
}

}  // namespace
}  // namespace gp::runspec
