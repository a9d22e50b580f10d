// What ended a training, told from the exception in flight. Pure function.
#pragma once

#include "link/messages.h"

namespace gp::engine {

// The cause and the words for the exception that is being handled. REQUIRES: called inside a catch
// block.
link::Failed CurrentFailure();

}  // namespace gp::engine
