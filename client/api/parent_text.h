// The checkpoint that a run began from, in the words of every screen. Pure; thread-safe.
#pragma once

#include <string>

#include "gp/v1/run.pb.h"

namespace gp::client {

// "base@150": RUN@STEP, by the run's id where its name is not known.
std::string ParentText(const v1::CheckpointOfRun& parent);

}  // namespace gp::client
