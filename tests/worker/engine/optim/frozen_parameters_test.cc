// Goal: an update changes trained tensors as if none were frozen, each with its own learning rate,
// as with PyTorch's parameter groups, and changes no bit of the frozen tensors.
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <cmath>
#include <random>

#include "worker/engine/backend/gradient_factor.h"
#include "worker/engine/model/gradient_stages.h"
#include "worker/engine/model/make_language_model.h"
#include "worker/engine/optim/optimizer.h"

namespace gp::engine {
namespace {

using runspec::ModelPart;
using runspec::TrainedParts;

ModelOptions TinyOptions(const TrainedParts& parts) {
  runspec::ModelShape shape{.layers = 3, .heads = 1, .channels = 13, .context = 9};
  shape.vocabulary = shape.vocabulary_padded = 17;
  return {.shape = shape, .micro_batch = 1, .sequence = 4, .trained = parts};
}

// Parts in the middle of the layout, so that frozen tensors lie before, between and after them.
TrainedParts SomeParts() {
  return {.trained = {ModelPart{"wpe"}, ModelPart{"h", 1, 2}, ModelPart{"ln_f"}}};
}

std::vector<float> DrawnValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Parameters, both moments, and the working copy converted to fp32.
struct State {
  std::vector<float> of[4];
};

State StateAfter(int64_t steps, const TrainedParts& parts, runspec::OptimizerKind kind,
                 bool fused) {
  ModelOptions options = TinyOptions(parts);
  options.precision = runspec::Precision::kBf16;
  const auto model = MakeLanguageModel(options);
  InitializeNormal(1, *model);
  const auto optimizer = MakeOptimizer(
      model->backend(), model->shape(), model->layout(),
      {.spec = {.kind = kind}, .fused = fused, .stochastic_rounding = true, .seed = 3});
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<float> gradients =
        DrawnValues(model->parameters().size(), static_cast<unsigned>(10 + step));
    const float factor = 0.37f;
    optimizer->Update(*model, gradients, 1e-2, &factor);
  }
  State state;
  state.of[0].assign(model->parameters().begin(), model->parameters().end());
  state.of[1].assign(optimizer->first_moment().begin(), optimizer->first_moment().end());
  state.of[2].assign(optimizer->second_moment().begin(), optimizer->second_moment().end());
  state.of[3].assign(model->working_copy().begin(), model->working_copy().end());
  return state;
}

std::vector<float> ValuesOf(const runspec::ParameterInfo& tensor, const std::vector<float>& all) {
  const auto first = all.begin() + tensor.offset;
  return {first, first + tensor.count};
}

TEST(FrozenParameters, KeepEveryBitWhileTheOthersMoveAsInFullTraining) {
  for (const auto kind : {runspec::OptimizerKind::kAdamW, runspec::OptimizerKind::kMuon}) {
    for (const bool fused : {true, false}) {
      const State start = StateAfter(0, {}, kind, fused);
      const State full = StateAfter(5, {}, kind, fused);
      const State some = StateAfter(5, SomeParts(), kind, fused);
      const auto layout = runspec::MakeParameterLayout(TinyOptions({}).shape, SomeParts());
      for (const runspec::ParameterInfo& tensor : layout.tensors) {
        const State& expected = tensor.trained ? full : start;
        for (int i = 0; i < 4; ++i) {
          EXPECT_EQ(ValuesOf(tensor, some.of[i]), ValuesOf(tensor, expected.of[i]))
              << tensor.name << " " << i << " fused " << fused;
        }
      }
    }
  }
}

TEST(FrozenParameters, AreRoundedToNearestAlsoWhenTheWorkingCopyIsRefreshed) {
  ModelOptions options = TinyOptions(SomeParts());
  options.precision = runspec::Precision::kBf16;
  const auto model = MakeLanguageModel(options);
  InitializeNormal(1, *model);
  const auto optimizer = MakeOptimizer(model->backend(), model->shape(), model->layout(),
                                       {.stochastic_rounding = true, .seed = 9});
  std::vector<float> gradients = DrawnValues(model->parameters().size(), 2);
  const float factor = 1;
  optimizer->Update(*model, gradients, 1e-2, &factor);
  const std::vector<uint16_t> written(model->working_copy().begin(), model->working_copy().end());
  std::fill(model->working_copy().begin(), model->working_copy().end(), uint16_t{0});
  model->ParametersChanged();
  optimizer->RefreshWorkingCopy(*model);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), model->working_copy().begin()));
}

