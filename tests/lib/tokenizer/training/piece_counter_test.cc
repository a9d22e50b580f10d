#include "tokenizer/training/piece_counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace gp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<CountedPiece> Count(std::string_view text, int threads = 1,
                                size_t buffer_bytes = 1 << 20) {
  PieceCounter counter(threads, buffer_bytes);
  // In small parts, as when a file is read.
  for (size_t i = 0; i < text.size(); i += 100) counter.Add(text.substr(i, 100));
  return *counter.Take();
}

TEST(PieceCounter, CountsFrequentPiecesFirst) {
  EXPECT_THAT(Count("the cat and the dog, the end of it"),
              ElementsAre(CountedPiece{" the", 2}, CountedPiece{" and", 1}, CountedPiece{" cat", 1},
                          CountedPiece{" dog", 1}, CountedPiece{" end", 1}, CountedPiece{" it", 1},
                          CountedPiece{" of", 1}, CountedPiece{"the", 1}));
}

TEST(PieceCounter, LeavesSingleBytesOut) { EXPECT_THAT(Count("a,b\n"), IsEmpty()); }

TEST(PieceCounter, LongPiecesAreCountedToo) {
  const std::string fifteen(15, 'x'), sixteen(16, 'x');
  EXPECT_THAT(Count(fifteen + "\n" + sixteen + "\n" + sixteen),
              ElementsAre(CountedPiece{sixteen, 2}, CountedPiece{fifteen, 1}));
}

TEST(PieceCounter, NoPieceGoesBeyondADocument) {
  PieceCounter counter(1);
  counter.Add("one");
  counter.EndDocument();
  counter.Add("two");
  EXPECT_THAT(*counter.Take(), ElementsAre(CountedPiece{"one", 1}, CountedPiece{"two", 1}));
}

TEST(PieceCounter, ShortDocumentsAreCountedTogetherAndStayApart) {
  for (const size_t buffer_bytes : {20, 1000, 1 << 20}) {
    PieceCounter counter(3, buffer_bytes);
    for (int i = 0; i < 500; ++i) {
      counter.Add("on");
      counter.Add("e");
      counter.EndDocument();
      counter.EndDocument();
      counter.Add("two");
      counter.EndDocument();
    }
    EXPECT_THAT(*counter.Take(), ElementsAre(CountedPiece{"one", 500}, CountedPiece{"two", 500}))
        << buffer_bytes;
  }
}

TEST(PieceCounter, ThreadsAndBuffersChangeNothing) {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < 3'000'000) {
    text += std::string(1 + random() % 6, static_cast<char>('a' + random() % 4));
    text += random() % 3 == 0 ? "  " : "\n";
  }
  const auto expected = Count(text);
  EXPECT_EQ(Count(text, 3, 8 << 20), expected);
  EXPECT_EQ(Count(text, 2, 5000), expected);
}

TEST(PieceCounter, ADocumentWithoutAPlaceToCutNeedsNoMoreMemory) {
  EXPECT_THAT(Count(std::string(10'000, 'a'), 2, 4000),
              ElementsAre(CountedPiece{std::string(4000, 'a'), 2},
                          CountedPiece{std::string(2000, 'a'), 1}));
}

}  // namespace
}  // namespace gp
