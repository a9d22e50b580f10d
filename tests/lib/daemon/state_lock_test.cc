#include "daemon/state_lock.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/temporary_directory.h"

namespace gp::daemon {
namespace {

TEST(StateLock, ASecondHolderIsRefusedAndToldWhoHoldsIt) {
  const TemporaryDirectory directory;
  const auto first = StateLock::Acquire(directory.path(), "lock", "another gp-example");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = StateLock::Acquire(directory.path(), "lock", "another gp-example");
  ASSERT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  const std::string message = Message(second.status());
  EXPECT_NE(message.find(directory.path()), std::string::npos) << message;
  EXPECT_NE(message.find("another gp-example"), std::string::npos) << message;
  EXPECT_NE(message.find(fmt::format("(process {}, since 20", getpid())), std::string::npos)
      << message;
  const auto holder = StateLock::HolderOf(directory.path(), "lock");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, getpid());
}

TEST(StateLock, EndsWithItsHolder) {
  const TemporaryDirectory directory;
  { ASSERT_TRUE(StateLock::Acquire(directory.path(), "lock", "gp-example").ok()); }
  EXPECT_FALSE(StateLock::HolderOf(directory.path(), "lock"));
  EXPECT_EQ(*ReadFile(JoinPath(directory.path(), "lock")), "") << "it has let go";
  EXPECT_TRUE(StateLock::Acquire(directory.path(), "lock", "gp-example").ok());
}

TEST(StateLock, IsFreeWhereAHolderOnAnotherHostCrashedAndTheFileSystemLocksForAll) {
  const TemporaryDirectory directory;
  const std::string path = JoinPath(directory.path(), "lock");
  ASSERT_TRUE(WriteFileAtomically(path, "4 host=other boot_id=x pid_namespace=y").ok());
  EXPECT_TRUE(StateLock::Acquire(directory.path(), "lock", "gp-example").ok());
}

TEST(StateLock, AStorageRootHasOneHolderAndADeadHostDoesNotKeepIt) {
  const TemporaryDirectory root;
  const std::string path = JoinPath(root.path(), kStorageLockName);
  ASSERT_TRUE(WriteFileAtomically(path, "4 host=other boot_id=x pid_namespace=y").ok());
  const auto first = StateLock::AcquireStorage(root.path(), "another coordinator");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = StateLock::AcquireStorage(root.path(), "another coordinator");
  ASSERT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(second.status()).find("storage root " + root.path() + " is in use"),
            std::string::npos)
      << second.status();
  EXPECT_NE(Message(second.status()).find("another --storage-root"), std::string::npos);
}

TEST(StateLock, KnowsFileSystemsWhoseLocksStayOnOneHost) {
  const std::string mounts =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n"
      "30 22 0:40 / /home rw shared:2 master:3 - nfs4 server:/home rw,vers=4.2,local_lock=none\n"
      "31 22 0:41 / /old rw - nfs server:/old rw,vers=3,nolock,local_lock=all\n"
      "32 22 0:42 / /ssh rw - fuse.sshfs user@host: rw,user_id=0\n"
      "33 22 0:43 / /guest rw - 9p share rw,trans=virtio\n";
  EXPECT_FALSE(LocksStayOnHost(mounts, makedev(8, 1)));
  EXPECT_FALSE(LocksStayOnHost(mounts, makedev(0, 40)));
  EXPECT_TRUE(LocksStayOnHost(mounts, makedev(0, 41)));
  EXPECT_TRUE(LocksStayOnHost(mounts, makedev(0, 42)));
  EXPECT_TRUE(LocksStayOnHost(mounts, makedev(0, 43)));
  EXPECT_FALSE(LocksStayOnHost(mounts, makedev(0, 99)));
}

TEST(StateLock, ADirectoryThatIsNotThereIsNamed) {
  const auto lock = StateLock::Acquire("/nonexistent", "lock", "gp-example");
  EXPECT_NE(Message(lock.status()).find("/nonexistent/lock"), std::string::npos) << lock.status();
}

}  // namespace
}  // namespace gp::daemon
