// AdamW over the flat parameter buffer: PyTorch's formula, decay on the first `decayed_count`
// values only, one pass that also applies the clip coefficient and writes the bf16 working copy.
// Owns the two moments. One thread calls.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "runspec/run_spec.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/model/language_model.h"

namespace gp::engine {

class AdamW {
 public:
  // The backend outlives me and holds the moments' memory.
  AdamW(Backend& backend, const runspec::ParameterLayout& layout,
        const runspec::OptimizerSpec& options);

  // One update with learning rate `lr`; gradients are multiplied by `coefficient` as they are read.
  // Refreshes the model's working copy.
  void Update(LanguageModel& model, std::span<const float> gradients, double lr, float coefficient);

  // Called before values [first, last) of the parameters and of both moments change; a save in
  // flight may hold the update up there.
  using BeforeOverwrite = std::function<void(int64_t first, int64_t last)>;
  void set_before_overwrite(BeforeOverwrite before) { before_overwrite_ = std::move(before); }

  // What a checkpoint stores: the moments in the parameters' layout and the number of updates so
  // far.
  std::span<float> first_moment() { return first_moment_; }
  std::span<float> second_moment() { return second_moment_; }
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }

 private:
  Backend& backend_;
  runspec::OptimizerSpec options_;
  int64_t decayed_count_;
  std::span<float> first_moment_;
  std::span<float> second_moment_;
  int64_t updates_ = 0;
  BeforeOverwrite before_overwrite_;
};

}  // namespace gp::engine
