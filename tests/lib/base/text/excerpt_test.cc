#include "base/text/excerpt.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

std::string Repeated(std::string_view piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(Excerpt, LeavesShortTextAlone) {
  EXPECT_EQ(Excerpt(""), "");
  EXPECT_EQ(Excerpt("naïve 😀\tx", 10), "naïve 😀\tx");
}

TEST(Excerpt, CutsBetweenCharacters) {
  EXPECT_EQ(Excerpt("ééééé", 3), "ééé…");
  EXPECT_EQ(Excerpt("ééé", 3), "ééé");
}

TEST(Excerpt, ShowsNothingThatMovesACursor) {
  EXPECT_EQ(Excerpt("a\x1b[2Jb\nc\x7f\xc2\x9b\u2028"), "a?[2Jb?c???");
  EXPECT_EQ(Excerpt("a\xff\xc3"), "a??");
}

TEST(ExcerptAround, KeepsALineThatIsShortEnough) {
  const std::string line = Repeated("é", 120);
  const LineExcerpt excerpt = ExcerptAround(line, 2 * 119);
  EXPECT_EQ(excerpt.text, line);
  EXPECT_EQ(excerpt.index, 119u);
}

TEST(ExcerptAround, CutsALongLineAtBothEnds) {
  const std::string line = Repeated("a", 1000) + "X" + Repeated("b", 1000);
  const LineExcerpt excerpt = ExcerptAround(line, 1000);
  EXPECT_EQ(excerpt.text, "…" + Repeated("a", 40) + "X" + Repeated("b", 79) + "…");
  EXPECT_EQ(excerpt.index, 41u);
  EXPECT_EQ(ExcerptAround(line, 3).text.substr(0, 3), "aaa");
  EXPECT_EQ(ExcerptAround(line, 3).index, 3u);
  EXPECT_EQ(ExcerptAround(line, 5000).text, "…" + Repeated("b", 40));
  EXPECT_EQ(ExcerptAround(line, 5000).index, 41u);
}

TEST(ExcerptAround, CountsCharactersWhateverTheirBytes) {
  for (const std::string character : {"a", "é", "€", "😀"}) {
    const std::string line = Repeated(character, 300) + "X" + Repeated(character, 300);
    const LineExcerpt excerpt = ExcerptAround(line, 300 * character.size());
    EXPECT_EQ(excerpt.text, "…" + Repeated(character, 40) + "X" + Repeated(character, 79) + "…");
    EXPECT_EQ(excerpt.index, 41u);
  }
}

TEST(ExcerptAround, IsShortForBytesThatAreNoText) {
  for (const char byte : {'\x80', '\xff', '\xf0', '\0'}) {
    const std::string line(1 << 20, byte);
    for (const size_t offset : {size_t{0}, line.size() / 2, line.size()}) {
      EXPECT_LE(ExcerptAround(line, offset).text.size(), 4 * (kLineCharactersMax + 2));
    }
  }
}

}  // namespace
}  // namespace gp
