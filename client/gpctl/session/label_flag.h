// --label of the commands that make a run. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gp::gpctl {

inline constexpr char kLabelHelp[] =
    "KEY=VALUE, by which 'gpctl list --label' finds the run; may be repeated";

// "labels.team=nlp", as --set takes it, for each "team=nlp". InvalidArgument names a label that is
// not KEY=VALUE, or the two values of a key that is given twice.
StatusOr<std::vector<std::string>> LabelSettings(const std::vector<std::string>& labels);

}  // namespace gp::gpctl
