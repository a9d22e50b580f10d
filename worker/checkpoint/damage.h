// The error for a checkpoint that cannot be loaded; every message has the same end. Pure function.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::engine {

// `what` names the file and the problem.
inline Status DamagedCheckpoint(const std::string& what) {
  return DataLoss("{}; the checkpoint is damaged", what);
}

}  // namespace gp::engine
