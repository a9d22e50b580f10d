#include "tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gp {
namespace {

TEST(ByteAlphabet, EveryByteHasItsPlace) {
  const auto& order = AlphabetOrder();
  EXPECT_EQ(std::set<unsigned char>(order.begin(), order.end()).size(), 256u);
  EXPECT_EQ(order[0], '!');
  EXPECT_EQ(order[255], 0xad);
}

TEST(ByteAlphabet, BytesComeBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(BytesOfAlphabet(InByteAlphabet(bytes)), bytes);
  EXPECT_EQ(InByteAlphabet(" a\n"), "\u0120a\u010a");
}

TEST(ByteAlphabet, ACharacterThatStandsForNoByteIsNothing) {
  for (const char* text : {" ", "\u20ac", "\xff", "a\u0144"}) {
    EXPECT_EQ(BytesOfAlphabet(text), std::nullopt) << text;
  }
  EXPECT_EQ(BytesOfAlphabet(""), "");
}

}  // namespace
}  // namespace gp
