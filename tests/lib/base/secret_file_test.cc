#include "base/secret_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "base/file.h"
#include "lib/base/file_mode.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SecretFile, OnlyItsOwnerMayReadIt) {
  const TemporaryDirectory directory;
  const mode_t before = umask(0);
  const Status made = MakeSecretDirectory(directory.File("security"));
  const Status written = WriteSecretFile(directory.File("security/key"), "secret");
  umask(before);
  ASSERT_TRUE(made.ok() && written.ok()) << made << written;
  EXPECT_EQ(ModeOf(directory.File("security")), 0700u);
  EXPECT_EQ(ModeOf(directory.File("security/key")), 0600u);
  EXPECT_EQ(*ReadSecretFile(directory.File("security/key")), "secret");
}

TEST(SecretFile, AnOpenDirectoryIsClosed) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("security");
  ASSERT_EQ(mkdir(path.c_str(), 0755), 0);
  ASSERT_TRUE(MakeSecretDirectory(path).ok());
  EXPECT_EQ(ModeOf(path), 0700u);
}

TEST(SecretFile, IsReadWhenItIsForItsOwnerAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("key");
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomically(path, content, 0600).ok());
  EXPECT_EQ(ReadSecretFile(path).value(), content);
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  EXPECT_EQ(ReadSecretFile(path).value(), content);
}

TEST(SecretFile, IsRefusedInWordsWhenAnotherUserMayReachIt) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("key");
  ASSERT_TRUE(WriteFileAtomically(path, "hidden", 0600).ok());
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0601, 0644}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const auto read = ReadSecretFile(path);
    ASSERT_EQ(read.status().code(), StatusCode::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(Message(read.status()), HasSubstr("chmod 600 " + path));
    EXPECT_THAT(Message(read.status()), Not(HasSubstr("hidden")));
  }
}

// Reads the file as a user who is only in group 4711; true if that succeeds.
bool CanReadAs4711(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    if (setegid(4711) != 0 || seteuid(4711) != 0) _exit(2);
    _exit(ReadSecretFile(path).ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2);
  return WEXITSTATUS(status) == 0;
}

TEST(SecretFile, RootMayGiveItToTheGroupOfAnotherUsersProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const TemporaryDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  const std::string path = directory.File("token");
  ASSERT_TRUE(WriteFileAtomically(path, "secret", 0600).ok());
  ASSERT_EQ(chown(path.c_str(), 0, 4711), 0);
  for (const auto& [mode, read] : std::map<mode_t, bool>{
           {0440, true}, {0640, true}, {0660, false}, {0444, false}, {0450, false}}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_EQ(CanReadAs4711(path), read) << std::oct << mode;
  }
  ASSERT_EQ(chown(path.c_str(), 4712, 4711), 0);
  ASSERT_EQ(chmod(path.c_str(), 0440), 0);
  EXPECT_FALSE(CanReadAs4711(path)) << "its owner is another user";
}

TEST(SecretFile, WhatIsNoFileOrTooLongOrAbsentIsRefused) {
  const TemporaryDirectory directory;
  EXPECT_EQ(ReadSecretFile(directory.File("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadSecretFile(directory.path()).status().code(), StatusCode::kInvalidArgument);
  const std::string pipe = directory.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadSecretFile(pipe).status().code(), StatusCode::kInvalidArgument);
  const std::string path = directory.File("key");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(33, 'x'), 0600).ok());
  EXPECT_EQ(ReadSecretFile(path, 32).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(ReadSecretFile(path, 33).ok());
}

}  // namespace
}  // namespace gp
