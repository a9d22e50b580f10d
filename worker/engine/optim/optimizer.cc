#include "worker/engine/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/mix_bits.h"
#include "worker/engine/optim/adamw.h"
#include "worker/engine/optim/muon.h"

namespace gp::engine {
namespace {

// Elements updated between two BeforeOverwrite calls. The update is element-wise, so the size does
// not change results.
constexpr int64_t kPiece = int64_t{1} << 20;

std::span<float> AllocateMoment(Backend& backend, int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
  return {static_cast<float*>(backend.Allocate(bytes)), static_cast<size_t>(count)};
}

}  // namespace

Optimizer::Optimizer(Backend& backend, const runspec::ParameterLayout& layout,
                     const OptimizerOptions& options)
    : backend_(backend),
      options_(options),
      total_count_(layout.total_count),
      slice_(options.slice.value_or(OptimizerSlice{0, layout.total_count})),
      trained_(RangesOf(layout, [](const runspec::ParameterInfo&) { return true; })),
      first_moment_(AllocateMoment(backend, slice_.last - slice_.first)),
      second_moment_(AllocateMoment(backend, slice_.last - slice_.first)) {}

std::vector<Optimizer::Range> Optimizer::RangesOf(
    const runspec::ParameterLayout& layout,
    const std::function<bool(const runspec::ParameterInfo&)>& takes) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < layout.tensors.size(); ++i) {
    const runspec::ParameterInfo& tensor = layout.tensors[i];
    if (!tensor.trained || !takes(tensor)) continue;
    const bool is_last = i + 1 == layout.tensors.size();
    const int64_t end = is_last ? layout.total_count : layout.tensors[i + 1].offset;
    const bool continues = !ranges.empty() && ranges.back().last == tensor.offset &&
                           ranges.back().decayed == tensor.decayed &&
                           ranges.back().lr_ratio == tensor.lr_ratio;
    if (!continues) ranges.push_back({tensor.offset, end, tensor.decayed, tensor.lr_ratio});
    ranges.back().last = end;
  }
  return ranges;
}

void Optimizer::Update(LanguageModel& model, std::span<float> gradients, double lr,
                       const float* factor) {
  ++updates_;
  const float factor_value = TakesFactorByValue() ? ReadFactor(factor) : 0;
  if (std::isnan(factor_value)) return;
  // OptimizerShards::GatherParameters will overwrite the parameters of other ranks' slices too.
  if (options_.slice) AboutToOverwrite(0, total_count_);
  Apply({model, gradients, lr, factor, factor_value});
}

std::string Optimizer::ContinueWith(int64_t numerics) {
  return numerics == 1 ? "" : NewerNumerics(numerics);
}

std::string Optimizer::NewerNumerics(int64_t numerics) const {
  return "it was made with version " + std::to_string(numerics) +
         " of the optimizer's arithmetic, and this gp has none above " +
         std::to_string(this->numerics()) + "; use the version of gp that made it";
}

float Optimizer::ReadFactor(const float* factor) {
  float value = 0;
  backend_.Download(&value, factor, sizeof(value));
  return value;
}

void Optimizer::RefreshWorkingCopy(LanguageModel& model) const {
  for (const Range& range : trained_) RoundRange(model, range.first, range.last);
}

void Optimizer::UpdateRange(const Step& step, const Range& range) {
  int64_t first = std::max(range.first, slice_.first);
  const int64_t last = std::min(range.last, slice_.last);
  // With no save in flight, one launch updates the whole range.
  const int64_t piece = saving() ? kPiece : std::max(last - first, int64_t{1});
  for (; first < last; first += piece) {
    const int64_t end = std::min(first + piece, last);
    AboutToOverwrite(first, end);
    UpdatePiece(step, first, end, range);
  }
}

void Optimizer::AboutToOverwrite(int64_t first, int64_t last) const {
  for (; saving() && first < last; first += kPiece) {
    before_overwrite_(first, std::min(first + kPiece, last));
  }
}

void Optimizer::UpdatePiece(const Step& step, int64_t first, int64_t last, const Range& range) {
  const std::span<uint16_t> working_copy = step.model.working_copy();
  const AdamWUpdate update{
      .count = last - first,
      .parameters = step.model.parameters().data() + first,
      .first_moment = first_moment_.data() + (first - slice_.first),
      .second_moment = second_moment_.data() + (first - slice_.first),
      .gradients = step.gradients.data() + first,
      .working_copy = working_copy.empty() ? nullptr : working_copy.data() + first,
      .working_type = step.model.compute_type(),
      .rounding = RoundingAt(first),
      .lr = step.lr * range.lr_ratio,
      .beta1 = options_.spec.beta1,
      .beta2 = options_.spec.beta2,
      .eps = options_.spec.eps,
      .weight_decay = range.decayed ? options_.spec.weight_decay : 0,
      .step = updates_,
      .factor = step.factor};
  if (options_.fused) {
    backend_.Update(update);
    return;
  }
  backend_.Axpby(update.count, step.gradients.data() + first, step.factor_value, update.gradients,
                 0, nullptr);
  UpdateInPasses(update);
  RoundRange(step.model, first, last);
}

// Does the work of backend.Update in separate passes. The gradients are already multiplied by the
// factor.
void Optimizer::UpdateInPasses(const AdamWUpdate& update) {
  if (update.weight_decay != 0) {
    backend_.Axpby(update.count, update.parameters,
                   static_cast<float>(1 - update.lr * update.weight_decay), update.parameters, 0,
                   nullptr);
  }
  AdamWUpdate plain = update;
  plain.weight_decay = 0;
  plain.factor = nullptr;
  plain.working_copy = nullptr;
  backend_.Update(plain);
}

void Optimizer::RoundRange(LanguageModel& model, int64_t first, int64_t last) const {
  const std::span<uint16_t> working_copy = model.working_copy();
  if (working_copy.empty()) return;
  backend_.Round(last - first, Buffer{working_copy.data() + first, model.compute_type()},
                 model.parameters().data() + first, RoundingAt(first));
}

// Parameters that no update has touched are rounded to nearest.
StochasticRounding Optimizer::RoundingAt(int64_t first) const {
  if (!options_.stochastic_rounding || updates_ == 0) return {};
  const uint64_t key = MixBits(MixBits(options_.seed) ^ static_cast<uint64_t>(updates_));
  return {.on = true, .key = key, .first = first};
}

std::unique_ptr<Optimizer> MakeOptimizer(Backend& backend, const runspec::ModelShape& shape,
                                         const runspec::ParameterLayout& layout,
                                         const OptimizerOptions& options) {
  switch (options.spec.kind) {
    case runspec::OptimizerKind::kAdamW:
      return std::make_unique<AdamW>(backend, layout, options);
    case runspec::OptimizerKind::kMuon:
      return std::make_unique<Muon>(backend, shape, layout, options);
  }
  throw std::invalid_argument("unknown optimizer kind");
}

}  // namespace gp::engine
