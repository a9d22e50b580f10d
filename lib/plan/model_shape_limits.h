// Sizes that a model read from a file may have: those that a run file may ask for. What is derived
// from them overflows nothing. Standard library only; pure.
#pragma once

#include <string>

#include "plan/model_shape.h"

namespace gp::runspec {

// What is wrong with the sizes, as "n_layer is 0, expected 1 to 1024"; empty when nothing is.
std::string ProblemWithSizes(const ModelShape& shape);

}  // namespace gp::runspec
