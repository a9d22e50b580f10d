// The GPUs of this node, as slots. Which file implements it is chosen by CMake: no_gpu_inventory.cc
// where no GPU can be asked. Called once at start.
#pragma once

#include <vector>

#include "worker/agent/slots.h"

namespace gp::agent {

// One slot for each GPU, without cores; empty when there are none.
std::vector<SlotInfo> ListGpuSlots();

}  // namespace gp::agent
