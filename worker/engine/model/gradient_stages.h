// When the ranges of the flat gradient become final in a backward pass: the head first, then the
// blocks from the last to the first, each in two halves, and at the end the embedding, together
// with a tied head. The all-reduce of a range may begin when its stage is done. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/model_part.h"
#include "plan/model_shape.h"

namespace gp::engine {

// Elements [first, last) of the flat gradient, with the gaps after its tensors.
using GradientRange = runspec::ParameterRange;

struct GradientStages {
  std::vector<GradientRange> head;
  struct Block {
    std::vector<GradientRange> mlp;        // with ln_2; before attention
    std::vector<GradientRange> attention;  // with ln_1
  };
  std::vector<Block> blocks;  // by layer
  std::vector<GradientRange> embedding;
};

// Each element of a trained tensor is in exactly one range, and no element of a frozen one; the
// ranges of a stage are ascending and not adjacent.
GradientStages MakeGradientStages(const runspec::ParameterLayout& layout, int64_t layers);

}  // namespace gp::engine
