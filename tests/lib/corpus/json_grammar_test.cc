#include "corpus/json_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::corpus {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Error(const std::string& line) {
  const auto read = WithoutNumbers(line);
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << line;
  return Message(read.status());
}

TEST(JsonGrammar, NumbersOfAnySizeBecomeZero) {
  EXPECT_EQ(WithoutNumbers(R"({"id": 123456789012345678901234567890, "a": [-1e999, 0.5E-7, -0]})")
                .value(),
            R"({"id": 0, "a": [0, 0, 0]})");
  EXPECT_EQ(WithoutNumbers(R"([NaN, Infinity, -Infinity])").value(), "[0, 0, 0]");
  EXPECT_EQ(WithoutNumbers(" 12 ").value(), " 0 ");
}

TEST(JsonGrammar, TheRestStaysAsItIs) {
  for (const char* line :
       {R"({"a": {"b": [[], {}, [{}]]}, "c": "1 NaN \" \\ \/ \b\f\n\r\t \u00e9 \ud83d\ude00"})",
        R"("é")", "true", "[false , null]", R"({"":"","":null})", "{ }", "[ ]"}) {
    EXPECT_EQ(WithoutNumbers(line).value(), line);
  }
}

TEST(JsonGrammar, EveryTruncationIsRefused) {
  const std::string line = R"({"id": [1e999, {"x": null}], "text": "a\u00e9\ud83d\ude00é"})";
  ASSERT_TRUE(WithoutNumbers(line).ok());
  for (size_t size = 0; size < line.size(); ++size) EXPECT_NE(Error(line.substr(0, size)), "");
}

TEST(JsonGrammar, NamesTheColumnAndWhatStandsThere) {
  EXPECT_THAT(Error("{\"a\": tru}"), StartsWith("column 7: 'tru}', expected a value"));
  EXPECT_THAT(Error("{'a': 1}"), StartsWith("column 2: a name in single quotes, as Python"));
  EXPECT_THAT(Error("{\"a\": 'b'}"), StartsWith("column 7: a text in single quotes"));
  EXPECT_THAT(Error("{\"a\": None}"), StartsWith("column 7: None is a Python literal, not JSON"));
  EXPECT_THAT(Error("{\"a\": 1,}"), StartsWith("column 9: a comma before '}'"));
  EXPECT_THAT(Error("{\"a\" 1}"), StartsWith("column 6: '1}', expected ':'"));
  EXPECT_THAT(Error("{a: 1}"), StartsWith("column 2: 'a: 1}', expected a name in double quotes"));
  EXPECT_THAT(Error("{\"a\": 01}"), StartsWith("column 7: a number that begins with 0"));
  EXPECT_THAT(Error("[-01]"), StartsWith("column 2: a number that begins with 0"));
  EXPECT_THAT(Error("[1.]"), StartsWith("column 4: ']', expected a digit"));
  EXPECT_THAT(Error("[+1]"), StartsWith("column 2: '+1]', expected a value"));
  EXPECT_THAT(Error("[1x]"), StartsWith("column 3: 'x]' after a number"));
  EXPECT_THAT(Error("[nan]"), StartsWith("column 2: 'nan]', expected a value"));
  EXPECT_THAT(Error("[\"\\x\"]"), StartsWith("column 3: '\\x\"]' is not a JSON escape"));
  EXPECT_THAT(Error("[\"a\tb\"]"), HasSubstr("the control character 0x09 in a string"));
  EXPECT_THAT(Error("[\"a\xff\"]"), StartsWith("column 4: the byte 0xff is not UTF-8"));
  EXPECT_THAT(Error("[1 2]"), StartsWith("column 4: '2]', expected ',' or ']'"));
}

TEST(JsonGrammar, AnObjectOnSeveralLinesGetsACommand) {
  EXPECT_THAT(Error("{"), HasSubstr("the line ends inside an object; expected a whole object on "
                                    "each line: jq -c ."));
  EXPECT_THAT(Error("{\"a\": 1,"), HasSubstr("jq -c ."));
  EXPECT_THAT(Error("{\"a\": 1} {\"a\": 2}"), HasSubstr("follows the value; expected one object"));
  EXPECT_THAT(Error("{\"a\": \"b"), HasSubstr("ends inside the string that begins here"));
}

TEST(JsonGrammar, HalfASurrogatePairIsNamed) {
  for (const char* line : {R"(["\ud83d"])", R"(["\ud83d x"])", R"(["\ud83d\u0041"])",
                           R"(["\ud83d\ud83d\ude00"])", R"(["\ud83d\n"])"}) {
    EXPECT_THAT(Error(line), StartsWith("column 3: \\ud83d is half of a surrogate pair")) << line;
  }
  EXPECT_THAT(Error(R"(["a\uDE00"])"), StartsWith("column 4: \\ude00 is half of a surrogate pair"));
  EXPECT_THAT(Error(R"(["\ud83d\u00"])"), HasSubstr("four hexadecimal digits"));
}

TEST(JsonGrammar, DepthIsNoDanger) {
  EXPECT_THAT(Error(std::string(1 << 20, '[')), HasSubstr("levels of nesting"));
}

}  // namespace
}  // namespace gp::corpus
