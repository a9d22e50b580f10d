// hugging_face_test.py compares such texts with Hugging Face's own library.
#include "tokenizer/special_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "lib/tokenizer/small_tokenizer.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/tokenizer_json.h"

namespace gp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// The small vocabulary with <|endoftext|> (261) and three more special tokens from 262 on.
BytePairVocabulary WithTokens() {
  Json document = SmallTokenizerJson();
  const auto add = [&](int id, const char* text, Json flags) {
    flags.update({{"id", id}, {"content", text}, {"special", true}});
    document["added_tokens"].push_back(flags);
  };
  add(262, "<mask>", {{"lstrip", true}, {"rstrip", true}});
  add(263, "END", {{"single_word", true}});
  add(264, "<mask><mask>", Json::object());
  return *ReadTokenizerJson(Json::parse(document.dump()));
}

std::string Found(const std::string& text) {
  std::string found;
  for (const SpecialText& at : FindSpecialTexts(WithTokens(), text)) {
    found += fmt::format("{}-{}:{} ", at.begin, at.end, at.id);
  }
  return found;
}

TEST(SpecialText, TheLeftmostAndLongestIsFound) {
  EXPECT_EQ(Found("a<|endoftext|>b<|endoftext|>"), "1-14:261 15-28:261 ");
  EXPECT_EQ(Found("<mask><mask><mask>"), "0-12:264 12-18:262 ");
  EXPECT_EQ(Found("<|endoftext|"), "");
  EXPECT_EQ(Found(""), "");
}

TEST(SpecialText, FlagsTakeWhiteSpaceAndAskForWholeWords) {
  EXPECT_EQ(Found("a \t<mask>\n b"), "1-11:262 ");
  EXPECT_EQ(Found("a\u00a0<mask>"), "1-9:262 ");
  EXPECT_EQ(Found("<mask>  <mask>"), "0-8:262 8-14:262 ");
  EXPECT_EQ(Found("END, bEND ENDs é END_ (END)"), "0-3:263 24-27:263 ");
}

TEST(SpecialText, TheRestIsEncodedAsUsual) {
  const BytePairTokenizer tokenizer(WithTokens());
  EXPECT_THAT(*tokenizer.EncodeWithSpecial("hello<|endoftext|>hello <mask> hello"),
              ElementsAre(260, 261, 260, 262, 260));
  EXPECT_EQ(*tokenizer.EncodeWithSpecial("hello well"), *tokenizer.Encode("hello well"));
  EXPECT_THAT(*tokenizer.EncodeWithSpecial(""), IsEmpty());
  EXPECT_THAT(*tokenizer.Encode("<mask>"), testing::Not(testing::Contains(262)));
}

}  // namespace
}  // namespace gp
