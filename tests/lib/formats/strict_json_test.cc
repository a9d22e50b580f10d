#include "formats/strict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::formats {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOfFile(const std::string& text) {
  return Message(ParseJsonFile(text, "/d/x.json").status());
}

TEST(StrictJson, AFileInAnotherEncodingSaysHowToConvertIt) {
  const char kCommand[] = ", expected a JSON object; convert it: iconv -f ";
  EXPECT_EQ(ErrorOfFile("\xff\xfe{\0\"\0"s),
            "/d/x.json is text in UTF-16"s + kCommand + "UTF-16 -t UTF-8 /d/x.json");
  EXPECT_EQ(ErrorOfFile("{\0\"\0a\0"s),
            "/d/x.json is text in UTF-16LE"s + kCommand + "UTF-16LE -t UTF-8 /d/x.json");
  EXPECT_THAT(ErrorOfFile("{\"caf\xe9\": 1}"),
              HasSubstr("/d/x.json: offset 5: this is not JSON: the byte 0xe9 is not valid UTF-8; "
                        "convert the file from its encoding: iconv -f ENCODING"));
}

TEST(StrictJson, AFileOfAnotherKindIsNamed) {
  EXPECT_THAT(ErrorOfFile("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"),
              HasSubstr("is a Git LFS pointer and not the file itself, expected a JSON object; "
                        "fetch the file: git lfs pull"));
  EXPECT_THAT(ErrorOfFile("\x1f\x8b\x08\0\0"s), HasSubstr("unpack it: gzip -dk /d/x.json"));
}

TEST(StrictJson, DamageIsNamedByItsPlaceWithoutTheParsersNamesForIt) {
  const std::string error = ErrorOfFile("{\"a\": 1 \"b\": 2}");
  EXPECT_THAT(error, HasSubstr("/d/x.json: offset 11: this is not JSON: syntax error while parsing "
                               "object - unexpected string literal"));
  EXPECT_THAT(error, Not(HasSubstr("json.exception")));
  EXPECT_THAT(ErrorOfFile("{\"a\": \"\xc3"), HasSubstr("it is cut short")) << "within a character";
  EXPECT_THAT(ErrorOfFile("[1]"), HasSubstr("/d/x.json: expected a JSON object"));
}

}  // namespace
}  // namespace gp::formats
