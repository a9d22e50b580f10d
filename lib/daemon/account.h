// Account: a user of this machine that programs are started as. A value; the functions may be
// called from any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace gp::daemon {

struct Account {
  uid_t user = 0;
  gid_t group = 0;
  std::string home;
};

// NotFound names the user.
StatusOr<Account> FindAccount(const std::string& name);

}  // namespace gp::daemon
