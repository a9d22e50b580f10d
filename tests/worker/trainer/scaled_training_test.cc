// Goal: dynamic loss scaling changes only steps that overflow, its skipped steps do not count as
// non-finite ones, and a resume continues exactly with the checkpoint's state. Here the scale is
// applied to fp32 gradients, where multiplying by a power of two is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "worker/engine/step/training_error.h"
#include "worker/trainer/checkpoints.h"
#include "worker/trainer/prepared_run.h"
#include "worker/trainer/standalone_training.h"
#include "worker/trainer/tiny_run.h"
#include "worker/trainer/trainer_process.h"

namespace gp::engine {
namespace {

runspec::RunSpec ScaledSpec() {
  runspec::RunSpec spec = TinySpec();
  spec.precision = runspec::Precision::kFp16;
  spec.stability.skip_nonfinite = false;  // one step that counts as skipped would end the run
  return spec;
}

TEST(ScaledTraining, GivesTheBitsOfTrainingWithoutAScale) {
  auto group = MakeLocalGroup(1, 4);
  TinyRank plain(*group[0]);
  auto other = MakeLocalGroup(1, 4);
  TinyRank scaled(*other[0], ScaledSpec());
  const auto expected = plain.RunSteps(6);
  const auto results = scaled.RunSteps(6);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(results[i].loss, expected[i].loss);
    EXPECT_EQ(results[i].gradient_norm, expected[i].gradient_norm);
  }
  EXPECT_EQ(scaled.Parameters(), plain.Parameters());
  EXPECT_EQ(scaled.training_step().loss_scale()->state().finite_steps, 6);
}

TEST(ScaledTraining, AnOverflowIsSkippedWithoutCountingUntilTheScaleFits) {
  auto group = MakeLocalGroup(1, 4);
  TinyRank rank(*group[0], ScaledSpec());
  rank.training_step().loss_scale()->Restore({.scale = 0x1p127, .finite_steps = 0});
  // Makes gradients of the head's weights too large for fp32 at this scale.
  const runspec::ParameterInfo& gain = rank.model().layout().at("ln_f.weight");
  std::fill_n(rank.model().parameters().begin() + gain.offset, gain.count, 4096.0f);
  const std::vector<float> before = rank.Parameters();
  StepResult result;
  int skipped = 0;
  while ((result = rank.RunSteps(1)[0]).skipped) {
    EXPECT_TRUE(result.overflowed);
    EXPECT_EQ(rank.Parameters(), before);
    ++skipped;
  }
  EXPECT_GT(skipped, 0);
  EXPECT_LT(skipped, 20);
  EXPECT_EQ(rank.training_step().loss_scale()->state().finite_steps, 1);
  EXPECT_NE(rank.Parameters(), before);
}

TEST(ScaledTraining, ALossThatIsNotFiniteIsNobodysScale) {
  auto group = MakeLocalGroup(1, 4);
  TinyRank rank(*group[0], ScaledSpec());
  rank.model().parameters()[0] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(rank.RunSteps(1), TrainingError);
}

TEST(ScaledTraining, RanksKeepOneScale) {
  const std::vector<std::vector<float>> together = TrainTinyGroup(3, 5, ScaledSpec());
  EXPECT_EQ(together[1], together[0]);
  EXPECT_EQ(TrainTinyGroup(1, 5, ScaledSpec())[0], together[0]);
}

// A process that trains in the run's directory; its scale is about to double.
class ScaledProcess {
 public:
  explicit ScaledProcess(const TemporaryDirectory& directory)
      : place_{.run_id = "scaled", .run_directory = directory.File("out"), .incarnation = "one"} {
    const std::string text = directory.Write("text.txt", TinyText());
    run_ = PrepareRun(
        LoadSpecFile({.spec_path = directory.Write("run.yaml", TinyRunFile(text, 16, 0))}), place_);
    CompleteRun(place_, {}, *group_[0], run_);
    run_.spec.precision = runspec::Precision::kFp16;
    budget_.emplace(run_.spec);
    training_step_.emplace(
        run_.spec, run_.plan, *run_.model,
        [this](int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
               std::span<int32_t> targets) {
          EXPECT_TRUE(run_.batches->Fill(step, shard, micro_batch, tokens, targets).ok());
        },
        *group_[0], SystemClock());
    training_step_->set_schedule_steps(16);
    scale().Restore({.scale = 1024, .finite_steps = LossScale::kGrowthInterval - 2});
  }

  void RunSteps(int steps) {
    for (int i = 0; i < steps; ++i) training_step_->Run({});
  }
  std::string Save() {
    std::string saved_in;
    Checkpoints checkpoints(
        place_, run_,
        {.written = [&](const SavedCheckpoint& saved) { saved_in = saved.directory; },
         .await_retry =
             [](const std::string& reason, std::chrono::nanoseconds) {
               throw TrainingError(contract::ExitCause::kStorage, reason);
             }},
        SystemClock());
    checkpoints.SaveLast(*training_step_, *budget_, std::nullopt, /*final=*/true);
    return saved_in;
  }
  void Resume(const std::string& checkpoint) {
    RestoreState({.step = training_step_->step(), .directory = checkpoint}, run_, *training_step_,
                 *budget_);
  }

  LossScale& scale() { return *training_step_->loss_scale(); }
  std::vector<float> Parameters() {
    return {run_.model->parameters().begin(), run_.model->parameters().end()};
  }

 private:
  const TrainingPlace place_;
  const std::vector<std::unique_ptr<Communicator>> group_ = MakeLocalGroup(1, 4);
  PreparedRun run_;
  std::optional<RunBudget> budget_;
  std::optional<TrainingStep> training_step_;
};

TEST(ScaledTraining, GoesOnExactlyFromACheckpoint) {
  const TemporaryDirectory directory;
  ScaledProcess whole(directory);
  whole.RunSteps(3);
  EXPECT_EQ(whole.scale().state(), (LossScale::State{.scale = 2048, .finite_steps = 1}));
  const std::string checkpoint = whole.Save();
  ScaledProcess resumed(directory);
  resumed.Resume(checkpoint);
  EXPECT_EQ(resumed.scale().state(), whole.scale().state());
  whole.RunSteps(3);
  resumed.RunSteps(3);
  EXPECT_EQ(resumed.scale().state(), whole.scale().state());
  EXPECT_EQ(resumed.Parameters(), whole.Parameters());
}

}  // namespace
}  // namespace gp::engine
