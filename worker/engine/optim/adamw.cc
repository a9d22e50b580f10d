#include "worker/engine/optim/adamw.h"

#include <algorithm>

namespace gp::engine {
namespace {

// Values between two questions whether a save holds them; each value's update is its own, so that
// pieces change no bits.
constexpr int64_t kPiece = int64_t{1} << 20;

std::span<float> AllocateMoment(Backend& backend, int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
  return {static_cast<float*>(backend.Allocate(bytes)), static_cast<size_t>(count)};
}

}  // namespace

AdamW::AdamW(Backend& backend, const runspec::ParameterLayout& layout,
             const runspec::OptimizerSpec& options)
    : backend_(backend),
      options_(options),
      decayed_count_(layout.decayed_count),
      first_moment_(AllocateMoment(backend, layout.total_count)),
      second_moment_(AllocateMoment(backend, layout.total_count)) {}

void AdamW::Update(LanguageModel& model, std::span<const float> gradients, double lr,
                   float coefficient) {
  ++updates_;
  const std::span<uint16_t> working_copy = model.working_copy();
  const auto update_piece = [&](int64_t first, int64_t last, double weight_decay) {
    backend_.Update({.count = last - first,
                     .parameters = model.parameters().data() + first,
                     .first_moment = first_moment_.data() + first,
                     .second_moment = second_moment_.data() + first,
                     .gradients = gradients.data() + first,
                     .working_copy = working_copy.empty() ? nullptr : working_copy.data() + first,
                     .lr = lr,
                     .beta1 = options_.beta1,
                     .beta2 = options_.beta2,
                     .eps = options_.eps,
                     .weight_decay = weight_decay,
                     .step = updates_,
                     .gradient_coefficient = coefficient});
  };
  const auto update = [&](int64_t first, int64_t last, double weight_decay) {
    const int64_t piece = before_overwrite_ ? kPiece : last;
    for (; first < last; first += piece) {
      const int64_t end = std::min(first + piece, last);
      if (before_overwrite_) before_overwrite_(first, end);
      update_piece(first, end, weight_decay);
    }
  };
  update(0, decayed_count_, options_.weight_decay);
  update(decayed_count_, static_cast<int64_t>(first_moment_.size()), 0);
}

}  // namespace gp::engine
