#include "base/machine/open_files.h"

#include <sys/resource.h>

namespace gp {

Status AllowManyOpenFiles() {
  // A daemon opens databases, logs, sockets and gRPC's queues before its first connection.
  constexpr rlim_t kNeeded = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return OkStatus();
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= kNeeded) return OkStatus();
  return ResourceExhausted(
      "this process may have {} files open, but needs at least {}; raise the limit: 'ulimit -n' of "
      "the shell, LimitNOFILE of a systemd unit",
      limit.rlim_max, kNeeded);
}

}  // namespace gp
