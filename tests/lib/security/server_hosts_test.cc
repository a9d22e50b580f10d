#include "security/server_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gp::security {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(ServerHosts, NamesWhatItListensOn) {
  const auto hosts = ServerHosts("10.1.2.3");
  EXPECT_THAT(hosts, Contains("10.1.2.3"));
  EXPECT_THAT(hosts, Contains("localhost"));
  EXPECT_THAT(hosts, Contains("127.0.0.1"));
  EXPECT_THAT(hosts, Contains("::1"));
}

TEST(ServerHosts, EveryInterfaceStandsForItself) {
  const auto hosts = ServerHosts("0.0.0.0");
  EXPECT_THAT(hosts, Not(Contains("0.0.0.0")));
  EXPECT_THAT(hosts, Contains("127.0.0.1")) << "the loopback interface";
}

TEST(ServerHosts, NoHostIsNamedTwice) {
  const auto hosts = ServerHosts("localhost");
  EXPECT_EQ(std::count(hosts.begin(), hosts.end(), "localhost"), 1);
}

}  // namespace
}  // namespace gp::security
