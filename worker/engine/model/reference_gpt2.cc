#include "worker/engine/model/reference_gpt2.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/dropout_key.h"
#include "worker/engine/model/gradient_stages.h"

namespace gp::engine {
namespace {

using at::Tensor;

at::Tensor Ids(std::span<const int32_t> ids, const TokenBatch& batch) {
  return at::from_blob(const_cast<int32_t*>(ids.data()), {batch.sequences, batch.length}, at::kInt)
      .to(at::kLong);
}

// The keyed mask of a tensor whose last axis is the column: scale where kept, else 0.
Tensor DropoutMask(const Tensor& like, const Dropout& dropout) {
  const int64_t columns = like.size(-1);
  Tensor mask = at::empty({like.numel() / columns, columns}, at::kFloat);
  const uint64_t key = DropoutSiteKey(dropout);
  float* value = mask.data_ptr<float>();
  for (int64_t row = 0; row < mask.size(0); ++row) {
    const uint64_t row_key = DropoutRowKey(key, static_cast<uint64_t>(row));
    for (int64_t column = 0; column < columns; ++column) {
      const bool kept =
          DropoutHash(row_key, static_cast<uint32_t>(column)) >= DropoutThreshold(dropout);
      *value++ = kept ? DropoutScale(dropout) : 0.0f;
    }
  }
  return mask.view(like.sizes()).to(like.dtype());
}

Tensor Drop(const Tensor& x, Dropout dropout, uint32_t site) {
  if (dropout.probability <= 0) return x;
  dropout.site = site;
  return x * DropoutMask(x, dropout);
}

constexpr double kLayerNormEps = 1e-5;

Tensor FutureMask(int64_t length) { return at::ones({length, length}, at::kBool).triu(1); }

// The model as a function of its parameters, which are named autograd leaves.
class Network {
 public:
  Network(const runspec::ModelShape& shape, const runspec::ParameterLayout& layout,
          const ReferenceStyle& style = {})
      : shape_(shape), layout_(layout), style_(style) {
    if (style_.mask_on_the_fly) return;
    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      masks_.push_back(FutureMask(shape_.context));
    }
  }

  // Copies the flat values into leaves; trained ones require gradients.
  template <typename T>
  void SetLeaves(const T* values) {
    for (const runspec::ParameterInfo& tensor : layout_.tensors) {
      leaves_[tensor.name] = at::from_blob(const_cast<T*>(values) + tensor.offset, tensor.shape,
                                           c10::CppTypeToScalarType<T>::value)
                                 .clone()
                                 .requires_grad_(tensor.trained);
    }
  }

  // (B, T, C) after the last LayerNorm.
  Tensor Trunk(const TokenBatch& batch, const Dropout& dropout) const {
    const Tensor positions = at::arange(batch.length);
    Tensor x = at::embedding(Leaf("wte.weight"), Ids(batch.tokens, batch)) +
               at::embedding(Leaf("wpe.weight"), positions);
    x = Drop(x, dropout, 0);
    for (int64_t layer = 0; layer < shape_.layers; ++layer) x = Block(x, layer, dropout);
    return Norm(x, "ln_f");
  }

  // Without the padding columns.
  Tensor Logits(const Tensor& x) const {
    return at::linear(x, Leaf(shape_.tied_head ? "wte.weight" : "lm_head.weight"))
        .narrow(-1, 0, shape_.vocabulary);
  }

  Tensor LossSum(const TokenBatch& batch, const Dropout& dropout) const {
    const Tensor logits = Logits(Trunk(batch, dropout));
    return at::cross_entropy_loss(logits.view({-1, shape_.vocabulary}),
                                  Ids(batch.targets, batch).view({-1}), /*weight=*/{},
                                  at::Reduction::Sum, /*ignore_index=*/-1);
  }

  // Writes or adds the leaves' gradients, times `scale`, into the flat layout.
  template <typename T>
  void ReadGradients(double scale, T* gradients, bool accumulate) const {
    if (!accumulate) ClearGaps(gradients);
    for (const runspec::ParameterInfo& tensor : layout_.tensors) {
      if (!tensor.trained) continue;
      T* const into = gradients + tensor.offset;
      if (!accumulate) std::fill_n(into, tensor.count, T{0});
      const Tensor gradient = leaves_.at(tensor.name).grad();
      if (!gradient.defined()) continue;
      at::from_blob(into, tensor.shape, c10::CppTypeToScalarType<T>::value).add_(gradient, scale);
    }
  }

