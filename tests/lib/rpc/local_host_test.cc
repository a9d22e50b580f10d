#include "rpc/local_host.h"

#include <gmock/gmock.h>

namespace gp::rpc {
namespace {

using ::testing::HasSubstr;

TEST(LocalHost, TowardThisMachineIsLoopback) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto local = LocalHostToward(host);
    ASSERT_TRUE(local.ok()) << local.status();
    EXPECT_TRUE(*local == "127.0.0.1" || *local == "::1") << *local;
  }
}

TEST(LocalHost, TowardTheAddressItselfIsThatAddress) {
  EXPECT_EQ(*LocalHostToward("127.1.2.3"), "127.0.0.1");
}

TEST(LocalHost, AnUnknownHostIsNamed) {
  const auto local = LocalHostToward("no-such-host.invalid");
  EXPECT_EQ(local.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(local.status()), HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace gp::rpc
