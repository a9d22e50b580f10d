#include "corpus/corpus_position.h"

#include <gtest/gtest.h>

namespace gp::corpus {
namespace {

using Json = formats::JsonObject::Json;

TEST(CorpusPosition, ReadsBackWhatItWrote) {
  const CorpusPosition position{5, {.offset = 1 << 20, .line = 77, .inside_document = true}};
  const Json json = Json::parse(CorpusPositionJson(position).dump());
  formats::JsonObject fields(json, "place", "so");
  EXPECT_EQ(ReadCorpusPosition(fields), position);
  EXPECT_TRUE(fields.status().ok()) << fields.status();
}

TEST(CorpusPosition, NamesWhatIsMissingOrWrong) {
  for (const char* key : {"source", "byte", "line", "inside_document"}) {
    for (const Json& wrong : {Json(), Json("1"), Json(-1)}) {
      Json json = Json::parse(CorpusPositionJson({}).dump());
      if (wrong.is_null()) {
        json.erase(key);
      } else {
        json[key] = wrong;
      }
      formats::JsonObject fields(json, "place", "so");
      ReadCorpusPosition(fields);
      EXPECT_NE(Message(fields.status()).find(key), std::string::npos) << json;
    }
  }
}

}  // namespace
}  // namespace gp::corpus
