// The reference engine: the same GPT-2 in a few lines of LibTorch's tensor operations and autograd,
// in fp32 as a LanguageModel and in fp64 for tests. Tests compare the kernels with it. It is slow.
// It uses the backends' keyed dropout, so that losses and gradients can be compared with dropout
// on. One thread calls.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/model_part.h"
#include "worker/engine/model/language_model.h"

namespace gp::engine {

// Variants of an unoptimised model, from which `gp-bench ladder` starts. The results are the same.
struct ReferenceStyle {
  bool library_operations = true;  // LayerNorm and GELU; false: composed of elementary ones
  bool mask_on_the_fly = true;     // false: every layer stores a (context, context) mask
};

// Parameters are zero. `threads` sets LibTorch's number of threads for the whole process.
std::unique_ptr<LanguageModel> MakeReferenceGpt2(const runspec::ModelShape& shape, int threads,
                                                 const ReferenceStyle& style = {},
                                                 const runspec::TrainedParts& trained = {});

struct ReferenceResult {
  double loss = 0;                // sum over the targets
  std::vector<double> gradients;  // the loss's, in the parameters' layout
};

// One forward and backward pass in fp64.
ReferenceResult ComputeReference(const runspec::ModelShape& shape,
                                 std::span<const double> parameters, const TokenBatch& batch,
                                 const Dropout& dropout);

}  // namespace gp::engine
