// The commands that gp-peer-bench has in addition to gp-bench's, one file each
// (worker/bench/bench_command.h). Used by main's thread.
#pragma once

#include "worker/bench/bench_command.h"

namespace gp::engine {

BenchRun AddPeeredStepCommand(const Command& app);
BenchRun AddGradientsCommand(const Command& app);
BenchRun AddTokenizerCommand(const Command& app);
BenchRun AddAllReduceCommand(const Command& app);
BenchRun AddSampleCommand(const Command& app);
BenchRun AddServeCommand(const Command& app);

}  // namespace gp::engine
