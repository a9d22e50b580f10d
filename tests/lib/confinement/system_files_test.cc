#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "confinement/file_rules.h"
#include "lib/base/temporary_directory.h"
#include "lib/confinement/in_child.h"

namespace gp::confinement {
namespace {

using ::testing::Contains;
using ::testing::Matches;

// Whether a process with this LD_LIBRARY_PATH can read all `names`.
bool AreReadable(const std::vector<std::string>& names, const char* library_path, bool gpus) {
  return InChild([&] {
           setenv("LD_LIBRARY_PATH", library_path, 1);
           const std::vector<std::string> readable = SystemFiles(gpus).readable;
           for (const std::string& name : names) {
             if (!Matches(Contains(name))(readable)) return 1;
           }
           return 0;
         }) == 0;
}

TEST(SystemFiles, TheFoldersOfTheLibraryPathAreReadable) {
  EXPECT_TRUE(AreReadable({"/opt/torch/lib", "/opt/cuda"}, "/opt/torch/lib::/opt/cuda", false));
  EXPECT_FALSE(AreReadable({"/opt/cuda"}, "/opt/torch/lib", false));
}

// uv with --link-mode=symlink, and Nix, install libraries like this.
TEST(SystemFiles, LibrariesThatAreLinkedFromElsewhereAreReadable) {
  TemporaryDirectory files;
  const std::string store = files.File("store");
  const std::string path = files.File("lib");
  ASSERT_TRUE(MakeDirectories(store).ok());
  ASSERT_TRUE(MakeDirectories(path).ok());
  for (const char* name : {"libcudnn.so.9", "secret.txt"}) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(store, name), "text").ok());
    std::filesystem::create_symlink(JoinPath(store, name), JoinPath(path, name));
  }
  std::filesystem::create_symlink(JoinPath(store, "gone"), JoinPath(path, "libgone.so"));

  EXPECT_TRUE(AreReadable({JoinPath(store, "libcudnn.so.9")}, path.c_str(), false));
  EXPECT_FALSE(AreReadable({JoinPath(store, "secret.txt")}, path.c_str(), false));
  EXPECT_FALSE(AreReadable({JoinPath(store, "libcudnn.so.9")}, "", false));
}

TEST(SystemFiles, TheRootAndRelativeFoldersAreNot) {
  for (const char* name : {"/", "", ".", "lib"}) {
    EXPECT_FALSE(AreReadable({name}, "/::.:lib", true)) << name;
  }
}

TEST(SystemFiles, WhereContainersHaveTheDriverIsReadableForGpus) {
  EXPECT_TRUE(AreReadable({"/usr/local/nvidia", "/run/opengl-driver"}, "", true));
  EXPECT_FALSE(AreReadable({"/usr/local/nvidia"}, "", false));
}

}  // namespace
}  // namespace gp::confinement
