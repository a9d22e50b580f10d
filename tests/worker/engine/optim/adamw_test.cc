// Goal: AdamW and clipping equal PyTorch's over many steps, with every instruction set, with decay
// on the first range only; the working copy is updated too.
#include "worker/engine/optim/adamw.h"

#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/gradient_factor.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {
namespace {

constexpr float kOne = 1;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

runspec::ModelShape TinyShape() {
  runspec::ModelShape shape{.layers = 1, .heads = 1, .channels = 13, .context = 9};
  shape.vocabulary = shape.vocabulary_padded = 17;
  return shape;
}

std::vector<float> RandomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

torch::Tensor Copy(std::span<const float> values) {
  return torch::from_blob(const_cast<float*>(values.data()), {std::ssize(values)}).clone();
}

// LibTorch's AdamW with the two ranges as parameter groups.
class TorchAdamW {
 public:
  TorchAdamW(std::span<const float> parameters, size_t decayed_count,
             const runspec::OptimizerSpec& spec)
      : decayed_count_(decayed_count),
        decayed_(Copy(parameters.first(decayed_count)).requires_grad_()),
        others_(Copy(parameters.subspan(decayed_count)).requires_grad_()),
        optimizer_({Group(decayed_, spec, spec.weight_decay), Group(others_, spec, 0)}) {}

  void Step(std::span<const float> gradients, double lr, double max_norm) {
    decayed_.mutable_grad() = Copy(gradients.first(decayed_count_));
    others_.mutable_grad() = Copy(gradients.subspan(decayed_count_));
    torch::nn::utils::clip_grad_norm_({decayed_, others_}, max_norm);
    for (auto& group : optimizer_.param_groups()) group.options().set_lr(lr);
    optimizer_.step();
  }
  double at(size_t i) const {
    return i < decayed_count_ ? decayed_[static_cast<int64_t>(i)].item<double>()
                              : others_[static_cast<int64_t>(i - decayed_count_)].item<double>();
  }

 private:
  static torch::optim::OptimizerParamGroup Group(const torch::Tensor& tensor,
                                                 const runspec::OptimizerSpec& spec, double decay) {
    auto options = std::make_unique<torch::optim::AdamWOptions>(spec.lr);
    options->betas({spec.beta1, spec.beta2}).eps(spec.eps).weight_decay(decay);
    return {std::vector<torch::Tensor>{tensor}, std::move(options)};
  }

  size_t decayed_count_;
  torch::Tensor decayed_;
  torch::Tensor others_;
  torch::optim::AdamW optimizer_;
};

TEST(AdamW, EqualsTorchWithClippingAtEveryInstructionSet) {
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
    if (!IsaSupported(isa)) continue;
    const auto model = MakeLanguageModel(
        {.shape = TinyShape(), .micro_batch = 1, .sequence = 4, .threads = 2, .isa = isa});
    const runspec::OptimizerSpec spec{.lr = 3e-3, .beta2 = 0.99, .weight_decay = 0.1};
    const size_t count = model->parameters().size();
    const std::vector<float> initial = RandomValues(count, 1);
    std::copy(initial.begin(), initial.end(), model->parameters().begin());
    const auto decayed_count = static_cast<size_t>(model->layout().decayed_count);
    TorchAdamW torch_adamw(initial, decayed_count, spec);
    AdamW adamw(model->backend(), model->layout(), {.spec = spec});
    for (unsigned step = 0; step < 20; ++step) {
      std::vector<float> gradients = RandomValues(count, 10 + step);
      const double lr = spec.lr / (1 + step);
      const double norm =
          std::sqrt(model->backend().SumOfSquares(gradients.data(), std::ssize(gradients)));
      torch_adamw.Step(gradients, lr, 1.0);
      const float factor = ClipCoefficient(norm, 1.0);
      adamw.Update(*model, gradients, lr, &factor);
    }
    for (size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(model->parameters()[i], torch_adamw.at(i), 2e-6) << IsaName(isa) << " " << i;
    }
    EXPECT_EQ(adamw.updates(), 20);
  }
}

TEST(AdamW, WritesTheWorkingCopyThatParametersChangedWould) {
  const auto model = MakeLanguageModel({.shape = TinyShape(),
                                        .precision = runspec::Precision::kBf16,
                                        .micro_batch = 1,
                                        .sequence = 4});
  InitializeNormal(1, *model);
  AdamW adamw(model->backend(), model->layout(), {});
  std::vector<float> gradients = RandomValues(model->parameters().size(), 2);
  adamw.Update(*model, gradients, 1e-2, &kOne);
  const std::vector<uint16_t> written(model->working_copy().begin(), model->working_copy().end());
  model->ParametersChanged();
  EXPECT_TRUE(std::equal(written.begin(), written.end(), model->working_copy().begin()));
}

