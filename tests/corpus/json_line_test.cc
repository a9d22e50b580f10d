#include "corpus/json_line.h"

#include <gtest/gtest.h>

namespace gp::corpus {
namespace {

StatusOr<std::string> Read(JsonLineReader& reader, const std::string& line) {
  const std::string padded = line + std::string(JsonLineReader::kPaddingBytes, '\0');
  ASSIGN_OR_RETURN(const std::string_view text,
                   reader.Read(std::string_view(padded).substr(0, line.size())));
  return std::string(text);
}

TEST(JsonLine, EveryTruncationIsRefused) {
  JsonLineReader reader("text");
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
  JsonLineReader reader("text");
  const std::string deep = R"({"x": )" + std::string(1 << 20, '[') + R"(, "text": "a"})";
  EXPECT_FALSE(Read(reader, deep).ok());
}

TEST(JsonLine, AnEscapedNameIsTheName) {
  JsonLineReader reader("text");
  EXPECT_EQ(Read(reader, R"({"te\u0078t": "a"})").value(), "a");
}

}  // namespace
}  // namespace gp::corpus
