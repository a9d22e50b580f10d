#include "worker/engine/collectives/tcp_handshake.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

const Greeting kGreeting = {7, 1, 0, 2, 8, "7f3k2q9a0c", "secret"};

std::span<const std::byte> BodyOf(const std::vector<std::byte>& bytes) {
  return std::span(bytes).subspan(kGreetingHeaderBytes);
}

std::optional<size_t> HeaderOf(const std::vector<std::byte>& bytes) {
  return DecodeGreetingHeader(
      std::span<const std::byte, kGreetingHeaderBytes>(bytes.data(), kGreetingHeaderBytes));
}

TEST(TcpHandshake, AGreetingComesBack) {
  const auto bytes = EncodeGreeting(kGreeting);
  ASSERT_EQ(HeaderOf(bytes), bytes.size() - kGreetingHeaderBytes);
  const auto greeting = DecodeGreetingBody(BodyOf(bytes));
  ASSERT_TRUE(greeting.has_value());
  EXPECT_EQ(EncodeGreeting(*greeting), bytes);
  EXPECT_EQ(greeting->secret, "secret");
}

TEST(TcpHandshake, ABodyCutAtAnyByteIsRefused) {
  const auto bytes = EncodeGreeting(kGreeting);
  const auto body = BodyOf(bytes);
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodeGreetingBody(body.first(size)).has_value()) << size;
  }
}

TEST(TcpHandshake, TrailingBytesAreRefused) {
  auto bytes = EncodeGreeting(kGreeting);
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(DecodeGreetingBody(BodyOf(bytes)).has_value());
}

TEST(TcpHandshake, AnotherMagicOrAHugeBodyIsRefused) {
  auto magic = EncodeGreeting(kGreeting);
  magic[0] ^= std::byte{1};
  EXPECT_FALSE(HeaderOf(magic).has_value());
  auto huge = EncodeGreeting(kGreeting);
  huge[7] = std::byte{0xff};
  EXPECT_FALSE(HeaderOf(huge).has_value());
}

TEST(TcpHandshake, AnAnswerIsOfOneEpochAndRank) {
  const auto answer = EncodeAnswer(7, 1);
  EXPECT_TRUE(AnswerIs(answer, 7, 1));
  EXPECT_FALSE(AnswerIs(answer, 8, 1));
  EXPECT_FALSE(AnswerIs(answer, 7, 0));
}

TEST(TcpHandshake, SecretsAreComparedWhole) {
  EXPECT_TRUE(SecretsEqual("abc", "abc"));
  EXPECT_FALSE(SecretsEqual("abc", "abd"));
  EXPECT_FALSE(SecretsEqual("abc", "ab"));
}

}  // namespace
}  // namespace gp::engine
