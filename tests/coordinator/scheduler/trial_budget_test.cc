// Goal: the run file of a rung is what the schema would write for its budget.
#include "coordinator/scheduler/trial_budget.h"

#include <gtest/gtest.h>

#include "coordinator/sample_sweep.h"
#include "runspec/run_file.h"

namespace gp::coordinator {
namespace {

std::string Resolved(int64_t steps) {
  const auto run = runspec::LoadRunFile(
      "apiVersion: gp/v1\nname: a\nmodel: {n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}\n"
      "data: {text: [/t], tokenizer: bytes}\nbatch: {micro_batch: 2, sequence: 16}\n"
      "schedule: {decay_steps: 40}\n",
      "run.yaml", {fmt::format("budget.steps={}", steps)});
  EXPECT_TRUE(run.spec) << RenderProblems(run.problems);
  return runspec::ResolvedYaml(*run.spec);
}

TEST(TrialBudget, IsThatOfTheRung) {
  SweepSpec spec = FourTrials(Halving());
  spec.trials[0].submission.resolved = Resolved(10);
  const Submission next = WithBudgetOfRung(spec, spec.trials[0], 1);
  EXPECT_EQ(next.target_steps, 20);
  EXPECT_EQ(next.target_tokens, 200);
  EXPECT_EQ(next.source, "name: base\n");
  EXPECT_EQ(next.resolved, Resolved(20));
  EXPECT_EQ(WithBudgetOfRung(spec, spec.trials[0], 2).resolved, Resolved(40));
}

}  // namespace
}  // namespace gp::coordinator
