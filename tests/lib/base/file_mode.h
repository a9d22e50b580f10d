// The permissions of a file, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

namespace gp {

// The permission bits; fails the test if the file does not exist.
inline mode_t ModeOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

}  // namespace gp
