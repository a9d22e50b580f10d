#include "worker/agent/gpu_inventory.h"

namespace gp::agent {

std::vector<SlotInfo> ListGpuSlots() { return {}; }

}  // namespace gp::agent
