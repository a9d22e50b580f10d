// A test file with given bytes, removed at the end of its scope.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::tasks {

class TextFile {
 public:
  explicit TextFile(const std::string& text, const std::string& name = "questions.jsonl")
      : directory_(testing::TempDir() + "gp-tasks-" + RandomId(8)),
        path_(JoinPath(directory_, name)) {
    EXPECT_TRUE(MakeDirectories(directory_).ok());
    EXPECT_TRUE(WriteFileAtomically(path_, text).ok());
  }
  ~TextFile() { EXPECT_TRUE(RemoveTree(directory_).ok()); }

  const std::string& path() const { return path_; }

 private:
  const std::string directory_;
  const std::string path_;
};

}  // namespace gp::tasks
