// ScopedUmask: while it lives, the files that this process makes lack the permissions in `mask`.
// The umask belongs to the whole process, so files that other threads make in that time lack these
// permissions too.
#pragma once

#include <sys/stat.h>

namespace gp {

class ScopedUmask {
 public:
  explicit ScopedUmask(mode_t mask) : before_(umask(mask)) {}
  ~ScopedUmask() { umask(before_); }
  ScopedUmask(const ScopedUmask&) = delete;
  ScopedUmask& operator=(const ScopedUmask&) = delete;

 private:
  const mode_t before_;
};

}  // namespace gp
