// The entries of the run file's schema (runspec/schema.h). Pure function.
#pragma once

#include <vector>

#include "runspec/schema.h"

namespace gp::runspec {

// Every key, in the order of the file.
std::vector<RunField> MakeSchema();

}  // namespace gp::runspec
