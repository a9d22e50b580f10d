#include "base/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>

namespace gp {

StatusOr<std::vector<int>> UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return ErrnoStatus(errno, "read the CPU affinity of", "this process");
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

int CountUsableCores() {
  const auto cores = UsableCores();
  return cores.ok() ? std::max(static_cast<int>(cores->size()), 1) : 1;
}

}  // namespace gp
