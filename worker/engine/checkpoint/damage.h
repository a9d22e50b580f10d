// What every complaint about a checkpoint that cannot be loaded ends with. Pure function.
#pragma once

#include <string>

#include "base/status.h"

namespace gp::engine {

// `what` names the file and what is wrong with it.
inline Status DamagedCheckpoint(const std::string& what) {
  return DataLoss("{}; the checkpoint is damaged", what);
}

}  // namespace gp::engine
