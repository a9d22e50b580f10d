// How long a run would take on the cores of a machine like this one. A forecast: its FLOPs are
// counted, but the rate of a core is assumed by instruction set, not measured. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/run_spec.h"

namespace gp::gpctl {

// The rate of a core in a training step, rounded down. AVX-512 is from the steps measured in
// docs/benchmarks, the others are estimates.
struct CoreRate {
  double flops_per_second = 0;
  std::string isa;  // "AVX2"
};

// From the text of /proc/cpuinfo.
CoreRate StatedRate(const std::string& cpuinfo);
// By the name of an instruction-set level: "avx2", "avx512_bf16". Nullopt for unknown names.
std::optional<CoreRate> RateOfLevel(const std::string& level);

// "2 cores at 40 GFLOP/s, the stated rate of AVX2".
std::string RateText(const CoreRate& rate, int cores);

struct TimeForecast {
  double step_seconds = 0;
  // The run's budget; the steps that fit into budget.wall_time when no steps are set.
  int64_t steps = 0;
  double evaluation_seconds = 0;  // of one evaluation; 0 if its length is unknown
  int64_t evaluations = 0;
  int cores = 0;  // cores that the run would use on this machine
  CoreRate rate;

  double seconds() const {
    return static_cast<double>(steps) * step_seconds +
           static_cast<double>(evaluations) * evaluation_seconds;
  }
};

// `validation_tokens`: the length of the validation split; 0 if unknown. Nullopt for a run on GPUs,
// because its GPUs are unknown (device auto counts as CPU), and when the batch cannot be divided.
// REQUIRES: the vocabulary is a number.
std::optional<TimeForecast> ForecastTime(const runspec::RunSpec& spec, const CoreRate& rate,
                                         int cores, int64_t validation_tokens = 0);

// A warning when a failure could lose more than an hour of the run's work, because its checkpoints
// are that far apart or a single step takes that long.
std::optional<std::string> LostWorkWarning(const runspec::RunSpec& spec,
                                           const TimeForecast& forecast);

// "about 3m30s = 1,500 steps of 128 ms, 15 evaluations of 1.2 s (forecast: ...)".
std::string TimeText(const TimeForecast& forecast);

}  // namespace gp::gpctl
