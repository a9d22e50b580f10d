// InChild: runs a part of a test in a child process, because a confinement lasts as long as its
// process.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace gp::confinement {

// Runs `work` in a child process and returns its result (0 to 255); -1 if the child did not exit
// normally.
inline int InChild(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace gp::confinement
