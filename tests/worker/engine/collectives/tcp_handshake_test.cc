#include "worker/engine/collectives/tcp_handshake.h"

#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>

namespace gp::engine {
namespace {

const Greeting kGreeting = {7, 1, 0, 2, 8, "7f3k2q9a0c", {std::byte{1}, std::byte{2}}, false};

std::optional<size_t> HeaderOf(const std::vector<std::byte>& bytes) {
  return DecodeGreetingHeader(
      std::span<const std::byte, kGreetingHeaderBytes>(bytes.data(), kGreetingHeaderBytes));
}

TEST(TcpHandshake, AGreetingComesBack) {
  const auto bytes = EncodeGreeting(kGreeting);
  ASSERT_EQ(HeaderOf(bytes), bytes.size() - kGreetingHeaderBytes);
  const auto greeting = DecodeGreeting(bytes);
  ASSERT_TRUE(greeting.has_value());
  EXPECT_EQ(EncodeGreeting(*greeting), bytes);
  EXPECT_EQ(greeting->nonce, kGreeting.nonce);
  EXPECT_FALSE(greeting->encrypted);
}

TEST(TcpHandshake, AGreetingTellsWhetherTlsFollows) {
  Greeting encrypted = kGreeting;
  encrypted.encrypted = true;
  const auto bytes = EncodeGreeting(encrypted);
  ASSERT_TRUE(HeaderOf(bytes).has_value());
  const auto greeting = DecodeGreeting(bytes);
  ASSERT_TRUE(greeting.has_value());
  EXPECT_TRUE(greeting->encrypted);
  EXPECT_NE(bytes, EncodeGreeting(kGreeting));
}

TEST(TcpHandshake, AGreetingTellsWhichOfTheTwoConnectionsBegins) {
  Greeting results = kGreeting;
  results.connection = Connection::kResults;
  const auto bytes = EncodeGreeting(results);
  EXPECT_NE(bytes, EncodeGreeting(kGreeting));
  const auto greeting = DecodeGreeting(bytes);
  ASSERT_TRUE(greeting.has_value());
  EXPECT_EQ(greeting->connection, Connection::kResults);
  results.connection = static_cast<Connection>(2);
  EXPECT_FALSE(DecodeGreeting(EncodeGreeting(results)).has_value());
}

TEST(TcpHandshake, AGreetingCutAtAnyByteIsRefused) {
  const auto bytes = EncodeGreeting(kGreeting);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeGreeting(std::span(bytes).first(size)).has_value()) << size;
  }
}

TEST(TcpHandshake, TrailingBytesAreRefused) {
  auto bytes = EncodeGreeting(kGreeting);
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(DecodeGreeting(bytes).has_value());
}

TEST(TcpHandshake, AnotherMagicOrAHugeBodyIsRefused) {
  auto magic = EncodeGreeting(kGreeting);
  magic[0] ^= std::byte{1};
  EXPECT_FALSE(HeaderOf(magic).has_value());
  auto huge = EncodeGreeting(kGreeting);
  huge[7] = std::byte{0xff};
  EXPECT_FALSE(HeaderOf(huge).has_value());
}

TEST(TcpHandshake, NoTwoGreetingsAreEqual) {
  const GroupOptions options = {.run_id = "run", .rank = 1, .addresses = {"a", "b"}};
  EXPECT_NE(EncodeGreeting(GreetingTo(options, 0)), EncodeGreeting(GreetingTo(options, 0)));
}

TEST(TcpHandshake, AProofHangsOnSideSecretGreetingAndChallenge) {
  const auto greeting = EncodeGreeting(kGreeting);
  auto other_greeting = greeting;
  other_greeting.back() ^= std::byte{1};
  const Nonce challenge = {std::byte{3}};
  const Proof proof = ProofOf(Side::kCaller, "secret", greeting, challenge);
  EXPECT_TRUE(IsProof(ProofOf(Side::kCaller, "secret", greeting, challenge), proof));
  EXPECT_FALSE(IsProof(ProofOf(Side::kCalled, "secret", greeting, challenge), proof));
  EXPECT_FALSE(IsProof(ProofOf(Side::kCaller, "Secret", greeting, challenge), proof));
  EXPECT_FALSE(IsProof(ProofOf(Side::kCaller, "secret", other_greeting, challenge), proof));
  EXPECT_FALSE(IsProof(ProofOf(Side::kCaller, "secret", greeting, {std::byte{4}}), proof));
  EXPECT_FALSE(IsProof(std::span(proof).first(31), proof));
}

TEST(TcpHandshake, AKeyHangsOnSecretGreetingAndChallenge) {
  const auto greeting = EncodeGreeting(kGreeting);
  auto other_greeting = greeting;
  other_greeting.back() ^= std::byte{1};
  const Nonce challenge = {std::byte{3}};
  const ChannelKey key = KeyOfChannel("secret", greeting, challenge);
  EXPECT_EQ(KeyOfChannel("secret", greeting, challenge), key);
  EXPECT_NE(KeyOfChannel("Secret", greeting, challenge), key);
  EXPECT_NE(KeyOfChannel("secret", other_greeting, challenge), key);
  EXPECT_NE(KeyOfChannel("secret", greeting, {std::byte{4}}), key);
}

std::string HexOf(std::span<const std::byte> bytes) {
  std::ostringstream hex;
  for (const std::byte b : bytes) {
    hex << std::hex << std::setw(2) << std::setfill('0') << static_cast<int>(b);
  }
  return hex.str();
}

// Expected value computed in Python: extract and expand of RFC 5869 with the hmac module.
TEST(TcpHandshake, AKeyIsHkdfSha256) {
  const std::array<std::byte, 2> greeting = {std::byte{'h'}, std::byte{'i'}};
  EXPECT_EQ(HexOf(KeyOfChannel("secret", greeting, Nonce{})),
            "d74ef6a9fbf9dbde4b9f9544cc049cd45e62345ca8bef2f3edc13c1da73803a5");
}

// Expected value computed with Python's hmac module.
TEST(TcpHandshake, AProofIsHmacSha256) {
  const std::array<std::byte, 2> greeting = {std::byte{'h'}, std::byte{'i'}};
  const Proof proof = ProofOf(Side::kCaller, "secret", greeting, Nonce{});
  EXPECT_EQ(HexOf(proof), "0b1a8c4753d5386270cf80741863490f0d49b6590dac021bf4c223ba13fefe26");
}

}  // namespace
}  // namespace gp::engine
