#include "http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Message, ATargetIsSplitBeforeItIsDecoded) {
  const auto target = ParseTarget("/v1/models/a%2Fb%20c?q=a+b&flag&x=%3d#part");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_THAT(target->path, ElementsAre("v1", "models", "a/b c"));
  EXPECT_THAT(target->query, ElementsAre(Pair("q", "a b"), Pair("flag", ""), Pair("x", "=")));
}

TEST(Message, APlusInAPathIsAPlus) { EXPECT_THAT(ParseTarget("/a+b")->path, ElementsAre("a+b")); }

TEST(Message, AnAbsoluteTargetLosesItsHost) {
  EXPECT_THAT(ParseTarget("http://host:80/a/b")->path, ElementsAre("a", "b"));
  EXPECT_THAT(ParseTarget("https://host")->path, ElementsAre(""));
}

TEST(Message, ATargetThatIsNoneIsRefused) {
  for (const char* target : {"", "ping", "*", "/%", "/%z1", "/%1", "/a%00b", "/a?b=%0"}) {
    EXPECT_EQ(ParseTarget(target).status().code(), StatusCode::kInvalidArgument) << target;
  }
}

TEST(Message, APartThatCannotBeReadIsNamed) {
  const auto problem = [](std::string_view target) {
    return gp::Message(ParseTarget(target).status());
  };
  EXPECT_EQ(problem("/a?b=1&search=%ff%41"), "parameter 'search' is not UTF-8: '?A'");
  EXPECT_EQ(problem("/a?search=\xe2"), "parameter 'search' is not UTF-8: '?'");
  EXPECT_EQ(problem("/a?%ff=1"), "the name of a parameter is not UTF-8: '?'");
  EXPECT_EQ(problem("/runs/%ff"), "the path is not UTF-8: '?'");
  EXPECT_EQ(problem("/a?b=%00"), "parameter 'b' holds a zero byte");
  EXPECT_THAT(problem("/a?b=%"), HasSubstr("parameter 'b' has a '%'"));
  EXPECT_THAT(problem("/a%zz"), HasSubstr("has a '%' without two hexadecimal digits"));
  EXPECT_EQ(ParseTarget("/%E2%82%AC?a=\u20ac")->query[0].second, "\u20ac");
}

TEST(Message, AHeaderThatIsNotWholeTellsWhatArrived) {
  const auto received = ReadReceivedHeader(
      "POST /echo?a HTTP/1.1\r\nHost: a\r\nX-Request-Id:  mine \r\nno colon\r\nOrigin: htt");
  EXPECT_EQ(received.method, "POST");
  EXPECT_EQ(received.target, "/echo?a");
  EXPECT_THAT(received.headers, ElementsAre(Pair("host", "a"), Pair("x-request-id", "mine")));
  EXPECT_EQ(ReadReceivedHeader("HEAD  /x HTTP/1.1").target, "/x");
  EXPECT_EQ(ReadReceivedHeader("HEAD / HTTP/9.9\r\n\r\n").method, "HEAD");
  for (const std::string_view garbage :
       {"", "GET", "\r\n", "\x16\x03\x01 /", "get / HTTP/1.1\r\n", ": \n:"}) {
    EXPECT_EQ(ReadReceivedHeader(garbage).method, "") << garbage;
    EXPECT_EQ(ReadReceivedHeader(garbage).target, "") << garbage;
  }
  EXPECT_EQ(ReadReceivedHeader("GET /\x01 HTTP/1.1\r\n").target, "");
}

TEST(Message, AListIsThatOfAllHeadersOfItsName) {
  const Request request{.headers = {{"te", "GZip, ,x"}, {"host", "h"}, {"te", " y;q=1 "}}};
  EXPECT_THAT(request.HeaderList("te"), ElementsAre("gzip", "x", "y;q=1"));
  EXPECT_THAT(request.HeaderList("accept"), IsEmpty());
}

TEST(Message, TheFirstHeaderOfANameIsTaken) {
  const Request request{.query = {{"a", "1"}, {"a", "2"}},
                        .captures = {{"id", "demo"}},
                        .headers = {{"accept", "x"}, {"accept", "y"}}};
  EXPECT_EQ(request.Header("accept"), "x");
  EXPECT_EQ(request.Header("host"), std::nullopt);
  EXPECT_EQ(request.Parameter("a"), "1");
  EXPECT_EQ(request.Capture("id"), "demo");
  EXPECT_THAT(request.Capture("other"), IsEmpty());
}

TEST(Message, TheKeysNameStandsForTheAddress) {
  Request request{.client_address = "127.0.0.1"};
  EXPECT_EQ(request.Asker(), "127.0.0.1");
  request.key_name = "alice";
  EXPECT_EQ(request.Asker(), "alice");
}

TEST(Message, LowersLettersOfAsciiAlone) { EXPECT_EQ(Lower("X-Id \u00c4"), "x-id \u00c4"); }

}  // namespace
}  // namespace gp::http
