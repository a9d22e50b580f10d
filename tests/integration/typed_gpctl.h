// TypedGpctl: runs gpctl against a test's cluster as a user would. Commands and their output also
// go to the test's output. Use it from the test's thread.
#pragma once

#include <string>
#include <vector>

#include "integration/cluster.h"

namespace gp::testing {

struct TypedOutcome {
  int code = -1;
  std::string output;  // stdout and stderr
};

// `command` is what follows "gpctl", in shell syntax; `environment` has entries "NAME=value".
TypedOutcome TypeGpctl(const Cluster& cluster, const std::string& command,
                       const std::vector<std::string>& environment = {});

}  // namespace gp::testing
