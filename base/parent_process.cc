#include "base/parent_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace gp {

// A parent that ended before the call is noticed by comparing.
bool DieWithParent() {
  const pid_t parent = getppid();
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

}  // namespace gp
