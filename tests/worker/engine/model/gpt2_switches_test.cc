// Goal: every pair of the model's switches gives the reference's gradient; a switch that trades
// memory for work changes no bit; and each saves as much memory as it promises.
#include <gtest/gtest.h>

#include <set>

#include "plan/arena_plan.h"
#include "worker/engine/model/all_pairs.h"
#include "worker/engine/model/switch_case.h"

namespace gp::engine {
namespace {

using runspec::Attention;
using runspec::EngineKind;
using runspec::Precision;
using runspec::Recompute;

TEST(Gpt2Switches, InAllPairsEqualTheReference) {
  std::vector<int> settings;
  for (const Switch& each : Switches()) settings.push_back(each.settings);
  for (const SwitchCase& pick : AllPairs(settings).Cases()) ExpectMatchesReference(pick);
}

TEST(AllPairs, MeetsEveryPair) {
  const std::vector<int> settings = {2, 3, 4, 2};
  std::set<std::tuple<size_t, int, size_t, int>> met;
  const auto cases = AllPairs(settings).Cases();
  for (const std::vector<int>& pick : cases) {
    for (size_t a = 0; a < pick.size(); ++a) {
      for (size_t b = a + 1; b < pick.size(); ++b) met.insert({a, pick[a], b, pick[b]});
    }
  }
  EXPECT_EQ(met.size(), 6u + 8 + 4 + 12 + 6 + 8);
  EXPECT_LT(cases.size(), 20u);
}

const Dropout kSwitchedDropout{.probability = 0.2, .seed = 4, .step = 6, .shard = 1};

// The gradients of two micro-batches, of which the second accumulates. `expect`: calls
// ExpectBackward first, as the trainer does.
std::vector<float> TwoMicroBatches(const ModelOptions& options, bool expect, double* loss) {
  const auto model = MakeLanguageModel(options);
  FillParameters(*model);
  std::vector<float> gradients(static_cast<size_t>(model->layout().total_count), 99.0f);
  *loss = 0;
  for (const unsigned seed : {1u, 2u}) {
    const Batch batch(options.shape, 3, 17, seed);
    const bool accumulate = seed == 2;
    if (expect) model->ExpectBackward(0.5f, gradients, accumulate);
    *loss += model->Forward(batch.view(), kSwitchedDropout);
    model->Backward(0.5f, gradients, accumulate, {});
  }
  return gradients;
}

class SameBits {
 public:
  explicit SameBits(const ModelOptions& options)
      : expected_(TwoMicroBatches(options, false, &loss_)) {}

  void Expect(const ModelOptions& changed, const std::string& what) const {
    for (const bool expect : {false, true}) {
      double loss = 0;
      EXPECT_EQ(TwoMicroBatches(changed, expect, &loss), expected_) << what << " " << expect;
      EXPECT_NEAR(loss / loss_, 1, 1e-14) << what;
    }
  }

 private:
  double loss_ = 0;
  const std::vector<float> expected_;
};

void ExpectTradesKeepTheBits(const ModelOptions& options) {
  const SameBits bits(options);
  for (const Recompute recompute : {Recompute::kGelu, Recompute::kBlock}) {
    ModelOptions changed = options;
    changed.recompute = recompute;
    bits.Expect(changed, "recompute");
    changed.chunked_head = 9;
    changed.kind = EngineKind::kEager;
    bits.Expect(changed, "recompute and chunked_head, eager");
  }
  for (const int64_t chunk : {1, 16, 50, 51, 1000}) {
    ModelOptions changed = options;
    changed.chunked_head = chunk;
    bits.Expect(changed, "chunked_head " + std::to_string(chunk));
  }
}

TEST(Gpt2Switches, RecomputationAndPiecesOfTheHeadKeepTheBits) {
  ModelOptions options{.shape = OddShape(), .micro_batch = 3, .sequence = 17, .threads = 2};
  options.shape.layers = 3;
  ExpectTradesKeepTheBits(options);
  options.attention = Attention::kMath;
  ExpectTradesKeepTheBits(options);
  options.precision = Precision::kBf16;
  ExpectTradesKeepTheBits(options);
  options.attention = Attention::kFlash;
  options.residual = runspec::ResidualType::kBf16;
  ExpectTradesKeepTheBits(options);
}

TEST(Gpt2Switches, LossAfterAnAnnouncedBackwardLeavesTheGradientAlone) {
  ModelOptions options{.shape = OddShape(), .micro_batch = 3, .sequence = 17, .chunked_head = 6};
  const auto model = MakeLanguageModel(options);
  FillParameters(*model);
  const Batch batch(options.shape, 3, 17);
  std::vector<float> gradients(static_cast<size_t>(model->layout().total_count), 99.0f);
  const std::vector<float> untouched = gradients;
  model->ExpectBackward(1, gradients, false);
  const double loss = model->Loss(batch.view());
  EXPECT_EQ(gradients, untouched);
  EXPECT_EQ(model->Forward(batch.view(), {}), loss);
}

int64_t ArenaBytes(const ModelOptions& options) {
  return runspec::MakeArenaPlan(options.shape, ArenaOptionsOf(options)).total_bytes;
}

TEST(Gpt2Switches, TakeTheMemoryOfThePlanToTheByte) {
  for (const Switch& each : Switches()) {
    for (int setting = 0; setting < each.settings; ++setting) {
      ModelOptions options{.shape = OddShape(), .micro_batch = 3, .sequence = 17, .threads = 2};
      Dropout dropout;
      each.apply(setting, options, dropout);
      EXPECT_EQ(MakeLanguageModel(options)->backend().allocated_bytes(), ArenaBytes(options))
          << each.name << " " << setting;
    }
  }
}

TEST(Gpt2Switches, SaveTheMemoryThatTheyPromise) {
  ModelOptions options{.shape = *runspec::NamedModelShape("124M"), .micro_batch = 4};
  options.sequence = 64;
  const int64_t rows = 4 * 64;
  const int64_t plain = ArenaBytes(options);
  ModelOptions gelu = options;
  gelu.recompute = Recompute::kGelu;
  EXPECT_EQ(plain - ArenaBytes(gelu), 11 * rows * 4 * 768 * 4);
  ModelOptions chunked = options;
  chunked.chunked_head = 64;
  EXPECT_EQ(plain - ArenaBytes(chunked), (rows - 64) * 50304 * 4);
  ModelOptions block = options;
  block.recompute = Recompute::kBlock;
  // A block stores ln_1, qkv, attention, residual_mid, ln_2, fc and gelu (15 C) and, per row, four
  // values of the norms and the lse of each head; eleven of twelve sets of buffers are saved.
  EXPECT_EQ(plain - ArenaBytes(block), 11 * rows * (15 * 768 + 4 + 12) * 4);
  ModelOptions frozen = options;
  frozen.trained.trained = {{"h", 10, 12}, {"ln_f"}};
  // The ten frozen blocks store nothing and share one set of buffers, including their input.
  EXPECT_EQ(plain - ArenaBytes(frozen), 9 * rows * (16 * 768 + 4 + 12) * 4);
}

}  // namespace
}  // namespace gp::engine
