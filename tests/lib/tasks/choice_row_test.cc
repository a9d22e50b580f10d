#include "tasks/choice_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/byte_tokenizer.h"

namespace gp::tasks {
namespace {

using testing::HasSubstr;

constexpr int64_t kLong = 1000;

ChoiceFile File(const std::string& context, std::vector<std::string> endings) {
  return {.path = "q.jsonl",
          .form = ChoiceForm::kOwn,
          .items = {{.line = 7, .context = context, .endings = std::move(endings)}}};
}

StatusOr<std::vector<ChoiceRow>> Encode(const ChoiceFile& file, ChoiceStyle style,
                                        int64_t length_max = kLong) {
  return EncodeChoices(file, style, ByteTokenizer(), length_max);
}

std::string TextOf(const ChoiceRow& row) { return ByteTokenizer().Decode(row.tokens); }

TEST(ChoiceRow, EachEndingFollowsTheContextAfterASpace) {
  for (const ChoiceStyle style : {ChoiceStyle::kCompletion, ChoiceStyle::kHarness}) {
    const auto rows = Encode(File("two", {"b\u00e9", "c"}), style);
    ASSERT_TRUE(rows.ok()) << rows.status();
    ASSERT_EQ(rows->size(), 2u);
    EXPECT_EQ(TextOf((*rows)[0]), "two b\u00e9");
    EXPECT_EQ((*rows)[0].scored, 4) << "the space and three bytes";
    EXPECT_EQ((*rows)[1].scored, 2);
  }
}

TEST(ChoiceRow, AccNormDividesByTokensOrByCharacters) {
  EXPECT_EQ((*Encode(File("two", {"b\u00e9", "c"}), ChoiceStyle::kCompletion))[0].length, 4);
  EXPECT_EQ((*Encode(File("two", {"b\u00e9", "c"}), ChoiceStyle::kHarness))[0].length, 2);
}

TEST(ChoiceRow, SpaceBehindAContextBelongsToTheEndingInTheHarnessStyle) {
  EXPECT_EQ((*Encode(File("two \n", {"b", "c"}), ChoiceStyle::kHarness))[0].scored, 4);
  EXPECT_EQ((*Encode(File("two \n", {"b", "c"}), ChoiceStyle::kCompletion))[0].scored, 2);
}

TEST(ChoiceRow, HarnessCutsALongTextFromTheLeft) {
  const auto rows = Encode(File("0123456789", {"b", "cd"}), ChoiceStyle::kHarness, 5);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(TextOf((*rows)[0]), "6789 b") << "five tokens are read, the sixth is only a target";
  EXPECT_EQ((*rows)[0].input_length(), 5);
  EXPECT_EQ(TextOf((*rows)[1]), "789 cd");
  EXPECT_EQ((*rows)[1].scored, 3);
}

TEST(ChoiceRow, CompletionRefusesALongText) {
  EXPECT_TRUE(Encode(File("0123", {"b", "c"}), ChoiceStyle::kCompletion, 6).ok());
  EXPECT_EQ(Message(Encode(File("01234", {"b", "c"}), ChoiceStyle::kCompletion, 6).status()),
            "q.jsonl:7: context and ending have 7 tokens, but the model's context is 6; the "
            "harness style truncates the context");
}

TEST(ChoiceRow, HarnessRefusesAnEndingThatTheModelCannotRead) {
  EXPECT_THAT(Message(Encode(File("0", {"b", "12345"}), ChoiceStyle::kHarness, 5).status()),
              HasSubstr("q.jsonl:7: an ending has 6 tokens"));
  EXPECT_THAT(Message(Encode(File(" ", {"b", "c"}), ChoiceStyle::kHarness).status()),
              HasSubstr("q.jsonl:7: expected a context"));
}

}  // namespace
}  // namespace gp::tasks
