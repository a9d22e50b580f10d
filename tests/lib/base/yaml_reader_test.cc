#include "base/yaml_reader.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

using namespace std::string_view_literals;

YamlNode Parse(std::string_view text) {
  auto result = ParseYaml(text, "test.yaml");
  if (const auto* problem = std::get_if<ConfigProblem>(&result)) {
    ADD_FAILURE() << RenderProblems({*problem});
    return {};
  }
  return std::get<YamlNode>(std::move(result));
}

ConfigProblem ParseFails(std::string_view text) {
  auto result = ParseYaml(text, "test.yaml");
  if (const auto* problem = std::get_if<ConfigProblem>(&result)) return *problem;
  ADD_FAILURE() << "was read: " << text;
  return {};
}

TEST(YamlReader, KnowsWhereEveryKeyAndValueStands) {
  const YamlNode root = Parse("name: demo\nmodel:\n  n_layer: 4\n  sizes: [1, '2']\n");
  ASSERT_EQ(root.entries.size(), 2u);
  const YamlNode* model = root.Find("model");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->entries[0].key, "n_layer");
  EXPECT_EQ(model->entries[0].key_mark.line, 3);
  EXPECT_EQ(model->entries[0].key_mark.column, 3);
  EXPECT_EQ(model->entries[0].value.mark.column, 12);
  const YamlNode& sizes = model->entries[1].value;
  ASSERT_EQ(sizes.items.size(), 2u);
  EXPECT_FALSE(sizes.items[0].quoted);
  EXPECT_TRUE(sizes.items[1].quoted);
}

TEST(YamlReader, KeepsDuplicateKeysForItsReaderToReport) {
  EXPECT_EQ(Parse("a: 1\na: 2\n").entries.size(), 2u);
}

TEST(YamlReader, ReadsNothingAsNull) {
  for (const char* text : {"", "\n", "# only a comment\n", "~", "null"}) {
    EXPECT_EQ(Parse(text).kind, YamlNode::Kind::kNull) << text;
  }
  EXPECT_EQ(Parse("''").kind, YamlNode::Kind::kScalar);
}

TEST(YamlReader, PointsAtASyntaxError) {
  const ConfigProblem problem = ParseFails("name: demo\nmodel: {n_layer: 4\nseed: 1\n");
  EXPECT_GE(problem.line, 2);
  EXPECT_NE(problem.message.find("not valid YAML"), std::string::npos);
}

// Bytes in another encoding used to be shown as '?' or as other characters, and a run file with
// such a byte in a comment was valid but could not be submitted.
TEST(YamlReader, PointsAtTheFirstByteThatIsNotUtf8) {
  const ConfigProblem problem = ParseFails("name: demo  # é\nmodel: {}  # caf\xe9\n");
  EXPECT_EQ(problem.line, 2);
  EXPECT_EQ(problem.column, 17);
  EXPECT_NE(problem.message.find("not UTF-8; convert the file"), std::string::npos);
  EXPECT_NE(problem.message.find("iconv -f ENCODING -t UTF-8"), std::string::npos);
  for (const std::string_view text : {"a: \xc3"sv, "\xff\xfe{\0}\0"sv, "a\0:\0 \0b\0"sv, "\0a\0:"sv,
                                      "a: b\0"sv, "# \xed\xa0\x80\na: b"sv}) {
    EXPECT_NE(ParseFails(text).message.find("not UTF-8"), std::string::npos) << text;
  }
  EXPECT_EQ(Parse("\xef\xbb\xbfname: é\n").entries[0].key, "name");
}

TEST(YamlReader, RefusesWhatAConfigurationNeedsNot) {
  EXPECT_NE(ParseFails("a: &x 1\nb: *x\n").message.find("anchors"), std::string::npos);
  EXPECT_NE(ParseFails("a: !!python/object 1\n").message.find("tags"), std::string::npos);
  EXPECT_NE(ParseFails("a: 1\n---\nb: 2\n").message.find("more than one"), std::string::npos);
  EXPECT_NE(ParseFails(std::string(200, '[')).message.find("YAML"), std::string::npos);
  EXPECT_NE(ParseFails("[1]: 2\n").message.find("a key"), std::string::npos);
}

std::string Repeated(std::string_view piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

TEST(YamlReader, SaysLittleAboutAHostileText) {
  const size_t bytes = 1 << 18;
  for (const std::string& text :
       {Repeated("[", bytes), Repeated("{a: ", bytes), Repeated("- ", bytes), Repeated("? ", bytes),
        Repeated("a: ", bytes), "a: \"" + Repeated("x", bytes), "[" + Repeated("&a ", bytes),
        "[" + Repeated("*a, ", bytes), "a: !" + Repeated("t", bytes) + " 1", Repeated(":", bytes),
        Repeated("]", bytes), "a: &x [1]\nb: &y [" + Repeated("*x,", bytes) + "]",
        "[" + Repeated("[],", bytes) + "]"}) {
    const ConfigProblem problem = ParseFails(text);
    EXPECT_LT(RenderProblems({problem}).size(), 2000u) << text.substr(0, 20);
  }
}

TEST(YamlReader, LimitsHowManyValuesATextMayHold) {
  const auto list = [](int count) { return "[" + Repeated("a,", size_t{2} * count) + "]"; };
  EXPECT_EQ(Parse(list(49'999)).items.size(), 49'999u);
  EXPECT_NE(ParseFails(list(50'000)).message.find("more than 50000 values"), std::string::npos);
}

}  // namespace
}  // namespace gp
