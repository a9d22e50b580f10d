// Goal: every trial of a sweep is checked and resolved before the sweep is accepted.
#include "coordinator/service/sweeps/sweep_submission.h"

#include <gmock/gmock.h>
#include <google/protobuf/reflection.h>
#include <gtest/gtest.h>

#include "coordinator/store/memory_store.h"
#include "lib/base/temporary_directory.h"
#include "proto/every_field.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kRun[] =
    "apiVersion: gp/v1\nname: base\nmodel: {n_layer: 1, n_head: 2, n_embd: 16, n_ctx: 16}\n"
    "data: {text: [/text.txt], tokenizer: bytes, val_fraction: 0.1}\n"
    "batch: {micro_batch: 2, sequence: 16}\nbudget: {steps: 100}\n"
    "schedule: {kind: cosine}\nlabels: {team: research}\n";

TEST(SweepBodyDigest, ChangesWithEveryFieldButTheIdAndTheFilesNames) {
  v1::SubmitSweepRequest request;
  testing::SetEveryField(request);
  const std::string digest = BodyDigest(request);
  const auto* descriptor = v1::SubmitSweepRequest::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    v1::SubmitSweepRequest other = request;
    other.GetReflection()->ClearField(&other, field);
    const bool same = field->name() == "request_id" || field->name() == "source_name" ||
                      field->name() == "run_source_name";
    EXPECT_EQ(BodyDigest(other) == digest, same) << field->name();
  }
}

class PrepareSweepTest : public ::testing::Test {
 protected:
  PrepareSweepTest() : root_(StorageRoot::Open(storage_, directory_.path())) {
    request_.set_request_id("one");
    request_.set_run_source(kRun);
    request_.set_run_source_name("base.yaml");
    request_.set_source_name("sweep.yaml");
  }

  StatusOr<PreparedSweep> Prepare(const std::string& more) {
    request_.set_source("apiVersion: gp/v1\nkind: Sweep\nname: rates\nrun: base.yaml\n" + more);
    return PrepareSweep(request_, true, cluster_, {resolver_, *root_, store_});
  }
  std::string Refusal(const std::string& more) {
    const auto prepared = Prepare(more);
    return prepared.ok() ? "accepted" : Message(prepared.status());
  }

  const TemporaryDirectory directory_;
  const LocalStorage storage_;
  const StatusOr<StorageRoot> root_;
  const SpecResolver resolver_;
  Cluster cluster_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  v1::SubmitSweepRequest request_;
};

TEST_F(PrepareSweepTest, TrialsAreOrdinaryRunsWithLabels) {
  const auto prepared =
      Prepare("grid: {optimizer.lr: [1e-3, 1e-2]}\nrepeats: {seeds: [5, 6]}\nmax_parallel: 3\n");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const SweepSpec& spec = prepared->spec;
  EXPECT_EQ(spec.id(), SweepId("default/rates"));
  EXPECT_EQ(spec.max_parallel, 3);
  EXPECT_EQ(spec.run_source, kRun);
  ASSERT_EQ(spec.trials.size(), 4U);
  const SweepTrial& trial = spec.trials[3];
  EXPECT_EQ(trial.keys,
            (std::map<std::string, std::string>{{"optimizer.lr", "1e-2"}, {"seed", "6"}}));
  EXPECT_EQ(trial.submission.name, "rates-4");
  EXPECT_EQ(trial.submission.labels, (std::map<std::string, std::string>{{"optimizer.lr", "1e-2"},
                                                                         {"seed", "6"},
                                                                         {"sweep", "rates"},
                                                                         {"team", "research"},
                                                                         {"trial", "4"}}));
  EXPECT_THAT(trial.submission.resolved,
              AllOf(HasSubstr("\n  lr: 0.01\n"), HasSubstr("\nseed: 6\n")));
  EXPECT_EQ(trial.submission.target_steps, 100);
  EXPECT_EQ(trial.submission.run_directory, root_->RunDirectory(trial.run));
  EXPECT_NE(trial.run, spec.trials[2].run);
  EXPECT_NE(trial.submission.request_id, spec.trials[2].submission.request_id);
  EXPECT_EQ(prepared->files.size(), 1U);
}

TEST_F(PrepareSweepTest, HalvingDividesTheBudgetAndKeepsTheSchedule) {
  const auto prepared =
      Prepare("grid: {seed: [1, 2, 3, 4]}\nearly_stop: {kind: halving, min_steps: 25, eta: 2}\n");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const SweepSpec& spec = prepared->spec;
  EXPECT_EQ(spec.early_stop.rungs, (std::vector<int64_t>{25, 50, 100}));
  const SweepTrial& trial = spec.trials[0];
  EXPECT_EQ(trial.submission.target_steps, 25);
  EXPECT_EQ(trial.rung_tokens, (std::vector<int64_t>{800, 1600, 3200}));
  EXPECT_THAT(trial.submission.resolved, HasSubstr("\n  decay_steps: 100\n"));
}

TEST_F(PrepareSweepTest, ProblemsHaveTheirPlaceInTheSweepFile) {
  EXPECT_THAT(Refusal("grid: {optimizer.lr: [fast]}\n"),
              HasSubstr("sweep.yaml:5:23: optimizer.lr must be"));
  EXPECT_THAT(Refusal("grid: {model.n_head: [2, 3]}\n"),
              HasSubstr("trial 2 (model.n_head=3):\n"
                        "error: base.yaml:3:40: model.n_embd 16 is not a multiple"));
  EXPECT_THAT(Refusal("grid: {optimizer.beta2: [0.9], batch.sequence: [32]}\n"),
              HasSubstr("error: sweep.yaml:5: batch.sequence 32 is longer than model.n_ctx"));
  request_.set_run_source("apiVersion: gp/v1\nnam: x\n");
  EXPECT_THAT(Refusal("grid: {seed: [1, 2]}\n"), HasSubstr("base.yaml:2:1: unknown key 'nam'"));
}

TEST_F(PrepareSweepTest, EarlyStoppingNeedsWhatItReads) {
  EXPECT_THAT(Refusal("grid: {seed: [1, 2]}\nearly_stop: {kind: median, min_steps: 10}\n"),
              HasSubstr("set eval.every, and checkpoint.every to a multiple of it"));
  EXPECT_THAT(Refusal("grid: {seed: [1, 2]}\nearly_stop: {kind: halving, min_steps: 100}\n"),
              HasSubstr("of more than min_steps (100)"));
  EXPECT_THAT(Refusal("grid: {seed: [1, 2]}\nearly_stop: {kind: halving, min_steps: 10, eta: 3}\n"),
              HasSubstr("so none reaches the last one"));
  EXPECT_THAT(Refusal("grid: {data.val_fraction: [0, 0.1]}\n"),
              HasSubstr("base.yaml: a sweep ranks its trials by val_loss"));
}

TEST_F(PrepareSweepTest, OverridesHoldForEveryTrial) {
  request_.add_overrides("budget.steps=7");
  request_.set_namespace_("team");
  request_.set_name("other");
  const auto prepared = Prepare("grid: {seed: [1, 2]}\n");
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->spec.id(), SweepId("team/other"));
  EXPECT_EQ(prepared->spec.trials[1].submission.target_steps, 7);
  EXPECT_EQ(prepared->spec.trials[1].submission.run_namespace, "team");
}

}  // namespace
}  // namespace gp::coordinator
