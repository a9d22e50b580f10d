#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

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

bool RestrictToSystemFiles() {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && RestrictFiles(SystemFiles(true)).ok();
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

// Runs `work` with `root` as the root directory; 255 where this machine does not allow that.
int WithRoot(const std::string& root, const std::function<int()>& work) {
  return InChild([&] {
    const bool may = geteuid() == 0 || unshare(CLONE_NEWUSER) == 0;
    if (!may || chroot(root.c_str()) != 0 || chdir("/") != 0) return 255;
    return work();
  });
}

TEST(SystemFiles, TheDriverThatNixLinksFromItsStoreIsReadableForGpus) {
  const TemporaryDirectory root;
  const std::string library = "/nix/store/abc-nvidia/lib/libcuda.so.1";
  for (const char* name : {"run/opengl-driver/lib", "nix/store/abc-nvidia/lib"}) {
    ASSERT_TRUE(MakeDirectories(root.File(name)).ok());
  }
  root.Write(library.substr(1), "text");
  std::filesystem::create_symlink(library, root.File("run/opengl-driver/lib/libcuda.so.1"));
  const int result = WithRoot(root.path(), [&] {
    const auto has = [&](bool gpus) {
      return Matches(Contains(library))(SystemFiles(gpus).readable);
    };
    return has(true) && !has(false) ? 0 : 1;
  });
  if (result == 255) GTEST_SKIP() << "this machine allows no chroot";
  EXPECT_EQ(result, 0);
}

TEST(SystemFiles, TheDeviceOfWindowsIsOpenedForGpus) {
  const TemporaryDirectory root;
  ASSERT_TRUE(MakeDirectories(root.File("dev")).ok());
  for (const char* name : {"dxg", "nvidia3", "nvidia-uvm"}) root.Write(JoinPath("dev", name), "");
  const int result = WithRoot(root.path(), [] {
    const std::vector<std::string> devices = SystemFiles(true).devices;
    for (const char* name : {"/dev/dxg", "/dev/nvidia3", "/dev/nvidia-uvm"}) {
      if (!Matches(Contains(std::string(name)))(devices)) return 1;
    }
    return 0;
  });
  if (result == 255) GTEST_SKIP() << "this machine allows no chroot";
  EXPECT_EQ(result, 0);
}

// Opens a library through a link in `folder`, confined with `library_path` as LD_LIBRARY_PATH;
// whether that works.
bool OpensConfined(const std::string& folder, const std::string& library_path) {
  return InChild([&] {
           setenv("LD_LIBRARY_PATH", library_path.c_str(), 1);
           if (!RestrictToSystemFiles()) return 1;
           return dlopen(JoinPath(folder, "libstandin.so.1").c_str(), RTLD_NOW) == nullptr ? 2 : 0;
         }) == 0;
}

TEST(SystemFiles, AConfinedProcessOpensTheLibrariesOfTheLibraryPath) {
  if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const TemporaryDirectory files;
  for (const char* name : {"store", "lib"}) ASSERT_TRUE(MakeDirectories(files.File(name)).ok());
  std::filesystem::copy_file(GP_SOME_LIBRARY, files.File("store/libstandin.so.1"));
  std::filesystem::create_symlink(files.File("store/libstandin.so.1"),
                                  files.File("lib/libstandin.so.1"));
  EXPECT_TRUE(OpensConfined(files.File("lib"), files.File("lib")));
  EXPECT_FALSE(OpensConfined(files.File("lib"), ""));
}

}  // namespace
}  // namespace gp::confinement
