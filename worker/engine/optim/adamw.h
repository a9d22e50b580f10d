// AdamW over the flat parameter buffer: PyTorch's formula, decay on decayed tensors only. One
// thread calls.
#pragma once

#include "worker/engine/optim/optimizer.h"

namespace gp::engine {

class AdamW final : public Optimizer {
 public:
  AdamW(Backend& backend, const runspec::ParameterLayout& layout, const OptimizerOptions& options)
      : Optimizer(backend, layout, options) {}

 private:
  void Apply(const Step& step) override {
    for (const Range& range : trained()) UpdateRange(step, range);
  }
};

}  // namespace gp::engine
