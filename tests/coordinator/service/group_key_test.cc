#include "coordinator/service/group_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <numeric>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const RunId kRun("run-1");

GroupKey SampleKey() {
  GroupKey::Bytes bytes;
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  return GroupKey(bytes);
}

TEST(GroupKey, TheSecretIsTheSameEverywhere) {
  // Expected value from Python's hmac: a coordinator of another version must derive the same
  // secret.
  EXPECT_EQ(SampleKey().SecretOf(kRun, 7, "00ff"),
            "1d9f07a5bc0d78687c70f82229263be0fec010db2124b99de522d3f27888bfbf");
}

TEST(GroupKey, TheSecretHangsOnKeyRunEpochAndNonce) {
  const std::string secret = SampleKey().SecretOf(kRun, 7, "00ff");
  EXPECT_NE(GroupKey(GroupKey::Bytes{}).SecretOf(kRun, 7, "00ff"), secret);
  EXPECT_NE(SampleKey().SecretOf(RunId("run-2"), 7, "00ff"), secret);
  EXPECT_NE(SampleKey().SecretOf(kRun, 8, "00ff"), secret);
  EXPECT_NE(SampleKey().SecretOf(kRun, 7, "00fe"), secret);
  // Moving a character from the end of one field to the start of the next must change the secret.
  EXPECT_NE(SampleKey().SecretOf(RunId("run-10"), 7, "0ff"), secret);
}

TEST(GroupKey, IsMadeOnceForItsOwnerAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("security/group.key");
  const auto made = GroupKey::Open(path);
  ASSERT_TRUE(made.ok()) << made.status();
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_size, 32);
  ASSERT_EQ(stat(directory.File("security").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(GroupKey::Open(path)->SecretOf(kRun, 1, "n"), made->SecretOf(kRun, 1, "n"));
  const auto other = GroupKey::Open(directory.File("other/group.key"));
  EXPECT_NE(other->SecretOf(kRun, 1, "n"), made->SecretOf(kRun, 1, "n"));
}

TEST(GroupKey, OneThatOthersReadOrThatIsNoKeyIsRefusedInWords) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("group.key");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(32, 'k'), 0644).ok());
  const Status open = GroupKey::Open(path).status();
  EXPECT_EQ(open.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(open), HasSubstr("has mode 0644"));
  for (const size_t size : {0, 31, 33}) {
    ASSERT_TRUE(WriteFileAtomically(path, std::string(size, 'k'), 0600).ok());
    const Status status = GroupKey::Open(path).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(Message(status),
                HasSubstr(fmt::format("{} has {} bytes, expected 32", path, size)));
    EXPECT_THAT(Message(status), Not(HasSubstr("kkk")));
  }
}

}  // namespace
}  // namespace gp::coordinator
