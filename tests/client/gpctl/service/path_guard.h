// PathGuard: sets $PATH during a test and restores it. Not thread-safe, because the environment is
// not.
#pragma once

#include <cstdlib>
#include <string>

namespace gp::gpctl {

class PathGuard {
 public:
  explicit PathGuard(const std::string& path) : before_(std::getenv("PATH")) {
    setenv("PATH", path.c_str(), 1);
  }
  ~PathGuard() { setenv("PATH", before_.c_str(), 1); }
  PathGuard(const PathGuard&) = delete;
  PathGuard& operator=(const PathGuard&) = delete;

 private:
  const std::string before_;
};

}  // namespace gp::gpctl
