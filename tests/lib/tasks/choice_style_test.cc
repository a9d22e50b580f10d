#include "tasks/choice_style.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::tasks {
namespace {

ChoiceItem Item() {
  return {.line = 1,
          .context = "A man sits. he",
          .endings = {" falls [substeps] down.", "Stands."},
          .parts = HellaSwagParts{"Sitting", "A man sits.", "he SMILES"}};
}

TEST(ChoiceStyle, CompletionTakesTheTextsAsTheyAre) {
  const auto texts = TextsOf(Item(), ChoiceForm::kHellaSwag, ChoiceStyle::kCompletion);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(texts->context, Item().context);
  EXPECT_EQ(texts->endings, Item().endings);
}

TEST(ChoiceStyle, HarnessPutsTheContextTogetherAndCleansIt) {
  const auto texts = TextsOf(Item(), ChoiceForm::kHellaSwag, ChoiceStyle::kHarness);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(texts->context, "Sitting: A man sits. He smiles");
  EXPECT_THAT(texts->endings, testing::ElementsAre("falls down.", "Stands."));
}

TEST(ChoiceStyle, HarnessLeavesQuestionsOfOnesOwnAsTheyAre) {
  ChoiceItem item = Item();
  item.parts.reset();
  const auto texts = TextsOf(item, ChoiceForm::kOwn, ChoiceStyle::kHarness);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(texts->context, item.context);
  EXPECT_EQ(texts->endings, item.endings);
}

TEST(ChoiceStyle, HarnessRefusesWhatItCannotPutTogether) {
  ChoiceItem item = Item();
  item.parts.reset();
  EXPECT_THAT(Message(TextsOf(item, ChoiceForm::kHellaSwag, ChoiceStyle::kHarness).status()),
              testing::HasSubstr("activity_label"));
  item = Item();
  item.endings[1] = "[title]";
  EXPECT_THAT(Message(TextsOf(item, ChoiceForm::kHellaSwag, ChoiceStyle::kHarness).status()),
              testing::HasSubstr("is empty after removing"));
}

TEST(ChoiceStyle, NamesAreReadBack) {
  for (const std::string& name : kStyleNames) EXPECT_EQ(StyleName(StyleOf(name)), name);
}

}  // namespace
}  // namespace gp::tasks