TEST(AdamW, InSeparatePassesHasTheBitsOfOnePass) {
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512}) {
    if (!IsaSupported(isa)) continue;
    const auto train = [&](bool fused, bool stochastic) {
      const auto model = MakeLanguageModel({.shape = TinyShape(),
                                            .precision = runspec::Precision::kBf16,
                                            .micro_batch = 1,
                                            .sequence = 4,
                                            .isa = isa});
      InitializeNormal(1, *model);
      AdamW adamw(model->backend(), model->layout(),
                  {.fused = fused, .stochastic_rounding = stochastic, .seed = 3});
      for (unsigned step = 0; step < 5; ++step) {
        std::vector<float> gradients = RandomValues(model->parameters().size(), 10 + step);
        const float factor = 0.37f;
        adamw.Update(*model, gradients, 1e-2, &factor);
      }
      std::vector<float> state(model->parameters().begin(), model->parameters().end());
      state.insert(state.end(), adamw.second_moment().begin(), adamw.second_moment().end());
      state.insert(state.end(), model->working_copy().begin(), model->working_copy().end());
      return state;
    };
    EXPECT_EQ(train(true, false), train(false, false)) << IsaName(isa);
    EXPECT_EQ(train(true, true), train(false, true)) << IsaName(isa);
    EXPECT_NE(train(true, true), train(true, false)) << IsaName(isa);
  }
}

float Widen(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

TEST(StochasticRounding, IsUnbiasedKeyedAndNextToTheValue) {
  const auto model = MakeLanguageModel({.shape = TinyShape(), .micro_batch = 1, .sequence = 4});
  Backend& backend = model->backend();
  constexpr int64_t kCount = 40000;
  // 1 plus a quarter of the distance to the next bf16 number.
  const std::vector<float> values(kCount, 1 + 0.25f / 128);
  std::vector<uint16_t> rounded(kCount);
  backend.Round(kCount, rounded.data(), values.data(), {.on = true, .key = 77});
  double sum = 0;
  for (const uint16_t bits : rounded) {
    EXPECT_TRUE(Widen(bits) == 1.0f || Widen(bits) == 1 + 1.0f / 128);
    sum += Widen(bits);
  }
  // Four standard deviations of the mean of 40,000 draws.
  EXPECT_NEAR((sum / kCount - 1) * 128, 0.25, 4 * std::sqrt(0.25 * 0.75 / kCount));
  // Rounding a part of the array gives the same bits as rounding the whole array.
  std::vector<uint16_t> part(1001);
  backend.Round(1001, part.data(), values.data(), {.on = true, .key = 77, .first = 333});
  EXPECT_TRUE(std::equal(part.begin(), part.end(), rounded.begin() + 333));
}

TEST(StochasticRounding, LeavesWhatBf16HoldsAndNotANumber) {
  const auto model = MakeLanguageModel({.shape = TinyShape(), .micro_batch = 1, .sequence = 4});
  const std::vector<float> values = {0.0f, -2.5f, INFINITY, -INFINITY, NAN};
  std::vector<uint16_t> rounded(values.size());
  model->backend().Round(5, rounded.data(), values.data(), {.on = true, .key = 5});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Widen(rounded[i]), values[i]);
  EXPECT_TRUE(std::isnan(Widen(rounded[4])));
}

TEST(StochasticRounding, OfTheWorkingCopyComesBackAfterARestore) {
  const auto model = MakeLanguageModel({.shape = TinyShape(),
                                        .precision = runspec::Precision::kBf16,
                                        .micro_batch = 1,
                                        .sequence = 4});
  InitializeNormal(1, *model);
  AdamW adamw(model->backend(), model->layout(), {.stochastic_rounding = true, .seed = 9});
  std::vector<float> gradients = RandomValues(model->parameters().size(), 2);
  adamw.Update(*model, gradients, 1e-2, &kOne);
  const std::vector<uint16_t> written(model->working_copy().begin(), model->working_copy().end());
  std::fill(model->working_copy().begin(), model->working_copy().end(), uint16_t{0});
  adamw.RefreshWorkingCopy(*model);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), model->working_copy().begin()));
}

TEST(AdamW, AnUpdateThatIsNoneChangesNothing) {
  for (const int variant : {0, 1, 2, 3}) {
    const bool fused = variant % 2 == 0;
    const bool stochastic = variant >= 2;
    const auto model = MakeLanguageModel({.shape = TinyShape(),
                                          .precision = runspec::Precision::kBf16,
                                          .micro_batch = 1,
                                          .sequence = 4});
    InitializeNormal(1, *model);
    AdamW adamw(model->backend(), model->layout(),
                {.fused = fused, .stochastic_rounding = stochastic, .seed = 3});
    std::vector<float> gradients = RandomValues(model->parameters().size(), 2);
    adamw.Update(*model, gradients, 1e-2, &kOne);
    const auto state = [&] {
      std::vector<float> all(model->parameters().begin(), model->parameters().end());
      all.insert(all.end(), adamw.first_moment().begin(), adamw.first_moment().end());
      all.insert(all.end(), adamw.second_moment().begin(), adamw.second_moment().end());
      all.insert(all.end(), model->working_copy().begin(), model->working_copy().end());
      return all;
    };
    const std::vector<float> before = state();
    adamw.Update(*model, gradients, 1e-2, &kNone);
    adamw.UndoSkippedUpdate();
    EXPECT_EQ(state(), before) << "fused: " << fused << ", stochastic: " << stochastic;
    EXPECT_EQ(adamw.updates(), 1);
  }
}

}  // namespace
}  // namespace gp::engine
