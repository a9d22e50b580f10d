#include "tasks/choice_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/tasks/text_file.h"

namespace gp::tasks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kHellaSwagLine[] =
    R"({"ind": 24, "activity_label": "Roof shingle removal", "ctx_a": "A man is sitting on a roof.",)"
    R"( "ctx_b": "he", "ctx": "A man is sitting on a roof. he", "split": "val", "split_type": "indomain",)"
    R"( "label": 3, "endings": ["is using wrap.", "is ripping tiles.", "holds a cube.", "pulls up roofing."],)"
    R"( "source_id": "activitynet~v_-JhWjGDPHMY"})";
constexpr char kOwnLine[] = R"({"question": "2 + 2 =", "choices": ["4", "5", "6"], "label": 0})";

StatusOr<ChoiceFile> Read(const std::string& text, std::optional<ChoiceForm> form = std::nullopt) {
  return ReadChoiceFile(TextFile(text).path(), form);
}

std::string ErrorOf(const std::string& text) { return Message(Read(text).status()); }

TEST(ChoiceFile, ReadsThePublishedLinesOfHellaSwag) {
  const auto file = Read(std::string(kHellaSwagLine) + "\n");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->form, ChoiceForm::kHellaSwag);
  ASSERT_EQ(file->items.size(), 1u);
  const ChoiceItem& item = file->items[0];
  EXPECT_EQ(item.line, 1);
  EXPECT_EQ(item.context, "A man is sitting on a roof. he");
  EXPECT_EQ(item.label, 3);
  EXPECT_THAT(item.endings, ElementsAre("is using wrap.", "is ripping tiles.", "holds a cube.",
                                        "pulls up roofing."));
  ASSERT_TRUE(item.parts.has_value());
  EXPECT_EQ(item.parts->activity_label, "Roof shingle removal");
  EXPECT_EQ(file->row_count(), 4);
}

TEST(ChoiceFile, ReadsQuestionsOfOnesOwn) {
  const auto file = Read(std::string(kOwnLine) + "\n" +
                         R"({"context": "a", "choices": ["b", "c"], "label": "1"})");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->form, ChoiceForm::kOwn);
  EXPECT_EQ(file->items[1].context, "a");
  EXPECT_EQ(file->items[1].label, 1);
  EXPECT_EQ(file->items[1].line, 2);
  EXPECT_EQ(file->row_count(), 5);
}

TEST(ChoiceFile, LineEndsOfWindowsAMarkAndBlankLinesChangeNothing) {
  const std::string text =
      "\xef\xbb\xbf" + std::string(kOwnLine) + "\r\n\r\n  \n" + kOwnLine + "\r\n";
  const auto file = Read(text);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(file->items.size(), 2u);
  EXPECT_EQ(file->items[1].line, 4);
}

TEST(ChoiceFile, EveryErrorNamesFileLineAndExpectation) {
  const std::string good = std::string(kOwnLine) + "\n";
  const auto second = [&](const std::string& line) { return ErrorOf(good + line + "\n"); };
  const auto error = [](const char* what) {
    return AllOf(HasSubstr("questions.jsonl:2: "), HasSubstr(what));
  };
  EXPECT_THAT(second("{"), error("cut short"));
  EXPECT_THAT(second("[1]"), error("expected a JSON object"));
  EXPECT_THAT(second("{\"question\": \"\xff\", \"choices\": [\"a\", \"b\"], \"label\": 0}"),
              error("not JSON"));
  EXPECT_THAT(second(R"({"question": "\ud800", "choices": ["a", "b"], "label": 0})"),
              error("not JSON"));
  EXPECT_THAT(second(kHellaSwagLine), error("expected \"question\" or \"context\""));
  EXPECT_THAT(second(R"({"choices": ["a", "b"], "label": 0})"), error("\"context\" to be text"));
  EXPECT_THAT(second(R"({"question": "", "choices": ["a", "b"], "label": 0})"),
              error("not to be empty"));
  EXPECT_THAT(second(R"({"question": "q", "context": "c", "choices": ["a", "b"], "label": 0})"),
              error("expected one of them"));
  EXPECT_THAT(second(R"({"question": "q", "choices": ["a"], "label": 0})"),
              error("a list of 2 to 64 texts"));
  EXPECT_THAT(second(R"({"question": "q", "choices": "ab", "label": 0})"),
              error("a list of 2 to 64 texts"));
  EXPECT_THAT(second(R"({"question": "q", "choices": ["a", ""], "label": 0})"),
              error("\"choices\"[1]: expected text that is not empty"));
  EXPECT_THAT(second(R"({"question": "q", "choices": ["a", 1], "label": 0})"),
              error("\"choices\"[1]"));
  for (const char* label : {"2", "-1", "1.0", "null", "\"x\"", "18446744073709551616", "\"10\""}) {
    EXPECT_THAT(
        second(fmt::format(R"({{"question": "q", "choices": ["a", "b"], "label": {}}})", label)),
        error("from 0 to 1, got"));
  }
  EXPECT_THAT(second(R"({"question": "q", "choices": ["a", "b"]})"), error("got none"));
  EXPECT_THAT(second(R"({"label": 0, "question": "q", "choices": ["a", "b"], "label": 1})"),
              error("twice"));
}

