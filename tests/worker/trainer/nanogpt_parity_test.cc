// Goal: from nanoGPT's initialisation, which `init: torch` reproduces bit for bit, and with
// nanoGPT's batches, the trainer's fp32 losses of the first 100 steps equal nanoGPT's within 1e-4,
// with every instruction set of this processor (large cases: without the generic one). The fixtures
// come from PyTorch (tests/bench/peers/nanogpt_losses.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "formats/sha256.h"
#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/engine/step/training_step.h"

namespace gp::engine {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-4;
constexpr uint64_t kFixtureBytesMax = 1 << 20;

Json ReadFixture(const std::string& name) {
  const std::string source = std::getenv("GP_SOURCE");
  return Json::parse(
      ReadFile(source + "/tests/golden/nanogpt/" + name + ".json", kFixtureBytesMax).value());
}

runspec::ModelShape ShapeOf(const Json& fixture) {
  runspec::ModelShape shape;
  shape.layers = fixture["layers"];
  shape.heads = fixture["heads"];
  shape.channels = fixture["channels"];
  shape.context = fixture["context"];
  shape.vocabulary = shape.vocabulary_padded = fixture["vocabulary"];
  shape.bias = fixture["bias"];
  shape.gelu = fixture["gelu"] == "erf" ? runspec::Gelu::kErf : runspec::Gelu::kTanh;
  return shape;
}

runspec::RunSpec SpecOf(const Json& fixture) {
  runspec::RunSpec spec;
  spec.model = ShapeOf(fixture);
  spec.seed = fixture["seed"];
  spec.batch = {.micro_batch = fixture["batch"], .sequence = fixture["length"]};
  spec.optimizer = {.lr = fixture["lr"], .beta1 = 0.9, .beta2 = fixture["beta2"]};
  spec.schedule.warmup_steps = fixture["warmup"];
  spec.schedule.decay_steps = fixture["decay"];
  return spec;
}

runspec::BatchPlan PlanOf(const runspec::RunSpec& spec, const Json& fixture) {
  const int64_t accumulation = fixture["accumulation"];
  return {.logical_shards = 1,
          .accumulation = accumulation,
          .tokens_per_step = accumulation * spec.batch.micro_batch * spec.batch.sequence};
}

// Row `number`, counted over all steps, as the script makes it: each token depends on the previous
// one, with noise.
void FillRow(int64_t number, int32_t vocabulary, std::span<int32_t> tokens,
             std::span<int32_t> targets) {
  auto state = static_cast<uint64_t>(number) + 1;
  int32_t last = -1;
  for (size_t i = 0; i <= tokens.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t draw = state >> 33;
    const bool follows = last >= 0 && draw % 8 != 0;
    last = follows ? (5 * last + 3) % vocabulary
                   : static_cast<int32_t>(draw / 8 % static_cast<uint64_t>(vocabulary));
    if (i < tokens.size()) tokens[i] = last;
    if (i > 0) targets[i - 1] = last;
  }
}

TrainingStep::FillBatch BatchesOf(const runspec::RunSpec& spec, int64_t accumulation) {
  return [&spec, accumulation](int64_t step, int, int64_t micro_batch, std::span<int32_t> tokens,
                               std::span<int32_t> targets) {
    const auto length = static_cast<size_t>(spec.batch.sequence);
    for (int64_t row = 0; row < spec.batch.micro_batch; ++row) {
      const size_t first = static_cast<size_t>(row) * length;
      FillRow((step * accumulation + micro_batch) * spec.batch.micro_batch + row,
              static_cast<int32_t>(spec.model.vocabulary), tokens.subspan(first, length),
              targets.subspan(first, length));
    }
  };
}

std::unique_ptr<LanguageModel> MakeModel(const runspec::RunSpec& spec, Isa isa) {
  auto model = MakeLanguageModel({.shape = spec.model,
                                  .micro_batch = spec.batch.micro_batch,
                                  .sequence = spec.batch.sequence,
                                  .isa = isa});
  InitializeTorch(spec.seed, *model);
  return model;
}

// Tensors such as "h.0.ln_1.weight" have the same names in nanoGPT, except that it calls the tied
// head lm_head.
void ExpectInitialBits(const Json& fixture, LanguageModel& model) {
  for (const auto& [name, digest] : fixture["initial_sha256"].items()) {
    const runspec::ParameterInfo& tensor =
        model.layout().at(name == "lm_head.weight" ? "wte.weight" : name);
    const auto* values = reinterpret_cast<const char*>(model.parameters().data() + tensor.offset);
    EXPECT_EQ(formats::Sha256Hex({values, static_cast<size_t>(tensor.count) * sizeof(float)}),
              digest.get<std::string>())
        << name;
  }
  EXPECT_EQ(fixture["initial_sha256"].size(), model.layout().tensors.size());
}

void ExpectLosses(const Json& fixture, const runspec::RunSpec& spec, LanguageModel& model) {
  const runspec::BatchPlan plan = PlanOf(spec, fixture);
  const auto group = MakeLocalGroup(1, 1);
  TrainingStep training_step(spec, plan, model, BatchesOf(spec, plan.accumulation), *group[0],
                             SystemClock());
  for (const double expected : fixture["losses"].get<std::vector<double>>()) {
    const StepResult result = training_step.Run({});
    ASSERT_NEAR(result.loss / expected, 1, kTolerance)
        << "step " << result.step << ", " << fixture["torch"] << ", nanoGPT's loss " << expected;
  }
}

class NanoGptParity : public testing::TestWithParam<const char*> {};

TEST_P(NanoGptParity, OfTheInitialBitsAndTheFirstHundredLosses) {
  const Json fixture = ReadFixture(GetParam());
  const runspec::RunSpec spec = SpecOf(fixture);
  ASSERT_EQ(fixture["losses"].size(), 100u);
  for (const Isa isa : {GP_PARITY_LEVELS}) {
    if (!IsaSupported(isa)) continue;
    SCOPED_TRACE(IsaName(isa));
    const auto model = MakeModel(spec, isa);
    ExpectInitialBits(fixture, *model);
    ExpectLosses(fixture, spec, *model);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, NanoGptParity, testing::Values(GP_PARITY_CASES),
                         [](const auto& test_case) { return std::string(test_case.param); });

}  // namespace
}  // namespace gp::engine
