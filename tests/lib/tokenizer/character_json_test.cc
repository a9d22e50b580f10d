#include "tokenizer/character_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gp {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Json Document(const Json& vocab) {
  return {{"decoder", {{"type", "Fuse"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
}

TEST(CharacterJson, ComesBackEqual) {
  const auto tokenizer = CharTokenizer::FromText("a\"b\n\u20ac");
  const Json document = Json::parse(FormatCharacterJson(**tokenizer));
  ASSERT_TRUE(IsCharacterJson(document));
  const auto back = ReadCharacterJson(document);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)->Fingerprint(), (*tokenizer)->Fingerprint());
}

TEST(CharacterJson, AnotherKindIsNotTakenForIt) {
  const Json good = Document({{"a", 0}});
  EXPECT_TRUE(IsCharacterJson(good));
  for (const Json& change :
       {Json{{"pre_tokenizer", {{"type", "ByteLevel"}}}},
        Json{{"decoder", {{"type", "ByteLevel"}}}}, Json{{"added_tokens", Json::array({"x"})}},
        Json{{"model", nullptr}}}) {
    Json other = good;
    other.update(change);
    EXPECT_FALSE(IsCharacterJson(other)) << other;
  }
}

TEST(CharacterJson, NamesTheTokenWhoseIdBreaksTheOrder) {
  const auto error = [](const Json& vocab) {
    return Message(ReadCharacterJson(Document(vocab)).status());
  };
  EXPECT_THAT(error({{"a", 1}, {"b", 0}}), HasSubstr("found 'a' with the id 1 at position 0"));
  EXPECT_THAT(error({{"a", 0}, {"bc", 1}}), HasSubstr("found 'bc'"));
  EXPECT_EQ(error(Json::object()), "model.vocab is empty");
}

}  // namespace
}  // namespace gp
