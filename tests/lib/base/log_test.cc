#include "base/log.h"

#include <gtest/gtest.h>

#include <regex>

namespace gp {
namespace {

// The lines that `write` logs, captured from stderr.
template <typename Write>
std::string Captured(LogLevel level, Write write) {
  testing::internal::CaptureStderr();
  InitLogging("log-test", level);
  write();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesOneLineAnEventWithTimeLevelProgramAndFields) {
  const std::string line = Captured(LogLevel::kInfo, [] {
    LogInfo("run started", {{"run", "7f3k"}, {"epoch", 3}});
  });
  EXPECT_TRUE(std::regex_match(
      line,
      std::regex(
          R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info log-test run started run=7f3k epoch=3\n)")))
      << line;
}

TEST(Log, QuotesWhatWouldBreakALine) {
  const std::string line = Captured(LogLevel::kInfo, [] {
    LogInfo("x", {{"a", "two words"}, {"b", "line\nbreak"}, {"c", "say \"hi\""}, {"d", ""}});
  });
  EXPECT_NE(line.find(R"(a="two words" b="line\nbreak" c="say \"hi\"" d="")"), std::string::npos)
      << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST(Log, SpellsOutWhatWouldDriveATerminalAndKeepsOtherLetters) {
  const std::string line = Captured(LogLevel::kInfo, [] {
    LogInfo("x", {{"a", "\x1b[2J"}, {"b", "\xff\t"}, {"c", "na\xc3\xafve"}});
    LogInfo("y", {{"d", "\xe2\x80\xae"}, {"e", "\xe2\x80\xa8"}});
  });
  EXPECT_NE(line.find("d=\"\\xe2\\x80\\xae\" e=\"\\xe2\\x80\\xa8\""), std::string::npos) << line;
  EXPECT_NE(line.find("a=\"\\x1b[2J\" b=\"\\xff\\x09\" c=na\xc3\xafve"), std::string::npos) << line;
}

TEST(Log, KeepsQuietBelowItsLevel) {
  const std::string lines = Captured(LogLevel::kWarning, [] {
    LogInfo("hidden");
    LogWarning("shown");
    LogError("shown too");
  });
  EXPECT_EQ(lines.find("hidden"), std::string::npos);
  EXPECT_NE(lines.find("warning log-test shown"), std::string::npos) << lines;
  EXPECT_NE(lines.find("error log-test shown too"), std::string::npos) << lines;
}

TEST(Log, BracesInAnEventAreOnlyText) {
  const std::string line = Captured(LogLevel::kInfo, [] { LogInfo("{} {0}", {{"k", "{}"}}); });
  EXPECT_NE(line.find("{} {0} k={}"), std::string::npos) << line;
}

}  // namespace
}  // namespace gp