 private:
  template <typename T>
  void ClearGaps(T* gradients) const {
    for (const runspec::ParameterGap& gap : layout_.Gaps()) {
      std::fill_n(gradients + gap.offset, gap.count, T{0});
    }
  }
  const Tensor& Leaf(const std::string& name) const { return leaves_.at(name); }
  Tensor Bias(const std::string& module) const {
    return shape_.bias ? Leaf(module + ".bias") : Tensor();
  }
  Tensor Norm(const Tensor& x, const std::string& module) const {
    if (!style_.library_operations) return ComposedNorm(x, module);
    return at::layer_norm(x, {shape_.channels}, Leaf(module + ".weight"), Bias(module),
                          kLayerNormEps);
  }
  Tensor ComposedNorm(const Tensor& x, const std::string& module) const {
    const Tensor centred = x - x.mean(-1, true);
    const Tensor variance = centred.pow(2).mean(-1, true);
    const Tensor scaled = centred / (variance + kLayerNormEps).sqrt() * Leaf(module + ".weight");
    return shape_.bias ? scaled + Bias(module) : scaled;
  }
  Tensor Gelu(const Tensor& x) const {
    const bool tanh = shape_.gelu == runspec::Gelu::kTanh;
    if (style_.library_operations) return at::gelu(x, tanh ? "tanh" : "none");
    if (!tanh) return 0.5 * x * (1 + at::erf(x / std::sqrt(2.0)));
    return 0.5 * x * (1 + at::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x.pow(3))));
  }
  Tensor Linear(const Tensor& x, const std::string& module) const {
    return at::linear(x, Leaf(module + ".weight"), Bias(module));
  }

  Tensor Block(Tensor x, int64_t layer, const Dropout& dropout) const {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    const auto site = static_cast<uint32_t>(3 * layer);
    const Tensor attended = Attention(Norm(x, prefix + "ln_1"), prefix, dropout, site + 1);
    x = x + Drop(Linear(attended, prefix + "attn.c_proj"), dropout, site + 2);
    const Tensor hidden = Linear(Norm(x, prefix + "ln_2"), prefix + "mlp.c_fc");
    return x + Drop(Linear(Gelu(hidden), prefix + "mlp.c_proj"), dropout, site + 3);
  }

  Tensor Attention(const Tensor& x, const std::string& prefix, const Dropout& dropout,
                   uint32_t site) const {
    const int64_t b = x.size(0);
    const int64_t t = x.size(1);
    const int64_t d = shape_.channels / shape_.heads;
    // (B, T, 3, H, D) -> (3, B, H, T, D)
    const Tensor qkv =
        Linear(x, prefix + "attn.c_attn").view({b, t, 3, shape_.heads, d}).permute({2, 0, 3, 1, 4});
    Tensor scores = qkv[0].matmul(qkv[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(d));
    scores = scores.masked_fill(Future(site / 3, t), -std::numeric_limits<double>::infinity());
    const Tensor probabilities = Drop(scores.softmax(-1), dropout, site);
    return probabilities.matmul(qkv[2]).transpose(1, 2).reshape({b, t, shape_.channels});
  }

  // The causal mask, (t, t): true where the key is after the query.
  Tensor Future(int64_t layer, int64_t t) const {
    if (style_.mask_on_the_fly) return FutureMask(t);
    return masks_[static_cast<size_t>(layer)].narrow(0, 0, t).narrow(1, 0, t);
  }

  const runspec::ModelShape& shape_;
  const runspec::ParameterLayout& layout_;
  const ReferenceStyle style_;
  std::vector<Tensor> masks_;  // by layer, unless they are computed on the fly
  std::map<std::string, Tensor> leaves_;
};

class ReferenceGpt2 final : public LanguageModel {
 public:
  ReferenceGpt2(const runspec::ModelShape& shape, int threads, const ReferenceStyle& style,
                const runspec::TrainedParts& trained)
      : shape_(shape),
        layout_(runspec::MakeParameterLayout(shape_, trained)),
        backend_(MakeCpuBackend({.threads = threads})),
        parameters_(static_cast<size_t>(layout_.total_count)),
        network_(shape_, layout_, style) {
    at::set_num_threads(threads);
  }

  const runspec::ModelShape& shape() const override { return shape_; }
  const runspec::ParameterLayout& layout() const override { return layout_; }
  std::span<float> parameters() override { return parameters_; }
  void ParametersChanged() override {}
  std::span<uint16_t> working_copy() override { return {}; }
  Backend& backend() override { return *backend_; }

  double Forward(const TokenBatch& batch, const Dropout& dropout) override {
    network_.SetLeaves(parameters_.data());
    loss_ = network_.LossSum(batch, dropout);
    return loss_.item<double>();
  }

  void Backward(float gradient_scale, std::span<float> gradients, bool accumulate,
                const GradientReady& ready) override {
    loss_.backward();
    network_.ReadGradients(gradient_scale, gradients.data(), accumulate);
    const GradientRange trained = TrainedRange(layout_);
    if (ready) ready(trained.first, trained.last);
  }

  double Loss(const TokenBatch& batch) override {
    const at::NoGradGuard no_gradients;
    return Forward(batch, Dropout{});
  }

  void NextTokenLogits(const TokenBatch& batch, std::span<float> logits) override {
    const at::NoGradGuard no_gradients;
    network_.SetLeaves(parameters_.data());
    const Tensor last = network_.Trunk(batch, Dropout{}).select(1, batch.length - 1);
    const Tensor values = network_.Logits(last).contiguous();
    std::copy_n(values.data_ptr<float>(), logits.size(), logits.begin());
  }

 private:
  const runspec::ModelShape shape_;
  const runspec::ParameterLayout layout_;
  std::unique_ptr<Backend> backend_;
  std::vector<float> parameters_;
  Network network_;
  Tensor loss_;
};

}  // namespace

std::unique_ptr<LanguageModel> MakeReferenceGpt2(const runspec::ModelShape& shape, int threads,
                                                 const ReferenceStyle& style,
                                                 const runspec::TrainedParts& trained) {
  return std::make_unique<ReferenceGpt2>(shape, threads, style, trained);
}

ReferenceResult ComputeReference(const runspec::ModelShape& shape,
                                 std::span<const double> parameters, const TokenBatch& batch,
                                 const Dropout& dropout) {
  const runspec::ParameterLayout layout = runspec::MakeParameterLayout(shape);
  Network network(shape, layout);
  network.SetLeaves(parameters.data());
  const Tensor loss = network.LossSum(batch, dropout);
  loss.backward();
  ReferenceResult result{loss.item<double>(),
                         std::vector<double>(static_cast<size_t>(layout.total_count))};
  network.ReadGradients(1, result.gradients.data(), false);
  return result;
}

}  // namespace gp::engine
