// ExpectPrivate: a check of permissions for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace gp::coordinator {

// Only the user of this process may access `directory` and its contents.
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
