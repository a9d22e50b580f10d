#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/char_tokenizer.h"

namespace gp {
namespace {

TEST(Tokenizer, SerializedFormComesBackEqual) {
  const auto chars = CharTokenizer::FromText("zebra €");
  const ByteTokenizer bytes;
  for (const Tokenizer* tokenizer :
       {static_cast<const Tokenizer*>(chars->get()), static_cast<const Tokenizer*>(&bytes)}) {
    const auto back = ParseTokenizer(tokenizer->Serialized());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ((*back)->kind(), tokenizer->kind());
    EXPECT_EQ((*back)->Fingerprint(), tokenizer->Fingerprint());
    EXPECT_EQ(*(*back)->Encode("zebra"), *tokenizer->Encode("zebra"));
  }
}

TEST(Tokenizer, RefusesDamagedSerializedForms) {
  const std::string good = (*CharTokenizer::FromText("abc"))->Serialized();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseTokenizer(good.substr(0, size)).ok()) << size;
  }
  for (const char* text :
       {"[]", "{}", R"({"kind":5})", R"({"kind":"words"})", R"({"kind":"chars"})",
        R"({"kind":"chars","characters":[]})", R"({"kind":"chars","characters":[98,97]})",
        R"({"kind":"chars","characters":[97,97]})", R"({"kind":"chars","characters":["a"]})",
        R"({"kind":"chars","characters":[1114112]})"}) {
    EXPECT_FALSE(ParseTokenizer(text).ok()) << text;
  }
}

}  // namespace
}  // namespace gp
