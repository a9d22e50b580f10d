#include "rpc/listen_address.h"

#include <gtest/gtest.h>

namespace gp::rpc {
namespace {

TEST(ListenAddress, ReadsHostAndPort) {
  EXPECT_EQ(ParseListenAddress("127.0.0.1:5075")->Text(), "127.0.0.1:5075");
  EXPECT_EQ(ParseListenAddress("[::1]:0")->Text(), "[::1]:0");
  EXPECT_EQ(ParseListenAddress("[::1]:0")->host, "::1");
}

TEST(ListenAddress, RefusesTheRestAndSaysWhatWasExpected) {
  for (const char* text : {"", "5075", "localhost", ":5075", "a:b", "a:65536", "a:-1", "::1:80",
                           "unix:", "unix:/", "unix:relative.sock"}) {
    const auto parsed = ParseListenAddress(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(Message(parsed.status()).find("HOST:PORT"), std::string::npos) << text;
  }
}

TEST(ListenAddress, AWildcardIsReachedOverLoopback) {
  EXPECT_EQ(ParseListenAddress("0.0.0.0:80")->Reachable().Text(), "127.0.0.1:80");
  EXPECT_EQ(ParseListenAddress("[::]:80")->Reachable().Text(), "[::1]:80");
}

TEST(ListenAddress, ReadsTheSocketOfAnAbsolutePath) {
  const auto parsed = ParseListenAddress("unix:/run/user/1000/a b:c.sock");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->path, "/run/user/1000/a b:c.sock");
  EXPECT_EQ(parsed->Reachable().Text(), "unix:/run/user/1000/a b:c.sock");
}

TEST(ListenAddress, KnowsWhatOnlyThisMachineReaches) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/a"}) {
    EXPECT_TRUE(IsLocalAddress(text)) << text;
    EXPECT_TRUE(CheckPrivate(*ParseListenAddress(text), false).ok()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "node-1:1",
                           "127.0.0.1.example.com:1", "[::ffff:10.0.0.1]:1"}) {
    EXPECT_FALSE(IsLocalAddress(text)) << text;
    const Status refused = CheckPrivate(*ParseListenAddress(text), false);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(Message(refused).find("--insecure"), std::string::npos) << refused;
    EXPECT_TRUE(CheckPrivate(*ParseListenAddress(text), true).ok()) << text;
  }
  EXPECT_FALSE(IsLocalAddress("no address"));
}

TEST(ListenAddress, AnUnknownHostIsNamed) {
  const Status status = CheckBindable({"no-such-host.invalid", 80});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(Message(status).find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace gp::rpc
