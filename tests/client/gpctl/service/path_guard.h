// PathGuard: another $PATH during a test. Not thread-safe, as the environment is not.
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
