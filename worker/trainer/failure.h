// Converts the exception in flight to the cause of a training's end. Pure function.
#pragma once

#include "contract/messages.h"

namespace gp::engine {

// The cause and the message for the exception that is being handled. REQUIRES: called inside a
// catch block.
link::Failed CurrentFailure();

}  // namespace gp::engine
