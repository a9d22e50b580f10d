#include "worker/engine/bench/core_set.h"

#include <sched.h>

#include <algorithm>

namespace gp::engine {

int AvailableCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(CPU_COUNT(&cores), 1);
}

void UseCores(int count) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t used;
  CPU_ZERO(&used);
  for (int core = 0; core < CPU_SETSIZE && count > 0; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    CPU_SET(core, &used);
    --count;
  }
  sched_setaffinity(0, sizeof(used), &used);
}

}  // namespace gp::engine
