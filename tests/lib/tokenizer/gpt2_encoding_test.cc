// Goal: GPT-2's encoding equals tiktoken's, however the text is cut into parts, and whatever the
// number of threads and the texts encoded before.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/file.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/gpt2_splitter.h"
#include "tokenizer/parallel_encode.h"

namespace gp {
namespace {

// Merges that occur in the random texts below.
constexpr char kMerges[] =
    "a b\nb a\nab a\nĠ a\n' s\nĠ Ġ\nĠĠ ĠĠ\nc c\ncc cc\nÃ ©\n- -\n-- --\n1 2\nĠ ab\nĊ Ċ\n";

std::string RandomText(std::mt19937& random, int pieces) {
  static const std::vector<std::string> kPieces = {
      "a", "b", "ab", " ", "  ", "\n", "\t",     "'s",     "'",      "c",    "é",    "中",  "--",
      "1", "2", "12", ".", "😀",  "½",  "\u00a0", "\u3000", "\u2028", "\xff", "\xe3", "\x80"};
  std::string text;
  for (int i = 0; i < pieces; ++i) {
    const std::string& piece = kPieces[random() % kPieces.size()];
    for (uint64_t n = random() % 8 == 0 ? random() % 150 : 1; n > 0; --n) text += piece;
  }
  return text;
}

class Gpt2EncodingTest : public testing::Test {
 protected:
  std::vector<int32_t> Encode(std::string_view text) { return *tokenizer_->Encode(text); }

  const std::unique_ptr<BytePairTokenizer> tokenizer_ = *BytePairTokenizer::FromMerges(kMerges);
};

// Reference implementation of the rule: one join at a time, without tables.
std::vector<std::string> JoinByTheRule(const BytePairTokenizer& tokenizer, std::string_view piece) {
  std::map<std::string, int32_t> ids;
  for (int32_t id = 0; id < *tokenizer.end_of_text(); ++id) {
    ids[tokenizer.Decode(std::vector<int32_t>{id})] = id;
  }
  std::vector<std::string> parts;
  for (const char byte : piece) parts.emplace_back(1, byte);
  if (ids.contains(std::string(piece))) return {std::string(piece)};
  while (true) {
    size_t best = 0;
    int32_t least = INT32_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ids.find(parts[i] + parts[i + 1]);
      if (found == ids.end() || found->second >= least) continue;
      least = found->second;
      best = i;
    }
    if (least == INT32_MAX) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST_F(Gpt2EncodingTest, JoinsAsTheRuleSays) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const std::string text = RandomText(random, 12);
    std::vector<std::string> expected;
    for (std::string_view rest = text; !rest.empty();) {
      for (std::string& part : JoinByTheRule(*tokenizer_, TakePiece(rest))) {
        expected.push_back(std::move(part));
      }
    }
    std::vector<std::string> parts;
    for (const int32_t token : Encode(text)) {
      parts.push_back(tokenizer_->Decode(std::vector<int32_t>{token}));
    }
    EXPECT_EQ(parts, expected) << "text " << i;
  }
}

TEST_F(Gpt2EncodingTest, DecodingGivesTheTextBack) {
  std::mt19937 random(12);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomText(random, 20);
    EXPECT_EQ(tokenizer_->Decode(Encode(text)), text) << "text " << i;
  }
}

TEST_F(Gpt2EncodingTest, ATextMayBeCutWhereItSaysSo) {
  std::mt19937 random(13);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomText(random, 20);
    const size_t cut = tokenizer_->CutAfter(text, random() % (text.size() + 1));
    std::vector<int32_t> tokens = Encode(std::string_view(text).substr(0, cut));
    const std::vector<int32_t> behind = Encode(std::string_view(text).substr(cut));
    tokens.insert(tokens.end(), behind.begin(), behind.end());
    EXPECT_EQ(tokens, Encode(text)) << "text " << i << " cut at " << cut;
  }
}

TEST_F(Gpt2EncodingTest, CutsAreFoundBehindAnyCharacter) {
  EXPECT_EQ(tokenizer_->CutAfter("ab ab", 0), 2u);
  EXPECT_EQ(tokenizer_->CutAfter("ab ab", 3), 5u);
  EXPECT_EQ(tokenizer_->CutAfter("中 中", 1), 3u);
  // No cut: U+3000 before the blank is white space.
  EXPECT_EQ(tokenizer_->CutAfter("\u3000 a", 1), 5u);
  EXPECT_EQ(tokenizer_->CutAfter("\xff a", 0), 1u);
  EXPECT_EQ(tokenizer_->CutAfter("", 0), 0u);
}

TEST_F(Gpt2EncodingTest, PartsOnThreadsGiveTheTokensOfTheWhole) {
  std::mt19937 random(14);
  const std::string text = RandomText(random, 3000);
  for (const int threads : {1, 2, 5}) {
    for (const size_t part_bytes : {1, 100, 5000}) {
      EXPECT_EQ(*EncodeInParallel(*tokenizer_, text, threads, part_bytes), Encode(text));
    }
  }
  EXPECT_EQ(*EncodeInParallel(ByteTokenizer(), text, 3, 100), *ByteTokenizer().Encode(text));
}

TEST(Gpt2Golden, EqualsTiktoken) {
  const auto tokenizer = BytePairTokenizer::InstalledGpt2();
  if (!tokenizer.ok()) GTEST_SKIP() << tokenizer.status();
  const auto golden = nlohmann::json::parse(ReadFile(GP_TOKENIZER_GOLDEN, 1 << 20).value());
  EXPECT_GT(golden.at("cases").size(), 150u);
  for (const auto& entry : golden.at("cases")) {
    const auto text = entry.at("text").get<std::string>();
    EXPECT_EQ(*(*tokenizer)->Encode(text), entry.at("tokens").get<std::vector<int32_t>>()) << entry;
  }
}

}  // namespace
}  // namespace gp
