#include "client/gpctl/render/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;

const AvailableMemory kPlenty{int64_t{64} << 30, "MemAvailable"};

runspec::RunSpec Spec(const std::vector<std::string>& overrides) {
  std::vector<std::string> all = {
      "preset=gpt2-124m",    "data.train=[a.bin]", "data.val=[b.bin]",       "resources.threads=2",
      "batch.micro_batch=4", "batch.sequence=64",  "batch.total_tokens=2048"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const auto result = runspec::LoadRunFile("{}", "run.yaml", all);
  EXPECT_TRUE(result.spec.has_value()) << RenderProblems(result.problems);
  return result.spec.value_or(runspec::RunSpec());
}

TEST(PlanText, TellsTheMemoryByPurpose) {
  const runspec::RunSpec spec = Spec({});
  EXPECT_THAT(PlanText(spec, kPlenty), HasSubstr("GiB for each worker (weights "));
  EXPECT_THAT(PlanText(spec, kPlenty), HasSubstr("optimizer "));
  const Json fields = PlanFields(spec, kPlenty);
  int64_t sum = 0;
  for (const auto& [name, bytes] : fields["memory"].items()) sum += bytes.get<int64_t>();
  EXPECT_EQ(fields["memory_bytes"], sum);
  EXPECT_EQ(fields["fits"], true);
  EXPECT_EQ(fields["memory_available_bytes"], kPlenty.bytes);
  EXPECT_EQ(MemoryWarning(spec, kPlenty), std::nullopt);
}

TEST(PlanText, ShowsTheSharesAndPassesOfAMixture) {
  const runspec::RunSpec spec = Spec({"data.train=[a.bin, b.bin]", "data.weights=[3, 1]",
                                      "data.order=random", "budget.tokens=0", "budget.steps=100"});
  EXPECT_THAT(PlanText(spec, kPlenty), HasSubstr("mixture    75 % a.bin, 25 % b.bin\n"));
  DataReport data;
  data.entry_tokens = {76800, 102400};  // 100 steps use 204,800 tokens
  EXPECT_THAT(PlanText(spec, kPlenty, &data),
              HasSubstr("mixture    75 % a.bin (2 passes), 25 % b.bin (0.5 passes)\n"));
  data.entry_tokens = {2, 512'000'000};
  EXPECT_THAT(PlanText(spec, kPlenty, &data),
              HasSubstr("75 % a.bin (76,800 passes), 25 % b.bin (less than 0.001 passes)\n"));
}

TEST(PlanText, TellsWhatIsTrained) {
  EXPECT_THAT(PlanText(Spec({}), kPlenty), ::testing::Not(HasSubstr("trained ")));
  EXPECT_FALSE(PlanFields(Spec({}), kPlenty).contains("trained_parameters"));
  const std::string fixed = "model.vocab=50257";
  const runspec::RunSpec some = Spec(
      {fixed, "train=[last 2 blocks, ln_f]", "init_from=/base", "learning_rates={ln_f: 2e-5}"});
  const std::string text = PlanText(some, kPlenty);
  EXPECT_THAT(text, HasSubstr("  parent     /base\n"));
  EXPECT_THAT(text, HasSubstr("last 2 blocks, ln_f: 14.2M parameters; lr of ln_f 2e-05"));
  EXPECT_EQ(PlanFields(some, kPlenty)["trained_parameters"], 2 * 7087872 + 1536);
  EXPECT_LT(PlanFields(some, kPlenty)["memory_bytes"],
            PlanFields(Spec({fixed}), kPlenty)["memory_bytes"]);
}

TEST(PlanText, WarnsOfWhatDoesNotFitAndNamesWhatWould) {
  const runspec::RunSpec spec =
      Spec({"batch.micro_batch=32", "batch.sequence=1024", "batch.total_tokens=32768"});
  const int64_t needed = PlanFields(spec, kPlenty)["memory_bytes"];
  const AvailableMemory less{needed - 1, "MemAvailable"};
  const auto warning = MemoryWarning(spec, less);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, HasSubstr("does not fit this machine"));
  EXPECT_THAT(*warning, HasSubstr("batch.micro_batch=16"));
  EXPECT_EQ(PlanFields(spec, less)["fits"], false);
  EXPECT_EQ(PlanFields(spec, less)["memory_warning"], *warning);
  EXPECT_THAT(MemoryWarning(spec, {1 << 20, "ulimit"}).value_or(""), HasSubstr("smaller model"));
}

TEST(PlanText, WorkersOfThisMachineShareItsMemory) {
  const runspec::RunSpec spec = Spec({"resources.workers=2", "resources.threads=1"});
  const int64_t needed = PlanFields(spec, kPlenty)["memory_bytes"];
  const int64_t sharing = std::min<int64_t>(2, sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_TRUE(MemoryWarning(spec, {sharing * (needed - 1), "MemAvailable"}));
  EXPECT_FALSE(MemoryWarning(spec, {sharing * needed, "MemAvailable"}));
}

TEST(PlanText, TheMemoryOfAGpuIsNotThisMachines) {
  const runspec::RunSpec spec = Spec({"resources.device=gpu"});
  const AvailableMemory little{1 << 20, "MemAvailable"};
  EXPECT_EQ(MemoryWarning(spec, little), std::nullopt);
  EXPECT_THAT(PlanText(spec, little), HasSubstr("of GPU memory for each worker"));
  EXPECT_FALSE(PlanFields(spec, little).contains("fits"));
}

TEST(PlanText, WorkersThatTakeAWholeMachineDoNotShareIt) {
  const runspec::RunSpec spec = Spec({"resources.workers=4", "resources.threads=4096"});
  const int64_t needed = PlanFields(spec, kPlenty)["memory_bytes"];
  EXPECT_FALSE(MemoryWarning(spec, {needed, "MemAvailable"}));
}

TEST(PlanText, AnAutomaticMicroBatchIsForecastForThisMachine) {
  const runspec::RunSpec spec =
      Spec({"batch.micro_batch=auto", "batch.sequence=1024", "batch.total_tokens=32768"});
  EXPECT_EQ(PlanFields(spec, kPlenty)["micro_batch"], 32);
  EXPECT_EQ(PlanFields(spec, kPlenty)["accumulation"], 1);
  EXPECT_THAT(PlanText(spec, kPlenty), HasSubstr("1 x 32 sequences (auto, here) x 1024 tokens"));
  const AvailableMemory less{PlanFields(spec, kPlenty)["memory_bytes"].get<int64_t>() - 1, ""};
  EXPECT_EQ(PlanFields(spec, less)["micro_batch"], 16);
  EXPECT_EQ(PlanFields(spec, less)["accumulation"], 2);
  EXPECT_EQ(PlanFields(spec, {1 << 20, ""})["fits"], false);
}

TEST(PlanText, CountsTheTokensOfARampAndTheWarmUpInSteps) {
  const runspec::RunSpec spec =
      Spec({"batch.ramp_from_tokens=256", "batch.ramp_steps=7", "budget.steps=10",
            "budget.tokens=0", "schedule.warmup_tokens=4k", "eval.patience=3"});
  const std::string text = PlanText(spec, kPlenty);
  EXPECT_THAT(text, HasSubstr("; from 256 tokens over the first 7 steps"));
  // 1 to 7 micro-batches of 256 tokens, then 3 steps of 8.
  EXPECT_THAT(text, HasSubstr("10 steps = 13.3k tokens; warm-up 6 steps"));
  EXPECT_THAT(text, HasSubstr("stops after 3 evaluations without improvement"));
}

}  // namespace
}  // namespace gp::gpctl
