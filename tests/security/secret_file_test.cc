#include "security/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/temporary_directory.h"

namespace gp::security {
namespace {

unsigned ModeOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

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

TEST(SecretFile, AFileThatOthersMayReadIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("key");
  ASSERT_TRUE(WriteFileAtomically(path, "secret", 0640).ok());
  const auto read = ReadSecretFile(path);
  EXPECT_EQ(read.status().code(), StatusCode::kPermissionDenied);
  EXPECT_NE(Message(read.status()).find("chmod 600"), std::string::npos) << read.status();
}

TEST(SecretFile, AMissingFileIsNotFound) {
  EXPECT_EQ(ReadSecretFile("/nowhere/key").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::security
