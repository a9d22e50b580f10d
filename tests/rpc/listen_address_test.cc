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
  for (const char* text : {"", "5075", "localhost", ":5075", "a:b", "a:65536", "a:-1", "::1:80"}) {
    const auto parsed = ParseListenAddress(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(Message(parsed.status()).find("HOST:PORT"), std::string::npos) << text;
  }
}

TEST(ListenAddress, AWildcardIsReachedOverLoopback) {
  EXPECT_EQ(ParseListenAddress("0.0.0.0:80")->Reachable().Text(), "127.0.0.1:80");
}

TEST(ListenAddress, AnUnknownHostIsNamed) {
  const Status status = CheckBindable({"no-such-host.invalid", 80});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(Message(status).find("no-such-host.invalid"), std::string::npos);
}

}  // namespace
}  // namespace gp::rpc
