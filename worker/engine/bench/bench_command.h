// The commands of gp-bench, one file each, and the table that main.cc builds the program from. Each
// function adds a command's flags to its subcommand and answers what runs once they are parsed. A
// returned error is exit code 1; std::invalid_argument, for a flag whose value makes no sense,
// is 2. Used by main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/status.h"

namespace gp::engine {

using BenchRun = std::function<Status()>;

struct BenchCommand {
  const char* name;
  const char* summary;
  BenchRun (*add)(CLI::App& app);
};

BenchRun AddStepCommand(CLI::App& app);
BenchRun AddKernelsCommand(CLI::App& app);
BenchRun AddGradientsCommand(CLI::App& app);
BenchRun AddTuneCommand(CLI::App& app);
BenchRun AddTokenizerCommand(CLI::App& app);
BenchRun AddAllReduceCommand(CLI::App& app);
BenchRun AddLoaderCommand(CLI::App& app);
BenchRun AddSampleCommand(CLI::App& app);
BenchRun AddLadderCommand(CLI::App& app);
BenchRun AddPlanCommand(CLI::App& app);

}  // namespace gp::engine
