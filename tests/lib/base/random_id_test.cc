#include "base/random_id.h"

#include <gtest/gtest.h>

#include <set>

namespace gp {
namespace {

TEST(RandomId, HasTheLengthAndTheAlphabet) {
  const std::string id = RandomId(1000);
  EXPECT_EQ(id.size(), 1000u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"), std::string::npos) << id;
  EXPECT_EQ(RandomId(0), "");
}

TEST(RandomId, UsesEveryCharacterOfTheAlphabet) {
  // With 4096 draws of 32 characters, the probability that one is missing is below 1e-54.
  const std::string id = RandomId(4096);
  EXPECT_EQ(std::set<char>(id.begin(), id.end()).size(), 32u);
}

TEST(RandomId, DoesNotRepeat) {
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) seen.insert(RandomId(10));
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(RandomHex, SpellsTwoDigitsAByte) {
  const std::string secret = RandomHex(32);
  EXPECT_EQ(secret.size(), 64u);
  EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos) << secret;
  EXPECT_NE(secret, RandomHex(32));
}

}  // namespace
}  // namespace gp
