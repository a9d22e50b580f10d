// TemporaryDirectory: a new directory for a test, removed with its contents at the end of the
// scope. Not copyable.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace gp {

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& parent = ::testing::TempDir())
      : path_(JoinPath(parent, "gp-XXXXXX")) {
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path_;
  }
  ~TemporaryDirectory() {
    const Status removed = RemoveTree(path_);
    EXPECT_TRUE(removed.ok()) << removed;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return JoinPath(path_, name); }
  // Writes the file and returns its path.
  std::string Write(const std::string& name, const std::string& content) const {
    const Status written = WriteFileAtomically(File(name), content);
    EXPECT_TRUE(written.ok()) << written;
    return File(name);
  }

 private:
  std::string path_;
};

}  // namespace gp
