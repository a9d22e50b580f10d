#include "corpus/document_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"
#include "lib/formats/packed_text.h"

namespace gp::corpus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DocumentSplitterTest : public ::testing::Test {
 protected:
  std::vector<std::string> Of(const std::string& bytes, const DocumentRules& rules = {},
                              TextForm form = TextForm::kText) {
    const auto documents = Documents(OneSource(Write(path_, bytes), form), rules);
    EXPECT_TRUE(documents.ok()) << documents.status();
    return documents.value_or(std::vector<std::string>());
  }
  std::vector<std::string> Json(const std::string& bytes, const std::string& field = "text") {
    return Of(bytes, {.field = field}, TextForm::kJsonLines);
  }
  std::string JsonError(const std::string& bytes) {
    const auto documents = Documents(OneSource(Write(path_, bytes), TextForm::kJsonLines));
    EXPECT_EQ(documents.status().code(), StatusCode::kInvalidArgument) << bytes;
    return Message(documents.status());
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("source");
};

TEST_F(DocumentSplitterTest, AFileIsOneDocumentByteForByte) {
  EXPECT_THAT(Of("a\r\n\r\nb\xff\n"), ElementsAre("a\r\n\r\nb\xff\n"));
  EXPECT_THAT(Of(""), ElementsAre(""));
}

TEST_F(DocumentSplitterTest, LinesAreDocumentsWithoutTheirEnds) {
  const DocumentRules lines{.split = Split::kLine};
  EXPECT_THAT(Of("one\r\ntwo\n\n \t\n three ", lines), ElementsAre("one", "two", " three "));
  EXPECT_THAT(Of("", lines), ElementsAre());
}

TEST_F(DocumentSplitterTest, BlankLinesDivideDocuments) {
  const DocumentRules blank{.split = Split::kBlankLine};
  EXPECT_THAT(Of("\n\na\nb\n\nc\n", blank), ElementsAre("a\nb", "c"));
  EXPECT_THAT(Of("a\r\nb\r\n \t\r\n\r\nc", blank), ElementsAre("a\r\nb", "c"));
  EXPECT_THAT(Of("\n \n", blank), ElementsAre());
}

TEST_F(DocumentSplitterTest, AByteOrderMarkIsNoText) {
  EXPECT_THAT(Of("\xef\xbb\xbf"
                 "a"),
              ElementsAre("a"));
  EXPECT_THAT(Of("\xef\xbb\xbf"), ElementsAre(""));
  EXPECT_THAT(Json("\xef\xbb\xbf{\"text\": \"a\"}"), ElementsAre("a"));
  const auto utf16 = Documents(OneSource(Write(path_, std::string("\xff\xfe"
                                                                  "a\0",
                                                                  4))));
  EXPECT_THAT(Message(utf16.status()), HasSubstr("UTF-16"));
  EXPECT_THAT(Message(utf16.status()), HasSubstr("iconv"));
}

TEST_F(DocumentSplitterTest, TheEndOfTextInATextIsOrdinaryText) {
  EXPECT_THAT(Of("a<|endoftext|>b"), ElementsAre("a<|endoftext|>b"));
}

TEST_F(DocumentSplitterTest, AStringDividesDocumentsAndBelongsToNone) {
  const DocumentRules rules{.split_on = "<|endoftext|>"};
  EXPECT_THAT(Of("a\n<|endoftext|>\nb", rules), ElementsAre("a\n", "\nb"));
  EXPECT_THAT(Of("a<|endoftext|>", rules), ElementsAre("a"));
  EXPECT_THAT(Of("a<|endoftext|>\n", rules), ElementsAre("a", ""));
  EXPECT_THAT(Of("<|endoftext|>a <|endoftext|> \r\n<|endoftext|>b", rules),
              ElementsAre("", "a ", "", "b"));
  EXPECT_THAT(Of("a<|endoftext|b", rules), ElementsAre("a<|endoftext|b"));
  EXPECT_THAT(Of("aXXXb", {.split_on = "XX"}), ElementsAre("a", "Xb"));
  EXPECT_THAT(
      Of("{\"text\": \"a<|endoftext|>b\"}\n{\"text\": \"c\"}\n", rules, TextForm::kJsonLines),
      ElementsAre("a", "b", "c"));
}

// The result must not depend on where blocks end.
TEST_F(DocumentSplitterTest, AStringDividesATextOfManyBlocks) {
  std::mt19937_64 random(7);
  std::vector<std::string> expected;
  std::string text;
  while (text.size() < 4 * kBlockBytes) {
    const bool is_long = random() % 50 == 0;
    std::string document;
    const size_t size = 1 + random() % (is_long ? 2 * kBlockBytes : 3000);
    while (document.size() < size) document += "word" + std::string(random() % 3, '|') + " ";
    text += (expected.empty() ? "" : "|||") + document;
    expected.push_back(document);
  }
  EXPECT_TRUE(Of(text, {.split_on = "|||"}) == expected);
}

TEST_F(DocumentSplitterTest, LinesOfJsonGiveTheirField) {
  EXPECT_THAT(
      Json("{\"id\": 1, \"text\": \"a\\n\\u00e9\\ud83d\\ude00\", \"m\": {\"text\": [2]}}\r\n"
           "\n"
           "{\"text\":\"\"}\n"
           "{\"other\": [{}], \"text\": \"last\"}"),
      ElementsAre("a\n\xc3\xa9\xf0\x9f\x98\x80", "", "last"));
  EXPECT_THAT(Json("{\"content\": \"x\"}", "content"), ElementsAre("x"));
}

TEST_F(DocumentSplitterTest, NamesTheLineOfJsonThatIsNot) {
  const std::string good = "{\"text\": \"a\"}\n";
  const auto error = [&](const std::string& line) { return JsonError(good + line + "\n" + good); };
  EXPECT_THAT(error("{\"id\": 1, \"url\": 2}"),
              HasSubstr(path_ + ":2: no field 'text'; the line has id, url; name another field"));
  EXPECT_THAT(error("{\"id\": 1}"), HasSubstr("(byte 14 of the text)"));
  EXPECT_THAT(error("{\"text\": null}"), HasSubstr("field 'text' is null, expected a string"));
  EXPECT_THAT(error("{\"text\": 12}"), HasSubstr("is a number"));
  EXPECT_THAT(error("{\"text\": \"a\", \"text\": \"b\"}"), HasSubstr("occurs twice"));
  EXPECT_THAT(error("[1]"), HasSubstr("a list, expected an object"));
  for (const char* bad :
       {"plain", "{\"text\": \"a\"} {\"text\": \"b\"}", "{\"text\": \"a\", \"x\": tru}", "{",
        "{\"text\": \"a", "{\"text\": \"a\"", "{\"text\" \"a\"}", "{\"text\": \"\\ud800\"}",
        "{\"text\": \"\xff\"}", "{\"text\": \"a\"}}"}) {
    EXPECT_THAT(error(bad), HasSubstr(path_ + ":2: ")) << bad;
  }
}

TEST_F(DocumentSplitterTest, NullLinesAreSkippedOnRequest) {
  const std::string lines = "{\"text\": \"a\"}\n{\"text\": null}\n{\"text\": \"b\"}\n";
  EXPECT_THAT(JsonError(lines), HasSubstr(path_ + ":2: field 'text' is null, expected a string; "
                                                  "gpctl data prepare --skip-null"));
  std::vector<std::string> documents;
  int64_t null_lines = 0;
  const Block block{.text = lines, .end = {.offset = lines.size()}};
  const auto take = [&](const DocumentPart& part) {
    if (part.null) {
      ++null_lines;
    } else {
      documents.emplace_back(part.text);
    }
    return OkStatus();
  };
  const Source source{.path = path_, .form = TextForm::kJsonLines, .size_bytes = lines.size()};
  ASSERT_TRUE(SplitBlock(block, source, {.skip_null = true}, take).ok());
  EXPECT_THAT(documents, ElementsAre("a", "b"));
  EXPECT_EQ(null_lines, 1);
}

TEST_F(DocumentSplitterTest, AListOfAnySizeGetsItsCommand) {
  EXPECT_THAT(JsonError("[\n {\"text\": \"a\"},\n {\"text\": \"b\"}\n]\n"),
              HasSubstr(path_ + ":1: a list, expected an object on each line; convert a list to "
                                "lines with: jq -c '.[]'"));
  EXPECT_THAT(JsonError("[{\"text\": \"" + std::string(kBlockBytesMax + 2, 'a') + "\"}]"),
              HasSubstr("jq -c '.[]'"));
}

// A document longer than many blocks is cut where the rule allows, and joined again without loss.
TEST_F(DocumentSplitterTest, ADocumentMayBeLongerThanABlock) {
  std::string text;
  while (text.size() < 5 * kBlockBytes) text += "word " + std::to_string(text.size()) + "\n";
  EXPECT_THAT(Of(text), ElementsAre(text));
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  const DocumentRules lines{.split = Split::kLine};
  EXPECT_EQ(Of("first\n" + line + "\nlast\n", lines),
            (std::vector<std::string>{"first", line, "last"}));
  const DocumentRules blank{.split = Split::kBlankLine};
  text.pop_back();
  EXPECT_EQ(Of("first\n\n" + text + "\n\nlast\n", blank),
            (std::vector<std::string>{"first", text, "last"}));
}

TEST_F(DocumentSplitterTest, AWordOrALineOfJsonThatIsTooLongIsRefused) {
  const std::string word(kBlockBytesMax + 2, 'a');
  const auto refused = Documents(OneSource(Write(path_, "short\n" + word)));
  EXPECT_THAT(Message(refused.status()), HasSubstr("the word that begins in line"));
  EXPECT_THAT(JsonError("{\"text\": \"\"}\n{\"text\": \"" + word + "\"}\n"),
              HasSubstr("the line that begins in line 2"));
}

TEST_F(DocumentSplitterTest, PackedSourcesGiveTheSameDocuments) {
  std::string lines;
  for (int i = 0; i < 60'000; ++i) lines += "{\"text\": \"document " + std::to_string(i) + "\"}\n";
  const auto documents = Json(lines);
  ASSERT_EQ(documents.size(), 60'000u);
  EXPECT_EQ(Json(formats::Gzip(lines)), documents);
  EXPECT_EQ(Json(formats::Zstd(lines)), documents);
}

}  // namespace
}  // namespace gp::corpus
