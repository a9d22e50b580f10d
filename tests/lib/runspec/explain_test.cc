#include "runspec/explain.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runspec/schema.h"

namespace gp::runspec {
namespace {

TEST(Explain, TellsTypeRangeDefaultAndMeaningOfAKey) {
  const auto text = Explain("run.optimizer.lr");
  ASSERT_TRUE(text.ok()) << text.status();
  for (const char* part : {"optimizer.lr", "learning rate", "a number above 0", "0.001"}) {
    EXPECT_NE(text->find(part), std::string::npos) << part << " in\n" << *text;
  }
}

TEST(Explain, ListsAGroupAndTheWholeFile) {
  EXPECT_NE(Explain("schedule")->find("schedule.min_lr_ratio"), std::string::npos);
  for (const std::string& path : SchemaPaths()) {
    EXPECT_NE(Explain("run")->find(path), std::string::npos) << path;
    EXPECT_TRUE(Explain(path).ok()) << path;
  }
}

TEST(Explain, SuggestsTheNearestKey) {
  const auto text = Explain("optimizer.lrr");
  ASSERT_EQ(text.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(text.status()).find("'optimizer.lr'"), std::string::npos) << text.status();
}

TEST(Explain, AWordIsExplainedAsTheKeyThatItMeans) {
  const auto lr = Explain("lr");
  ASSERT_TRUE(lr.ok()) << lr.status();
  EXPECT_EQ(lr->rfind("lr means:\noptimizer.lr", 0), 0u) << *lr;
  const auto dropout = Explain("dropout");
  ASSERT_TRUE(dropout.ok()) << dropout.status();
  EXPECT_NE(dropout->find("model.dropout"), std::string::npos);
  const auto kind = Explain("every");
  ASSERT_TRUE(kind.ok()) << kind.status();
  for (const char* key : {"several keys", "eval.every", "sample.every", "checkpoint.every"}) {
    EXPECT_NE(kind->find(key), std::string::npos) << *kind;
  }
}

TEST(Explain, APartOfAWordSuggestsTheKeysWithIt) {
  const auto decay = Explain("decay");
  ASSERT_EQ(decay.status().code(), StatusCode::kNotFound);
  for (const char* key : {"optimizer.weight_decay", "schedule.decay_steps"}) {
    EXPECT_NE(Message(decay.status()).find(key), std::string::npos) << decay.status();
  }
  EXPECT_EQ(Explain("zzzzzzzz").status().code(), StatusCode::kNotFound);
}

TEST(Explain, EveryKeyBelongsToAnExplainedGroup) {
  for (const Field& field : Schema()) {
    const size_t dot = field.path.find('.');
    EXPECT_TRUE(dot == std::string::npos || IsGroup(field.path.substr(0, dot))) << field.path;
    EXPECT_FALSE(field.doc.empty()) << field.path;
  }
}

TEST(JsonSchema, DescribesEveryKeyAndNoOthers) {
  const auto schema = nlohmann::json::parse(JsonSchema());
  EXPECT_EQ(schema["properties"]["optimizer"]["properties"]["lr"]["exclusiveMinimum"], 0);
  EXPECT_EQ(schema["properties"]["schedule"]["properties"]["kind"]["enum"].size(), 5u);
  EXPECT_EQ(schema["properties"]["model"]["additionalProperties"], false);
  size_t count = 0;
  for (const auto& [name, value] : schema["properties"].items()) {
    count += value.contains("properties") ? value["properties"].size() : 1;
  }
  EXPECT_EQ(count, Schema().size());
}

}  // namespace
}  // namespace gp::runspec
