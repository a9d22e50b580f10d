#include "formats/spelled_ends.h"

#include <gtest/gtest.h>

#include "formats/json_object.h"

namespace gp::formats {
namespace {

// Case models-and-data/03: <|endoftext|> in a text became ordinary tokens without a warning.
TEST(SpelledEnds, AreCountedWithoutOverlap) {
  SpelledEnds ends;
  CountSpelledEnds("a||b||||c|", "||", ends);
  CountSpelledEnds("", "||", ends);
  CountSpelledEnds("||", "<>", ends);
  EXPECT_EQ(ends, (SpelledEnds{{"||", 3}}));
  AddSpelledEnds({{"<>", 2}, {"||", 1}}, ends);
  EXPECT_EQ(ends, (SpelledEnds{{"||", 4}, {"<>", 2}}));
}

TEST(SpelledEnds, AreReadBackAsTheyWereWritten) {
  const SpelledEnds ends = {{"<|endoftext|>", 19}, {"</s>", 1}};
  for (const SpelledEnds& written : {ends, SpelledEnds()}) {
    JsonObject::Json file = JsonObject::Json::object();
    WriteSpelledEnds(written, file);
    EXPECT_EQ(file.empty(), written.empty());
    const auto json = JsonObject::Json::parse(file.dump());
    JsonObject object(json, "a.json", "it is damaged");
    EXPECT_EQ(ReadSpelledEnds(object), written);
    EXPECT_TRUE(object.status().ok());
  }
}

TEST(SpelledEnds, DamageIsNamed) {
  for (const char* text : {R"({"spelled_ends": 5})", R"({"spelled_ends": [5]})",
                           R"({"spelled_ends": [{"text": "a"}]})",
                           R"({"spelled_ends": [{"text": "a", "count": -1}]})"}) {
    const auto json = JsonObject::Json::parse(text);
    JsonObject object(json, "a.json", "it is damaged");
    ReadSpelledEnds(object);
    EXPECT_FALSE(object.status().ok()) << text;
  }
}

}  // namespace
}  // namespace gp::formats
