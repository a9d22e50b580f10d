// The allowed sizes of a model read from a file: the same as in a run file, so derived sizes cannot
// overflow. Standard library only; pure.
#pragma once

#include <string>

#include "plan/model_shape.h"

namespace gp::runspec {

// The problem with the sizes, as "n_layer is 0, expected 1 to 1024"; empty if there is none.
std::string ProblemWithSizes(const ModelShape& shape);

}  // namespace gp::runspec
