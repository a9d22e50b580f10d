#include "daemon/state_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/temporary_directory.h"

namespace gp::daemon {
namespace {

TEST(StateLock, ASecondHolderIsRefusedAndToldWhoHoldsIt) {
  const TemporaryDirectory directory;
  const auto first = StateLock::Acquire(directory.path(), "lock", "gp-example");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = StateLock::Acquire(directory.path(), "lock", "gp-example");
  ASSERT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  const std::string message = Message(second.status());
  EXPECT_NE(message.find(directory.path()), std::string::npos) << message;
  EXPECT_NE(message.find("another gp-example"), std::string::npos) << message;
  EXPECT_NE(message.find(std::to_string(getpid())), std::string::npos) << message;
}

TEST(StateLock, EndsWithItsHolder) {
  const TemporaryDirectory directory;
  { ASSERT_TRUE(StateLock::Acquire(directory.path(), "lock", "gp-example").ok()); }
  EXPECT_TRUE(StateLock::Acquire(directory.path(), "lock", "gp-example").ok());
}

TEST(StateLock, ADirectoryThatIsNotThereIsNamed) {
  const auto lock = StateLock::Acquire("/nonexistent", "lock", "gp-example");
  EXPECT_NE(Message(lock.status()).find("/nonexistent/lock"), std::string::npos) << lock.status();
}

}  // namespace
}  // namespace gp::daemon
