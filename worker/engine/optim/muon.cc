#include "worker/engine/optim/muon.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "plan/training_plan.h"
#include "worker/engine/optim/matrix_options.h"

namespace gp::engine {
namespace {

bool IsMatrixOfBlock(const runspec::ParameterInfo& tensor) {
  return tensor.shape.size() == 2 && tensor.name.rfind("h.", 0) == 0;
}

bool HoldsQueryKeyValue(const runspec::ParameterInfo& tensor) {
  return tensor.name.ends_with(".attn.c_attn.weight");
}

float* AllocateFloats(Backend& backend, int64_t count) {
  return static_cast<float*>(backend.Allocate(count * static_cast<int64_t>(sizeof(float))));
}

}  // namespace

Muon::Muon(Backend& backend, const runspec::ModelShape& shape,
           const runspec::ParameterLayout& layout, const OptimizerOptions& options)
    : Optimizer(backend, layout, options),
      layout_(layout),
      matrix_floats_(runspec::MuonMatrixCount(shape)),
      square_floats_(runspec::MuonSquareCount(shape)),
      lane_floats_(runspec::MuonLaneCount(shape)),
      ranges_(RangesOf(layout, [](const auto& tensor) { return !IsMatrixOfBlock(tensor); })),
      scratch_(AllocateFloats(backend, backend.lanes() * lane_floats_)) {
  FindWeights();
}

std::string Muon::ContinueWith(int64_t numerics) {
  if (numerics < 1 || numerics > kNumerics) return NewerNumerics(numerics);
  if (numerics == 1 && (spec().muon_row_scaling || spec().muon_cautious_decay)) {
    return "it was made with the first version of Muon's arithmetic, which has neither "
           "optimizer.muon_row_scaling nor optimizer.muon_cautious_decay; leave these out, or "
           "begin a new run with init_optimizer: reset";
  }
  numerics_ = static_cast<int>(numerics);
  FindWeights();
  return "";
}

void Muon::FindWeights() {
  weights_.clear();
  for (const runspec::ParameterInfo& tensor : layout_.tensors) {
    if (!tensor.trained || !IsMatrixOfBlock(tensor)) continue;
    const int64_t parts = numerics_ >= 2 && HoldsQueryKeyValue(tensor) ? 3 : 1;
    const Weight part{tensor.offset, tensor.shape[0] / parts, tensor.shape[1]};
    for (int64_t i = 0; i < parts; ++i) {
      weights_.push_back(part);
      weights_.back().first += i * part.count();
    }
  }
  by_size_.resize(weights_.size());
  std::iota(by_size_.begin(), by_size_.end(), size_t{0});
  std::stable_sort(by_size_.begin(), by_size_.end(),
                   [&](size_t a, size_t b) { return weights_[a].count() > weights_[b].count(); });
  DivideOverRanks();
}

// Gives each rank weights that are neighbours in the buffers, of about equal size in total.
void Muon::DivideOverRanks() {
  if (numerics_ < 2) return;
  int64_t total = 0;
  for (const Weight& weight : weights_) total += weight.count();
  int64_t before = 0;
  for (Weight& weight : weights_) {
    weight.rank = static_cast<int>((before + weight.count() / 2) * group().ranks / total);
    before += weight.count();
  }
}

Muon::LaneMemory Muon::MemoryOf(int lane) const {
  float* const update = scratch_ + lane * lane_floats_;
  LaneMemory memory{.update = update, .scratch = {.product = update + matrix_floats_}};
  for (int i = 0; i < OrthogonalScratch::kSquares; ++i) {
    memory.scratch.squares[i] = update + 2 * matrix_floats_ + i * square_floats_;
  }
  return memory;
}

void Muon::Apply(const Step& step) {
  for (const Range& range : ranges_) UpdateRange(step, range);
  for (const Weight& weight : weights_) {
    AboutToOverwrite(weight.first, weight.first + weight.count());
  }
  if (numerics_ == 1) {
    for (const Weight& weight : weights_) UpdateWeight(backend(), MemoryOf(0), step, weight);
  } else {
    backend().ForEach(std::ssize(weights_), [&](Backend& lane, int number, int64_t index) {
      const Weight& weight = weights_[by_size_[static_cast<size_t>(index)]];
      UpdateWeight(lane, MemoryOf(number), step, weight);
    });
    ExchangeWeights(step);
  }
  for (const Weight& weight : weights_) {
    RoundRange(step.model, weight.first, weight.first + weight.count());
  }
}

// Updates the momentum, and the weight itself if it is this rank's.
void Muon::UpdateWeight(Backend& lane, const LaneMemory& memory, const Step& step,
                        const Weight& weight) {
  const int64_t count = weight.count();
  const float* gradient = step.gradients.data() + weight.first;
  float* momentum = first_moment().data() + weight.first;
  const auto kept = static_cast<float>(spec().muon_momentum);
  const float added = (1 - kept) * step.factor_value;
  lane.Axpby(count, momentum, kept, momentum, added, gradient);
  if (numerics_ >= 2 && weight.rank != group().rank) return;

  lane.Axpby(count, memory.update, kept, momentum, added, gradient);  // Nesterov
  const Matrix matrix{memory.update, weight.rows, weight.columns};
  numerics_ == 1 ? NewtonSchulz(lane, matrix, memory.scratch)
                 : PolarExpress(lane, matrix, memory.scratch);
  if (spec().muon_row_scaling) {
    ScaleRows(lane, matrix, spec().beta2, second_moment().data() + weight.first,
              memory.scratch.product);
  }
  float* values = step.model.parameters().data() + weight.first;
  const double schedule = spec().lr > 0 ? step.lr / spec().lr : 0;
  const double lr = spec().muon_lr * schedule;
  const double ratio = static_cast<double>(weight.rows) / static_cast<double>(weight.columns);
  const auto kept_weight = static_cast<float>(1 - lr * spec().weight_decay);
  const auto rate = static_cast<float>(lr * std::sqrt(std::max(1.0, ratio)));
  if (spec().muon_cautious_decay) return StepCautiously(matrix, kept_weight, rate, values);
  lane.Axpby(count, values, kept_weight, values, -rate, memory.update);
}

// Every rank sends the others what it has updated.
void Muon::ExchangeWeights(const Step& step) {
  if (group().ranks == 1) return;
  Exchange(step.model.parameters());
  if (spec().muon_row_scaling) Exchange(second_moment());
}

// Sends each rank's weights, or what belongs to them in another buffer of the same layout.
void Muon::Exchange(std::span<float> values) {
  size_t first = 0;
  while (first < weights_.size()) {
    const int rank = weights_[first].rank;
    size_t last = first;
    while (last + 1 < weights_.size() && weights_[last + 1].rank == rank) ++last;
    const int64_t begin = weights_[first].first;
    const int64_t end = weights_[last].first + weights_[last].count();
    group().broadcast(values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
                      rank);
    first = last + 1;
  }
}

}  // namespace gp::engine
