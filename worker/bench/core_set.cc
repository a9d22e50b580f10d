#include "worker/bench/core_set.h"

#include <sched.h>

#include "base/machine/usable_cores.h"

namespace gp::engine {

void UseCores(int count) {
  const auto cores = UsableCores();
  if (!cores.ok()) return;
  cpu_set_t used;
  CPU_ZERO(&used);
  for (const int core : *cores) {
    if (count-- > 0) CPU_SET(core, &used);
  }
  sched_setaffinity(0, sizeof(used), &used);
}

}  // namespace gp::engine
