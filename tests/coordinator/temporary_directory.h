// TemporaryDirectory: a directory of its own below the system's, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
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

// Nobody but the user of this process may do anything with `directory` and what is in it.
inline void ExpectPrivate(const std::string& directory) {
  using std::filesystem::perms;
  const auto expect = [](const std::filesystem::path& path) {
    EXPECT_EQ(std::filesystem::status(path).permissions() & (perms::group_all | perms::others_all),
              perms::none)
        << path;
  };
  expect(directory);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    expect(entry.path());
  }
}

}  // namespace gp::coordinator
