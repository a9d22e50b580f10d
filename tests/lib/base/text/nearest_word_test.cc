#include "base/text/nearest_word.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("steps", "step"), 1u);
  EXPECT_EQ(EditDistance("setps", "steps"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(NearestWord, ForgivesEachSingleTypo) {
  const std::vector<std::string> keys = {"n_layer", "n_head", "n_embd", "dropout"};
  EXPECT_EQ(NearestWord("n_layers", keys), "n_layer");
  EXPECT_EQ(NearestWord("N_Head", keys), "n_head");
  EXPECT_EQ(NearestWord("drpoout", keys), "dropout");
}

TEST(NearestWord, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(NearestWord("zebra", {"n_layer", "dropout"}), std::nullopt);
  EXPECT_EQ(NearestWord("abc", {"axy"}), std::nullopt) << "two of three letters differ";
  EXPECT_EQ(NearestWord("x", {}), std::nullopt);
  EXPECT_EQ(NearestWord("abcdef", {"abcdxy"}), "abcdxy") << "a third of the letters differs";
  EXPECT_EQ(NearestWord("abcdef", {"abcxyz"}), std::nullopt) << "half of the letters differ";
}

TEST(NearestWord, CompletesAWordThatOneCandidateGoesOnFrom) {
  EXPECT_EQ(NearestWord("--keep", {"--keep-last", "--dry-run"}), "--keep-last");
  EXPECT_EQ(NearestWord("val", {"val_fraction"}), "val_fraction");
  EXPECT_EQ(NearestWord("--keep", {"--keep-last", "--keep-checkpoints"}), std::nullopt);
  EXPECT_EQ(NearestWord("val", {"validation"}), std::nullopt) << "the same word goes on";
  EXPECT_EQ(NearestWord("", {"-o"}), std::nullopt);
}

TEST(NearestWord, LooksForNothingNearAWordThatNobodyTypes) {
  const std::string word(101, 'x');
  EXPECT_EQ(NearestWord(word, {word}), std::nullopt);
  EXPECT_EQ(NearestWord(word.substr(1), {word}), word);
}

}  // namespace
}  // namespace gp
