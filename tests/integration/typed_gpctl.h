// TypedGpctl: gpctl as a person types it for a cluster of a test. Commands and their output also go
// to the test's output. Used from the test's thread.
#pragma once

#include <string>
#include <vector>

#include "integration/cluster.h"

namespace gp::testing {

struct TypedOutcome {
  int code = -1;
  std::string output;  // both streams
};

// `command` follows "gpctl", for a shell; `environment` is "NAME=value".
TypedOutcome TypeGpctl(const Cluster& cluster, const std::string& command,
                       const std::vector<std::string>& environment = {});

}  // namespace gp::testing
