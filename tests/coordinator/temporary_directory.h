// TemporaryDirectory: a directory of its own below the system's, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::coordinator {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const char* base = std::getenv("TMPDIR");
    path_ = JoinPath(base == nullptr ? "/tmp" : base, "gp-test-" + RandomId(10));
    EXPECT_TRUE(MakeDirectories(path_).ok());
  }
  ~TemporaryDirectory() { (void)RemoveTree(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace gp::coordinator
