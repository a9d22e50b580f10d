#include "client/gpctl/screen/screen_footer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ScreenFooter, ShowsKeysAndTheTimeIfThereIsRoom) {
  const std::vector<KeyHelp> keys = {{"q", "leave"}, {"?", "help"}};
  EXPECT_EQ(ScreenFooter(keys, "", 1763716440, {.width = 40}).Text(false),
            "q leave  ? help             09:14:00 UTC");
  EXPECT_EQ(ScreenFooter(keys, "", 1763716440, {.width = 20}).Text(false), "q leave  ? help");
  EXPECT_EQ(ScreenFooter(keys, "", 1763716440, {.width = 10}).Text(false), "q leave");
}

TEST(ScreenFooter, ShowsAMessageInsteadOfTheKeys) {
  const std::string text =
      ScreenFooter({{"q", "leave"}}, "Sure? y/N", 0, {.width = 40}).Text(false);
  EXPECT_THAT(text, HasSubstr("Sure? y/N"));
  EXPECT_THAT(text, Not(HasSubstr("leave")));
}

std::vector<std::string> HelpTexts(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> texts;
  for (const ScreenLine& line : lines) texts.push_back(line.Text(false));
  return texts;
}

TEST(HelpLines, WrapWordsBesideTheirKey) {
  const std::vector<KeyHelp> keys = {{"q", "leave"}, {"Esc", "show everything again"}};
  EXPECT_THAT(HelpTexts(HelpLines(keys, {"One run: gpctl watch RUN."}, 10, {.width = 20})),
              ElementsAre("Keys", "  q    leave", "  Esc  show", "       everything",
                          "       again", "", "One run: gpctl watch", "RUN."));
}

TEST(HelpLines, SayHowManyDoNotFit) {
  const std::vector<KeyHelp> keys = {{"q", "leave"}, {"?", "help"}, {"n", "nodes"}};
  EXPECT_THAT(HelpTexts(HelpLines(keys, {}, 4, {.width = 40})),
              ElementsAre("Keys", "  q  leave", "  ?  help", "  n  nodes"));
  EXPECT_THAT(HelpTexts(HelpLines(keys, {"words"}, 3, {.width = 40})),
              ElementsAre("Keys", "  q  leave", "4 more lines do not fit"));
  EXPECT_THAT(HelpTexts(HelpLines(keys, {}, 1, {.width = 40})),
              ElementsAre("4 more lines do not fit"));
}

TEST(WrappedLines, EndAfterTheRows) {
  const auto lines = WrappedLines("one two three four", 9, 2, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].Text(false), "one two");
  EXPECT_EQ(lines[1].Text(false), "  three");
}

}  // namespace
}  // namespace gp::gpctl
