#include "base/command_line.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace gp {
namespace {

struct Copy {
  std::string from;
  std::optional<std::string> note;
  std::vector<std::string> sets;
  std::vector<int> ranks = {2, 4};
  int64_t count = 7;
  uint64_t size_bytes = 0;
  double rate = 0.5;
  std::string output = "text";
  bool dry_run = false;
};

// Parses `copy WORDS…` and records the output.
class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    const Command root = line_.root();
    root.Version("copy 1.2");
    root.Option("FROM", copy_.from, "file to read").Required();
    const Flag note = root.Option("--note", copy_.note, "what to say");
    root.Option("--set", copy_.sets, "key=value").OneValueEach();
    root.Option("--ranks", copy_.ranks, "how many").Delimiter(',').Between(1, 64).ShowDefault();
    root.Option("--count", copy_.count, "times").Positive().ShowDefault();
    root.Option("--size", copy_.size_bytes, "bytes").SizeInBytes();
    root.Option("--rate", copy_.rate, "share").Between(0.0, 1.0);
    root.Option("-o,--output", copy_.output, "text or json").OneOf({"text", "json"});
    root.Switch("--dry-run", copy_.dry_run, "write nothing").Needs(note);
  }

  std::optional<int> Parse(std::vector<const char*> words) {
    words.insert(words.begin(), "copy");
    return line_.Parse(static_cast<int>(words.size()), words.data(), out_, err_);
  }

  Copy copy_;
  const CommandLine line_{"Copies a file.", "copy"};
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CommandLineTest, BindsWhatWasGivenAndLeavesTheRestAlone) {
  EXPECT_EQ(Parse({"a.txt", "--set", "x=1", "--set", "y=2", "--ranks", "1,8", "--size", "64MiB",
                   "--rate", "0.25", "-o", "json"}),
            std::nullopt);
  EXPECT_EQ(copy_.from, "a.txt");
  EXPECT_EQ(copy_.note, std::nullopt);
  EXPECT_EQ(copy_.sets, (std::vector<std::string>{"x=1", "y=2"}));
  EXPECT_EQ(copy_.ranks, (std::vector<int>{1, 8}));
  EXPECT_EQ(copy_.count, 7);
  EXPECT_EQ(copy_.size_bytes, 67108864u);
  EXPECT_EQ(copy_.rate, 0.25);
  EXPECT_EQ(copy_.output, "json");
  EXPECT_FALSE(copy_.dry_run);
  EXPECT_EQ(out_.str() + err_.str(), "");
}

TEST_F(CommandLineTest, HelpAndVersionGoToOutAndEndWithZero) {
  EXPECT_EQ(Parse({"--help"}), 0);
  EXPECT_NE(out_.str().find("Copies a file."), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("--count INT:POSITIVE=7"), std::string::npos) << out_.str();
  EXPECT_EQ(Parse({"--version"}), 0);
  EXPECT_NE(out_.str().find("copy 1.2"), std::string::npos) << out_.str();
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CommandLineTest, WhatCannotBeParsedIsExplainedOnErrAndEndsWithTwo) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> wrong = {
      {{}, "FROM"},
      {{"a.txt", "--count", "0"}, "--count"},
      {{"a.txt", "--count", "many"}, "--count"},
      {{"a.txt", "--rate", "nan"}, "nan is not a number"},
      {{"a.txt", "--ranks", "1,65"}, "--ranks"},
      {{"a.txt", "--rate", "1.5"}, "--rate"},
      {{"a.txt", "--output", "xml"}, "--output"},
      {{"a.txt", "--dry-run"}, "--note"},
      {{"a.txt", "--colour"}, "--colour"},
  };
  for (const auto& [words, named] : wrong) {
    err_.str("");
    EXPECT_EQ(Parse(words), 2) << named;
    EXPECT_NE(err_.str().find(named), std::string::npos) << named << ": " << err_.str();
  }
  EXPECT_EQ(out_.str(), "");
}

TEST(CommandLine, GivesTheCommandThatWasChosenAndLeavesItsWordsToIt) {
  const CommandLine line("Measures.", "bench");
  line.root().RequireOneCommand();
  line.root().AddCommand("step", "time a step");
  const Command other = line.root().AddCommand("other", "another program's");
  other.AllowTrailingArguments();
  const std::vector<const char*> words = {"bench", "other", "--its-flag", "3"};
  EXPECT_EQ(line.Parse(static_cast<int>(words.size()), words.data()), std::nullopt);
  EXPECT_EQ(line.Given(), "other");
  EXPECT_EQ(other.Remaining(), (std::vector<std::string>{"--its-flag", "3"}));
}

// A program with a plain command and a command that has a subcommand.
class CommandTreeTest : public testing::Test {
 protected:
  CommandTreeTest() {
    program_.AllowOneCommand();
    list_.Group("Runs");
    list_.Alias("ls");
    list_.Option("RUN", run_, "which run");
    list_.Option("-n,--limit", limit_, "at most so many").Positive();
  }

  ParseOutcome::Kind KindOf(const std::vector<std::string>& words) const {
    return line_.TryParse(words).kind;
  }

  std::string run_;
  int limit_ = 0;
  const CommandLine line_{"Keeps runs.", "keep"};
  const Command program_ = line_.root();
  const Command list_ = program_.AddCommand("list", "show the runs");
  const Command file_ = program_.AddCommand("file", "handle files");
  const Command remove_ = file_.AddCommand("remove", "delete one");
};