// LibTorch's AdamW with a parameter group for each trained tensor.
class TorchGroups {
 public:
  TorchGroups(LanguageModel& model, const runspec::OptimizerSpec& spec) {
    std::vector<torch::optim::OptimizerParamGroup> groups;
    for (const runspec::ParameterInfo& tensor : model.layout().tensors) {
      if (!tensor.trained) continue;
      infos_.push_back(tensor);
      tensors_.push_back(Copy(model.parameters(), tensor).requires_grad_());
      auto options = std::make_unique<torch::optim::AdamWOptions>(spec.lr * tensor.lr_ratio);
      options->betas({spec.beta1, spec.beta2}).eps(spec.eps);
      options->weight_decay(tensor.decayed ? spec.weight_decay : 0);
      groups.emplace_back(std::vector<torch::Tensor>{tensors_.back()}, std::move(options));
    }
    optimizer_ = std::make_unique<torch::optim::AdamW>(std::move(groups));
  }

  // `schedule` multiplies the learning rate of every group, as LambdaLR does.
  void Step(std::span<const float> gradients, double lr, double schedule, double max_norm) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i].mutable_grad() = Copy(gradients, infos_[i]);
      optimizer_->param_groups()[i].options().set_lr(lr * infos_[i].lr_ratio * schedule);
    }
    torch::nn::utils::clip_grad_norm_(tensors_, max_norm);
    optimizer_->step();
  }

  void ExpectSame(std::span<const float> parameters) const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const torch::Tensor ours = Copy(parameters, infos_[i]);
      EXPECT_LT((tensors_[i] - ours).abs().max().item<double>(), 2e-6) << infos_[i].name;
    }
  }

 private:
  static torch::Tensor Copy(std::span<const float> values, const runspec::ParameterInfo& tensor) {
    return torch::from_blob(const_cast<float*>(values.data()) + tensor.offset, {tensor.count})
        .clone();
  }

  std::vector<runspec::ParameterInfo> infos_;
  std::vector<torch::Tensor> tensors_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
};

TEST(LearningRates, OfPartsAreThoseOfTorchsParameterGroups) {
  TrainedParts parts = SomeParts();
  parts.rates = {{ModelPart{"wpe"}, 0.1}, {ModelPart{"h", 1, 2}, 2.5}};
  for (const bool fused : {true, false}) {
    const auto model = MakeLanguageModel(TinyOptions(parts));
    InitializeNormal(4, *model);
    const runspec::OptimizerSpec spec{.lr = 3e-3, .beta2 = 0.99, .weight_decay = 0.1};
    TorchGroups groups(*model, spec);
    const auto optimizer = MakeOptimizer(model->backend(), model->shape(), model->layout(),
                                         {.spec = spec, .fused = fused});
    for (unsigned step = 0; step < 20; ++step) {
      std::vector<float> gradients(model->parameters().size());
      const std::vector<float> random = DrawnValues(gradients.size(), 10 + step);
      for (const runspec::ParameterInfo& tensor : model->layout().tensors) {
        if (!tensor.trained) continue;
        std::copy_n(random.begin() + tensor.offset, tensor.count,
                    gradients.begin() + tensor.offset);
      }
      const double schedule = 1.0 / (1 + step);
      groups.Step(gradients, spec.lr, schedule, 1.0);
      const GradientRange range = TrainedRange(model->layout());
      const double norm = std::sqrt(
          model->backend().SumOfSquares(gradients.data() + range.first, range.last - range.first));
      const float factor = ClipCoefficient(norm, 1.0);
      optimizer->Update(*model, gradients, spec.lr * schedule, &factor);
    }
    groups.ExpectSame(model->parameters());
  }
}

}  // namespace
}  // namespace gp::engine
