#include "base/machine/parent_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace gp {

bool DieWithParent(pid_t parent) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

bool DieWithParent() { return DieWithParent(getppid()); }

}  // namespace gp
