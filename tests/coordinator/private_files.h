// ExpectPrivate: checks file permissions in tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace gp::coordinator {

// Expects that only this process's user can access `directory` and everything in it.
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