TEST_F(CommandTreeTest, ShowsItsCommandsInTheirOrder) {
  EXPECT_EQ(program_.Name(), "keep");
  EXPECT_EQ(program_.Summary(), "Keeps runs.");
  EXPECT_EQ(program_.Parent(), std::nullopt);
  EXPECT_EQ(program_.Commands(), (std::vector<Command>{list_, file_}));
  EXPECT_EQ(list_.Name(), "list");
  EXPECT_EQ(list_.Summary(), "show the runs");
  EXPECT_EQ(list_.Group(), "Runs");
  EXPECT_EQ(list_.Commands(), std::vector<Command>{});
  EXPECT_EQ(remove_.Parent(), file_);
  EXPECT_EQ(file_.Parent(), program_);
}

TEST_F(CommandTreeTest, ACommandIsCalledByItsNameAndItsAlias) {
  EXPECT_TRUE(list_.IsCalled("list"));
  EXPECT_TRUE(list_.IsCalled("ls"));
  EXPECT_FALSE(list_.IsCalled("file"));
}

TEST_F(CommandTreeTest, ShowsItsFlagsWithTheirNames) {
  const std::vector<Flag> flags = list_.Flags();
  ASSERT_EQ(flags.size(), 3u);
  EXPECT_EQ(flags[0].Names(), "-h,--help");
  EXPECT_EQ(flags[1].Names(), "RUN");
  EXPECT_EQ(flags[1].LongNames(), std::vector<std::string>{});
  EXPECT_EQ(flags[2].Names(), "-n,--limit");
  EXPECT_EQ(flags[2].LongNames(), std::vector<std::string>{"--limit"});
  EXPECT_EQ(flags[2].Text(), "at most so many");
}

TEST_F(CommandTreeTest, HelpNamesTheCommandBehindThePrefix) {
  EXPECT_NE(remove_.Help("keep file").find("Usage: keep file remove"), std::string::npos);
  EXPECT_NE(program_.Help().find("Usage: keep "), std::string::npos);
}

TEST_F(CommandTreeTest, HandlesOfOneCommandAreOneKey) {
  std::map<Command, int> numbers = {{program_, 1}, {list_, 2}, {file_, 3}};
  numbers[line_.root()] = 4;
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_EQ(numbers.at(program_), 4);
  EXPECT_EQ(numbers.at(program_.Commands()[0]), 2);
}

TEST_F(CommandTreeTest, TheChosenCommandIsTheDeepestThatWasGiven) {
  EXPECT_EQ(KindOf({}), ParseOutcome::Kind::kParsed);
  EXPECT_EQ(program_.Chosen(), program_);
  EXPECT_EQ(KindOf({"ls", "-n", "3"}), ParseOutcome::Kind::kParsed);
  EXPECT_EQ(program_.Chosen(), list_);
  EXPECT_EQ(limit_, 3);
  EXPECT_EQ(KindOf({"file", "remove"}), ParseOutcome::Kind::kParsed);
  EXPECT_EQ(program_.Chosen(), remove_);
}

TEST_F(CommandTreeTest, BehindTheOneCommandAnothersNameIsAnArgument) {
  EXPECT_EQ(KindOf({"list", "file"}), ParseOutcome::Kind::kParsed);
  EXPECT_EQ(program_.Chosen(), list_);
  EXPECT_EQ(run_, "file");
}

TEST_F(CommandTreeTest, TellsThatHelpIsWantedAndOfWhat) {
  EXPECT_EQ(KindOf({"--help"}), ParseOutcome::Kind::kHelpWanted);
  EXPECT_EQ(program_.Chosen(), program_);
  EXPECT_EQ(KindOf({"file", "remove", "-h"}), ParseOutcome::Kind::kHelpWanted);
  EXPECT_EQ(program_.Chosen(), remove_);
}

TEST_F(CommandTreeTest, GivesTheWordsThatNothingTook) {
  const ParseOutcome outcome = line_.TryParse({"file", "remove", "--fast", "all"});
  EXPECT_EQ(outcome.kind, ParseOutcome::Kind::kUnexpectedWords);
  EXPECT_EQ(outcome.unexpected, (std::vector<std::string>{"--fast", "all"}));
  EXPECT_EQ(program_.Chosen(), remove_);
}

TEST_F(CommandTreeTest, SaysWhatElseIsWrong) {
  const ParseOutcome outcome = line_.TryParse({"list", "--limit", "0"});
  EXPECT_EQ(outcome.kind, ParseOutcome::Kind::kError);
  EXPECT_NE(outcome.message.find("--limit"), std::string::npos) << outcome.message;
  EXPECT_EQ(outcome.unexpected, std::vector<std::string>{});
  EXPECT_EQ(program_.Chosen(), list_);
}

TEST(CommandLine, ADefaultThatIsSetLaterIsBound) {
  const CommandLine line("Measures.", "bench");
  std::string device = "cpu";
  line.root().Option("--device", device);
  EXPECT_FALSE(line.root().Find("--gpu").has_value());
  line.root().Find("--device")->Default("gpu");
  const std::vector<const char*> words = {"bench"};
  EXPECT_EQ(line.Parse(1, words.data()), std::nullopt);
  EXPECT_EQ(device, "gpu");
}

}  // namespace
}  // namespace gp
