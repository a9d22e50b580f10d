#include "worker/bench/process_memory.h"

#include <sys/resource.h>

namespace gp::engine {

int64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace gp::engine
