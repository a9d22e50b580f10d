// AdamW over the flat parameter buffer: PyTorch's formula, decay on the first `decayed_count`
// values only. One thread calls.
#pragma once

#include "worker/engine/optim/optimizer.h"

namespace gp::engine {

class AdamW final : public Optimizer {
 public:
  AdamW(Backend& backend, const runspec::ParameterLayout& layout, const OptimizerOptions& options)
      : Optimizer(backend, layout, options),
        decayed_count_(layout.decayed_count),
        total_count_(layout.total_count) {}

 private:
  void Apply(const Step& step) override {
    UpdateRange(step, 0, decayed_count_, spec().weight_decay);
    UpdateRange(step, decayed_count_, total_count_, 0);
  }

  const int64_t decayed_count_;
  const int64_t total_count_;
};

}  // namespace gp::engine
