#include "daemon/account.h"

#include <pwd.h>

#include <array>

namespace gp::daemon {

StatusOr<Account> FindAccount(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> texts;
  const int error = getpwnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found);
  if (found != nullptr) return Account{entry.pw_uid, entry.pw_gid, entry.pw_dir};
  if (error != 0) return ErrnoStatus(error, "look up", "the user '" + name + "'");
  return NotFound(
      "this machine has no user '{}'; make it with `useradd --system {}`, or name another", name,
      name);
}

}  // namespace gp::daemon
