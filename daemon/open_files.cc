#include "daemon/open_files.h"

#include <sys/resource.h>

namespace gp::daemon {

void AllowManyOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace gp::daemon
