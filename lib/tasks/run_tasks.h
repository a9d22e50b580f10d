// The multiple-choice tasks of a run file (eval.tasks), read and checked before the run is
// submitted and again where it trains. Reads the disk; any thread may call.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"
#include "tasks/choice_file.h"
#include "tasks/choice_style.h"

namespace gp::tasks {

struct RunTask {
  std::string name;  // its results are NAME/STYLE/acc and NAME/STYLE/acc_norm
  ChoiceFile file;
};

// At most 16 files. Errors name the key or the file, its line and what was expected; two files with
// one TaskName are an error too, because their results could not be distinguished.
StatusOr<std::vector<RunTask>> ReadRunTasks(const runspec::EvalSpec& spec);

}  // namespace gp::tasks
