#include "base/machine/parent_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace gp {

// Compares the parent's number to notice a parent that ended during the call.
bool DieWithParent() {
  const pid_t parent = getppid();
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

}  // namespace gp
