#include "worker/engine/collectives/tcp_handshake.h"

#include <gtest/gtest.h>

#include <iomanip>
#include <sstream>

namespace gp::engine {
namespace {

const Greeting kGreeting = {7, 1, 0, 2, 8, "7f3k2q9a0c", {std::byte{1}, std::byte{2}}};

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
  EXPECT_EQ(greeting->nonce, kGreeting.nonce);
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

// Computed by Python's hmac module.
TEST(TcpHandshake, AProofIsHmacSha256) {
  const std::array<std::byte, 2> greeting = {std::byte{'h'}, std::byte{'i'}};
  const Proof proof = ProofOf(Side::kCaller, "secret", greeting, Nonce{});
  std::ostringstream hex;
  for (const std::byte b : proof) {
    hex << std::hex << std::setw(2) << std::setfill('0') << static_cast<int>(b);
  }
  EXPECT_EQ(hex.str(), "0b1a8c4753d5386270cf80741863490f0d49b6590dac021bf4c223ba13fefe26");
}

}  // namespace
}  // namespace gp::engine
