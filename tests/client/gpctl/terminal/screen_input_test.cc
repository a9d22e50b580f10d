#include "client/gpctl/terminal/screen_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace gp::gpctl {
namespace {

using Kind = KeyPress::Kind;
using ::testing::ElementsAre;

KeyPress Typed(char character) { return {Kind::kCharacter, character}; }

TEST(KeysIn, NamesTheKeysOfATerminal) {
  EXPECT_THAT(KeysIn("q?"), ElementsAre(Typed('q'), Typed('?')));
  EXPECT_THAT(KeysIn("\x1b"), ElementsAre(KeyPress{Kind::kEscape}));
  EXPECT_THAT(KeysIn("\n\r"), ElementsAre(KeyPress{Kind::kEnter}, KeyPress{Kind::kEnter}));
  EXPECT_THAT(
      KeysIn("\x1b[A\x1bOB\x1b[5~j"),
      ElementsAre(KeyPress{Kind::kUp}, KeyPress{Kind::kDown}, KeyPress{Kind::kPageUp}, Typed('j')));
}

TEST(KeysIn, KnowsHomeAndEndOfEveryTerminal) {
  for (const char* bytes : {"\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~"}) {
    EXPECT_THAT(KeysIn(bytes), ElementsAre(KeyPress{Kind::kHome})) << bytes + 1;
  }
  for (const char* bytes : {"\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~"}) {
    EXPECT_THAT(KeysIn(bytes), ElementsAre(KeyPress{Kind::kEnd})) << bytes + 1;
  }
}

TEST(KeysIn, LettersAreKeysInBothCases) {
  EXPECT_TRUE(IsLetter(Typed('q'), 'q'));
  EXPECT_TRUE(IsLetter(Typed('Q'), 'q'));
  EXPECT_FALSE(IsLetter(Typed('w'), 'q'));
  EXPECT_FALSE(IsLetter(KeyPress{Kind::kEnter}, 'q'));
}

// A key that is not known must not be read as letters: "[q" is no q.
TEST(KeysIn, TakesUnknownSequencesWhole) {
  EXPECT_THAT(KeysIn("\x1b[1;5Pq"), ElementsAre(KeyPress{}, Typed('q')));
  EXPECT_THAT(KeysIn("\x1b[200"), ElementsAre(KeyPress{}));
  EXPECT_THAT(KeysIn("\xc3\xa9\x01"), ElementsAre(KeyPress{}, KeyPress{}, KeyPress{}));
}

TEST(ScreenInput, EndsTheWaitForAKeyASignalAndAWake) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    ScreenInput input(ends[0]);
    ASSERT_EQ(write(ends[1], "l", 1), 1);
    EXPECT_THAT(input.Wait(std::chrono::minutes(1)).keys, ElementsAre(Typed('l')));
    std::raise(SIGWINCH);
    EXPECT_TRUE(input.Wait(std::chrono::minutes(1)).resized);
    EXPECT_FALSE(input.Wait(std::chrono::nanoseconds(0)).resized);
    std::raise(SIGTSTP);
    EXPECT_TRUE(input.Wait(std::chrono::minutes(1)).suspended);
    std::thread waker([&input] { input.Wake(); });
    const ScreenInput::News woken = input.Wait(std::chrono::minutes(1));
    EXPECT_TRUE(woken.keys.empty());
    waker.join();
    close(ends[1]);
    EXPECT_TRUE(input.Wait(std::chrono::minutes(1)).keys.empty()) << "the terminal is gone";
  }
  close(ends[0]);
}

}  // namespace
}  // namespace gp::gpctl
