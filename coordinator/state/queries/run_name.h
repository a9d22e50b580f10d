// Names of runs: unique among a namespace's unfinished runs, and different from every run's id, so
// that a name means one run. Pure; thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// `wanted` if it is free, otherwise with a suffix "-2", "-3", …, cut to at most 63 characters. The
// number is free, but not always the lowest free one.
std::string FreeRunName(const Cluster& cluster, const std::string& run_namespace,
                        const std::string& wanted);

// "the name 'a' belongs to run 7f3k2q9a0c, which has not ended" or why else it is taken; empty when
// it is free.
std::string WhyNameIsTaken(const Cluster& cluster, const std::string& run_namespace,
                           const std::string& name);

}  // namespace gp::coordinator
