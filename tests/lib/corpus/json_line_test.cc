#include "corpus/json_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::corpus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Reads the line's text field; "(null)" if its value is null.
StatusOr<std::string> Read(JsonLineReader& reader, const std::string& line) {
  const std::string padded = line + std::string(JsonLineReader::kPaddingBytes, '\0');
  ASSIGN_OR_RETURN(const auto text, reader.Read(std::string_view(padded).substr(0, line.size())));
  return std::string(text.value_or("(null)"));
}

StatusOr<std::string> ReadField(const std::string& field, const std::string& line) {
  JsonLineReader reader(field, "--text-field");
  return Read(reader, line);
}
std::string Error(const std::string& field, const std::string& line) {
  return Message(ReadField(field, line).status());
}

TEST(JsonLine, EveryTruncationIsRefused) {
  JsonLineReader reader("text", "--text-field");
  const std::string line = R"({"id": [1, {"x": null}], "text": "a\u00e9b", "n": 1.5e3, "t": true})";
  EXPECT_EQ(Read(reader, line).value(),
            "a\xc3\xa9"
            "b");
  for (size_t size = 0; size < line.size(); ++size) {
    const auto text = Read(reader, line.substr(0, size));
    EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument) << line.substr(0, size);
  }
}

TEST(JsonLine, DepthIsNoDanger) {
  JsonLineReader reader("text", "--text-field");
  const std::string deep = R"({"x": )" + std::string(1 << 20, '[') + R"(, "text": "a"})";
  EXPECT_FALSE(Read(reader, deep).ok());
}

// Case models-and-data/10: lines of JSON were misread, or were treated as plain text.
TEST(JsonLine, AnEscapedNameIsTheName) {
  JsonLineReader reader("text", "--text-field");
  EXPECT_EQ(Read(reader, R"({"te\u0078t": "a"})").value(), "a");
}

// models-and-data/10: valid JSON, including what Python's json.dumps writes.
TEST(JsonLine, NumbersBesideTheTextMayBeAny) {
  JsonLineReader reader("text", "--text-field");
  for (const char* number : {"123456789012345678901234567890", "-9223372036854775809", "1e999",
                             "-1e999", "18446744073709551616", "NaN", "Infinity", "-Infinity"}) {
    const std::string line =
        fmt::format(R"({{"n": [{}], "text": "a\u00e9", "m": {}}})", number, number);
    EXPECT_EQ(Read(reader, line).value(), "a\xc3\xa9") << line;
  }
  EXPECT_THAT(Error("text", R"({"text": NaN})"), HasSubstr("is a number, expected a string"));
}

TEST(JsonLine, ADottedFieldIsInAnObject) {
  EXPECT_EQ(ReadField("meta.text", R"({"meta": {"text": "x"}})").value(), "x");
  EXPECT_EQ(ReadField("a.b.c", R"({"a": {"b": {"c": "x"}}, "b": 1})").value(), "x");
  EXPECT_EQ(ReadField("meta.text", R"({"meta.text": "x", "meta": {"id": 1}})").value(), "x");
  EXPECT_EQ(ReadField("a.b.c", R"({"a.b": {"c": "x"}})").value(), "x");
  EXPECT_THAT(Error("meta.text", R"({"meta.text": "x", "meta": {"text": "y"}})"),
              HasSubstr("field 'meta.text' occurs twice"));
  EXPECT_THAT(Error("meta.text", R"({"meta": "x"})"), HasSubstr("no field 'meta.text'"));
  EXPECT_THAT(Error("meta.text", R"({"meta": [{"text": "x"}]})"), HasSubstr("no field"));
}

TEST(JsonLine, NullIsToldApart) {
  EXPECT_EQ(ReadField("text", R"({"text": null})").value(), "(null)");
  EXPECT_EQ(ReadField("meta.text", R"({"meta": null, "n": 1e999})").value(), "(null)");
  EXPECT_THAT(Error("text", R"({"text": null, "text": "a"})"), HasSubstr("occurs twice"));
}

TEST(JsonLine, NestedTextIsNamed) {
  EXPECT_THAT(Error("text", R"({"id": 1, "meta": {"text": "x"}})"),
              AllOf(HasSubstr("the line has id, meta; but 'meta.text' exists; name it with "),
                    HasSubstr("--text-field")));
  EXPECT_THAT(Error("text", R"({"text": {"en": "x", "de": "y"}})"),
              HasSubstr("is an object with en, de, expected a string; name one of these with "
                        "--text-field text.NAME"));
  EXPECT_THAT(Error("text", R"({"text": {"0": "x", "1": "y"}})"),
              HasSubstr("to_json(PATH, orient='records', lines=True)"));
}

TEST(JsonLine, AListGetsItsCommand) {
  for (const char* line : {"[", "[{\"text\": \"a\"}, {\"text\": \"b\"}]", " [ {", "[1e999]"}) {
    EXPECT_THAT(Error("text", line), HasSubstr("jq -c '.[]'")) << line;
  }
  EXPECT_THAT(Error("text", "\"a\""), HasSubstr("jq -c '{text: .}'"));
}

TEST(JsonLine, AMissingFieldNamesTheKeyThatItsUserSets) {
  for (const char* key : {"--text-field", "data.text_field"}) {
    JsonLineReader reader("text", key);
    const std::string message = Message(Read(reader, R"({"content": "a"})").status());
    EXPECT_THAT(message, HasSubstr("name another field"));
    EXPECT_TRUE(message.ends_with(std::string(" with ") + key)) << message;
  }
}

}  // namespace
}  // namespace gp::corpus
