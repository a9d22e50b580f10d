#include "coordinator/service/run_cursor.h"

#include <gmock/gmock.h>

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

const RunQuery kFailed{.states = {RunState::kFailed}};

TEST(RunCursor, ComesBackFromItsTextAsItWas) {
  const RunCursor cursors[] = {{},
                               {.as_of = 7, .group = RunGroup::kWaiting, .before = 3},
                               {.as_of = UINT64_MAX, .group = RunGroup::kEnded, .total = 0},
                               {.as_of = 1, .before = 1, .total = INT64_MAX}};
  for (const RunCursor& cursor : cursors) {
    const auto parsed = ParseRunCursor(Text(cursor, kFailed), kFailed);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(parsed->as_of, cursor.as_of);
    EXPECT_EQ(parsed->group, cursor.group);
    EXPECT_EQ(parsed->before, cursor.before);
    EXPECT_EQ(parsed->total, cursor.total);
  }
}

TEST(RunCursor, ATextThatListDidNotReturnIsRefused) {
  const std::string text = Text({.as_of = 120, .before = 77, .total = 9}, kFailed);
  std::vector<std::string> others = {
      "0",           "12345",    "not a token", ".....",
      "1.0.2.3.a.b", text + "0", text + ".",    std::string(100'000, '9'),
      "\x1b[2J"};
  for (size_t size = 1; size < text.size(); ++size) others.push_back(text.substr(0, size));
  for (size_t at = 0; at < text.size(); ++at) {
    others.push_back(text);
    others.back()[at] = text[at] == '1' ? '2' : '1';
  }
  for (const std::string& other : others) {
    const Status status = ParseRunCursor(other, kFailed).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << other;
    EXPECT_THAT(Message(status), HasSubstr("was not returned by List"));
    EXPECT_LT(Message(status).size(), 300u);
  }
}

TEST(RunCursor, ATextOfAnotherQueryIsRefusedInWords) {
  const std::string text = Text({.as_of = 120}, kFailed);
  const RunQuery others[] = {{}, {.states = {RunState::kFailed}, .search = "a"}};
  for (const RunQuery& other : others) {
    const Status status = ParseRunCursor(text, other).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr("another filter"));
  }
}

}  // namespace
}  // namespace gp::coordinator
