#include "base/config_problem.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

ConfigProblem At(std::string_view text, const TextPlace& place) {
  ConfigProblem problem;
  problem.source = "a.yaml";
  problem.message = "wrong";
  PointAt(text, place, problem);
  return problem;
}

TEST(ConfigProblem, UnderlinesTheCharactersOfItsPlace) {
  EXPECT_EQ(RenderProblems({At("one\r\n\ttwo: x\r\n", {.line = 2, .column = 2, .width = 3})}),
            "error: a.yaml:2:2: wrong\n"
            "     2 | \ttwo: x\n"
            "       | \t^^^\n");
}

TEST(ConfigProblem, CountsCharactersWhereItsParserCountsBytes) {
  EXPECT_EQ(RenderProblems({At("{é: ü, 日本: x}", {.column = 10, .width = 6})}),
            "error: a.yaml:1:8: wrong\n"
            "     1 | {é: ü, 日本: x}\n"
            "       |        ^^\n");
}

TEST(ConfigProblem, AByteOrderMarkIsNoCharacter) {
  EXPECT_EQ(RenderProblems({At("\xef\xbb\xbfname: x", {.column = 7, .width = 1})}),
            "error: a.yaml:1:7: wrong\n"
            "     1 | name: x\n"
            "       |       ^\n");
}

TEST(ConfigProblem, TheCaretStandsRightInACutLine) {
  const std::string line = std::string(500, 'a') + "é" + "HERE" + std::string(500, 'b');
  const ConfigProblem problem = At(line, {.column = 503, .width = 4});
  EXPECT_EQ(problem.column, 502);
  const std::string text = RenderProblems({problem});
  EXPECT_NE(text.find("| …" + std::string(39, 'a') + "éHERE" + std::string(76, 'b') + "…\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| " + std::string(41, ' ') + "^^^^\n"), std::string::npos) << text;
}

TEST(ConfigProblem, APlaceBehindTheTextHasNoExcerpt) {
  EXPECT_EQ(At("a: 1\n", {.line = 9, .column = 7, .width = 3}).excerpt, "");
  EXPECT_EQ(At("a: 1\n", {.line = 1, .column = 99, .width = 3}).column, 5);
}

TEST(ConfigProblem, NamesTheKeyOfAFlagOnce) {
  const auto rendered = [](const std::string& source, const std::string& message) {
    return RenderProblems({{.source = source, .key = "data.text", .message = message}});
  };
  EXPECT_EQ(rendered("--set data.text", "data.text: 's3://x' is an address"),
            "error: --set data.text: 's3://x' is an address\n");
  EXPECT_EQ(rendered("--set data.text", "data.text must be a path"),
            "error: --set data.text: must be a path\n");
  EXPECT_EQ(rendered("--set data.text", "data.text and data.stream exclude each other"),
            "error: --set data.text: data.text and data.stream exclude each other\n");
  EXPECT_EQ(rendered("a.yaml", "data.text: /x does not exist"),
            "error: a.yaml: data.text: /x does not exist\n");
}

TEST(ConfigProblems, ListsTheFirstHundredAndCountsTheOthers) {
  ConfigProblems problems;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(problems.full(), i >= 100);
    problems.Add({.source = "a.yaml", .message = "wrong"});
  }
  const std::vector<ConfigProblem> list = problems.Take();
  ASSERT_EQ(list.size(), 101u);
  EXPECT_EQ(list.back().message, "900 more problems are not shown");
  EXPECT_EQ(CountProblems(list), 1000u);
  EXPECT_TRUE(RenderProblems(list).ends_with("error: 980 more\n")) << RenderProblems(list);
}

TEST(ConfigProblems, CutsLongTexts) {
  ConfigProblems problems;
  const std::string text(1 << 20, 'x');
  problems.Add({.source = text, .key = text, .message = text, .hint = text});
  EXPECT_LT(RenderProblems(problems.Take()).size(), 2000u);
}

}  // namespace
}  // namespace gp
