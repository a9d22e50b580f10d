// Kills the migration of a directory. A process reads GP_FAILPOINT only once, so every migration
// runs in a child process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/file.h"
#include "formats/directory_format.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The migration to version 2: renames `old` to `new`, unless that was already done.
Status Rename(const std::string& directory) {
  if (!FileExists(JoinPath(directory, "old"))) return OkStatus();
  std::filesystem::rename(JoinPath(directory, "old"), JoinPath(directory, "new"));
  return SyncDirectory(directory);
}

// Migrates in a child process with this GP_FAILPOINT; returns the wait status.
int MigrateInChild(const std::string& directory, const std::string& failpoint) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("GP_FAILPOINT", failpoint.c_str(), 1);
    const DirectoryFormat format{.name = "gp-things",
                                 .what = "directory of things",
                                 .migrations = {{.changes = {"old"}, .apply = Rename}}};
    _exit(MigrateDirectory(directory, format).ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class DirectoryFormatKill : public ::testing::TestWithParam<const char*> {};

TEST_P(DirectoryFormatKill, IsFinishedByTheNextMigration) {
  const TemporaryDirectory directory;
  std::ofstream(directory.File("old")) << "text";
  const int killed = MigrateInChild(directory.path(), std::string(GetParam()) + ":kill");
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL) << killed;
  EXPECT_EQ(MigrateInChild(directory.path(), ""), 0);
  EXPECT_EQ(Read(directory.File("new")), "text");
  EXPECT_EQ(Read(directory.File("before-v2/old")), "text");
  EXPECT_EQ(Read(directory.File(kFormatFileName)), "{\"format\":\"gp-things\",\"version\":2}\n");
}

INSTANTIATE_TEST_SUITE_P(Anywhere, DirectoryFormatKill,
                         ::testing::Values("directory.after_copies", "directory.before_version",
                                           "directory.after_version"));

}  // namespace
}  // namespace gp::formats
