#include "corpus/block_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"
#include "lib/formats/packed_text.h"

namespace gp::corpus {
namespace {

// Lines, paragraphs and words of all lengths; some are very long.
std::string RandomText(uint64_t seed, size_t bytes) {
  std::mt19937_64 random(seed);
  std::string text;
  while (text.size() < bytes) {
    const auto draw = random() % 1000;
    const size_t words = draw == 0 ? 300'000 : draw % 30;
    for (size_t i = 0; i < words; ++i) text += std::string(1 + random() % 9, 'a' + draw % 26) + " ";
    text += draw % 3 == 0 ? "\n\n" : "\n";
  }
  return text;
}

StatusOr<std::vector<Block>> Blocks(const Source& source, const DocumentRules& rules,
                                    const BlockPosition& from = {}) {
  ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(source, rules, CutAtSpace, from));
  std::vector<Block> blocks;
  while (true) {
    ASSIGN_OR_RETURN(std::optional<Block> block, reader.Next());
    if (!block.has_value()) return blocks;
    blocks.push_back(std::move(*block));
  }
}

class BlockReaderTest : public ::testing::TestWithParam<Split> {};

TEST_P(BlockReaderTest, GoesOnAtTheEndOfAnyBlock) {
  TemporaryDirectory directory;
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  const std::string text = RandomText(seed, 4 << 20);
  const DocumentRules rules{.split = GetParam()};
  for (const std::string& bytes : {text, formats::Gzip(text), formats::Zstd(text)}) {
    const Source source = OneSource(Write(directory.File("text"), bytes));
    const auto blocks = Blocks(source, rules);
    ASSERT_TRUE(blocks.ok()) << blocks.status();
    ASSERT_GE(blocks->size(), 3u);
    std::string whole;
    for (const Block& block : *blocks) {
      EXPECT_EQ(block.begin.offset, whole.size());
      whole += block.text;
    }
    EXPECT_TRUE(whole == text);
    for (size_t i = 0; i < blocks->size(); ++i) {
      const auto rest = Blocks(source, rules, (*blocks)[i].end);
      ASSERT_TRUE(rest.ok()) << rest.status();
      ASSERT_EQ(rest->size(), blocks->size() - i - 1);
      for (size_t j = 0; j < rest->size(); ++j) {
        EXPECT_EQ((*rest)[j].text, (*blocks)[i + 1 + j].text);
        EXPECT_EQ((*rest)[j].end, (*blocks)[i + 1 + j].end);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, BlockReaderTest,
                         ::testing::Values(Split::kFile, Split::kBlankLine, Split::kLine));

TEST(BlockReader, CountsLinesForItsMessages) {
  TemporaryDirectory directory;
  const Source source = OneSource(Write(directory.File("text"), "a\nb\nc"));
  const auto blocks = Blocks(source, {.split = Split::kLine});
  ASSERT_EQ(blocks->size(), 1u);
  EXPECT_EQ(blocks->front().begin.line, 1);
  EXPECT_EQ(blocks->front().end.line, 3);
  EXPECT_TRUE(blocks->front().last);
}

}  // namespace
}  // namespace gp::corpus
