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
