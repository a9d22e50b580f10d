// The main function of gp-bench and programs like it. Exit codes: 0 done, 1 failed, 2 usage.
#pragma once

#include <string>
#include <vector>

#include "worker/bench/bench_command.h"

namespace gp::engine {

struct BenchProgram {
  std::string name;  // "gp-bench"
  std::string version;
  std::string default_device;  // "cpu" or "gpu": default of --device
  std::vector<BenchCommand> commands;
};

int RunBenchProgram(const BenchProgram& program, int argc, char** argv);

}  // namespace gp::engine
