// The commands of gp-bench, one file each, and the table from which main.cc builds the program.
// Each function adds a command's flags to its subcommand and returns the function to run after the
// flags are parsed. A returned InvalidArgument and a thrown std::invalid_argument, for a
// nonsensical flag value, are exit code 2; every other error is 1. Used by main's thread.
#pragma once

#include <functional>

#include "base/command_line.h"
#include "base/status.h"

namespace gp::engine {

using BenchRun = std::function<Status()>;

struct BenchCommand {
  const char* name;
  const char* summary;
  BenchRun (*add)(const Command& app);
};

BenchRun AddStepCommand(const Command& app);
BenchRun AddKernelsCommand(const Command& app);
BenchRun AddTuneCommand(const Command& app);
BenchRun AddLoaderCommand(const Command& app);
BenchRun AddLadderCommand(const Command& app);
BenchRun AddPlanCommand(const Command& app);

}  // namespace gp::engine