// The error used to be the JSON parser's message, which does not mention an encoding.
TEST(ChoiceFile, TextInAnotherEncodingIsNamedWithTheCommand) {
  std::string wide;
  for (const char c : std::string(kOwnLine)) wide += {c, '\0'};
  const TextFile marked("\xff\xfe" + wide), unmarked(wide);
  EXPECT_THAT(Message(ReadChoiceFile(marked.path()).status()),
              AllOf(HasSubstr("is text in UTF-16, expected"),
                    HasSubstr("iconv -f UTF-16 -t UTF-8 " + marked.path())));
  EXPECT_THAT(Message(ReadChoiceFile(unmarked.path()).status()),
              AllOf(HasSubstr("is text in UTF-16LE, expected lines of JSON"),
                    HasSubstr("iconv -f UTF-16LE -t UTF-8 " + unmarked.path())));
  EXPECT_THAT(ErrorOf("{\"question\": \"caf\xe9\"}"),
              HasSubstr("questions.jsonl:1: offset 17: this is not JSON: the byte 0xe9"));
}

TEST(ChoiceFile, AnEmptyOrMissingFileIsAnError) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("\n\n"), HasSubstr("is empty"));
  EXPECT_EQ(ReadChoiceFile("/nowhere/x.jsonl").status().code(), StatusCode::kNotFound);
}

TEST(ChoiceFile, EveryCutIsAnErrorOrAShorterFile) {
  const std::string text = std::string(kOwnLine) + "\n" + kOwnLine + "\n";
  for (size_t size = 0; size < text.size(); ++size) {
    const auto file = Read(text.substr(0, size));
    if (file.ok()) {
      EXPECT_LE(file->items.size(), 2u);
    } else {
      EXPECT_THAT(Message(file.status()), HasSubstr("questions.jsonl"));
    }
  }
}

TEST(ChoiceFile, ALineWithoutEndIsRefusedBeforeItIsInMemory) {
  EXPECT_THAT(ErrorOf(std::string(kLineBytesMax + 2, ' ')), HasSubstr("longer than 1048576 bytes"));
}

TEST(ChoiceFile, AnExpectedFormIsInsistedOn) {
  EXPECT_THAT(Message(Read(kOwnLine, ChoiceForm::kHellaSwag).status()),
              HasSubstr("questions.jsonl:1: expected HellaSwag's form"));
}

TEST(ChoiceFile, ATaskIsCalledAsItsFile) {
  EXPECT_EQ(TaskName("/data/hellaswag_val.jsonl"), "hellaswag_val");
  EXPECT_EQ(TaskName("my quiz.jsonl.gz"), "my_quiz");
  EXPECT_EQ(TaskName("/a/.jsonl"), ".jsonl");
}

}  // namespace
}  // namespace gp::tasks
