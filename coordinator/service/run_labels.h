// The values of the metric gp_run_info: short texts for people, from a run's file. Pure functions;
// thread-safe.
#pragma once

#include <string>

#include "plan/run_spec.h"

namespace gp::coordinator {

// "124M" for a size that has a name, else "L6 H6 C384": layers, heads, channels.
std::string ModelLabel(const runspec::ModelShape& shape);

// The last part of the first path that the run reads its text or tokens from, and how many more
// there are: "fineweb_train_*.bin", "a.txt +2".
std::string DatasetLabel(const runspec::DataSpec& data);

// As in the run file: "auto", "bf16".
std::string PrecisionLabel(runspec::Precision precision);

}  // namespace gp::coordinator
