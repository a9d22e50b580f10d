#include "daemon/settings_reader.h"

#include <gtest/gtest.h>

#include "rpc/listen_address.h"

namespace gp::daemon {
namespace {

using std::chrono::nanoseconds;

// One setting of each kind.
struct Example {
  std::string listen = "127.0.0.1:1";
  std::string dir;
  int slots = 3;
  int64_t bytes = 70'000;
  nanoseconds lease = std::chrono::seconds(10);
  std::vector<std::string> words = {"a"};

  bool operator==(const Example&) const = default;
};

Settings Table(Example& example) {
  return {
      {.field = {.path = "server.listen", .doc = "Where it listens."},
       .slot = &example.listen,
       .flag = "--listen",
       .value_name = "HOST:PORT",
       .check = CheckListenAddress},
      {.field = {.path = "state.dir", .doc = "Where it keeps what it knows."},
       .slot = &example.dir,
       .flag = "--state-dir",
       .value_name = "DIR",
       .required = true},
      {.field = {.path = "node.slots", .doc = "How many.", .min = 0, .max = 9},
       .slot = &example.slots},
      {.field = {.path = "logs.bytes_max", .doc = "How large.", .min = 65536},
       .slot = &example.bytes},
      {.field = {.path = "agents.lease", .doc = "How long.", .min = 0.5}, .slot = &example.lease},
      {.field = {.path = "node.words", .doc = "Which."}, .slot = &example.words}};
}

std::vector<ConfigProblem> ReadText(const std::string& text, Example& example) {
  return ReadSettingsFile(text, "d.yaml", Table(example));
}

std::vector<ConfigProblem> ReadEnvironment(const std::vector<std::string>& environment,
                                           Example& example, std::vector<ConfigProblem>& warnings) {
  return ReadSettingsEnvironment(environment, "gp-example", Table(example), warnings);
}

TEST(SettingsFile, ALongListOfProblemsStaysShort) {
  Example example;
  std::string text = "{";
  while (text.size() < 1 << 18) text += "state_dirr: 1, ";
  const auto problems = ReadText(text + "}", example);
  EXPECT_EQ(problems.size(), 101u);
  EXPECT_EQ(CountProblems(problems), text.size() / 15);
  EXPECT_LT(RenderProblems(problems, "error", problems.size()).size(), 100'000u);
}

TEST(SettingsFile, SetsWhatItNames) {
  Example example;
  const auto problems = ReadText(
      "apiVersion: gp/v1\nserver: {listen: '[::1]:7'}\nstate: {dir: /s}\n"
      "node: {slots: 5, words: [b, c]}\nlogs: {bytes_max: 80_000}\nagents: {lease: 1m30s}\n",
      example);
  EXPECT_EQ(RenderProblems(problems), "");
  EXPECT_EQ(example, (Example{"[::1]:7", "/s", 5, 80'000, std::chrono::seconds(90), {"b", "c"}}));
}

TEST(SettingsFile, WhatItLeavesEmptyKeepsItsDefault) {
  for (const char* text :
       {"", "~", "server:\nstate: null\n", "apiVersion:\n",
        "server: {listen: }\nstate: {dir: ~}\nnode: {slots: , words: null}\nlogs: {bytes_max: }\n"
        "agents: {lease: }\n"}) {
    Example example;
    EXPECT_EQ(RenderProblems(ReadText(text, example)), "") << text;
    EXPECT_EQ(example, Example()) << text;
  }
}

TEST(SettingsFile, ARootThatIsNoMapIsRefusedWithItsPlace) {
  for (const char* text : {"nonsense\n", "- a\n- b\n", "17\n"}) {
    Example example;
    const auto problems = ReadText(text, example);
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_EQ(problems[0].line, 1) << text;
    EXPECT_NE(problems[0].message.find("a settings file is a map of keys"), std::string::npos)
        << problems[0].message;
  }
}

TEST(SettingsFile, EveryWrongValueIsToldWithItsPlaceAndWhatItMustBe) {
  Example example;
  const auto problems = ReadText(
      "server:\n  listen: [a]\nstate: 7\nnode:\n  slots: many\n  words: {a: b}\nlogs:\n"
      "  bytes_max: 65535\nagents:\n  lease: 499ms\n",
      example);
  ASSERT_EQ(problems.size(), 6u) << RenderProblems(problems);
  const char* expected[] = {"server.listen must be text, not a list",
                            "state is a group of keys, not a single value",
                            "node.slots must be a whole number of at least 0 and at most 9",
                            "node.words must be a list of text, not a map",
                            "logs.bytes_max must be a whole number of at least 65536",
                            "of at least 500ms, not '499ms'"};
  const int lines[] = {2, 3, 5, 6, 8, 10};
  for (size_t i = 0; i < problems.size(); ++i) {
    EXPECT_NE(problems[i].message.find(expected[i]), std::string::npos) << problems[i].message;
    EXPECT_EQ(problems[i].line, lines[i]);
    EXPECT_EQ(problems[i].source, "d.yaml");
  }
}

TEST(SettingsFile, TheEndsOfARangeBelongToIt) {
  Example example;
  EXPECT_EQ(RenderProblems(ReadText(
                "node: {slots: 9}\nlogs: {bytes_max: 65536}\nagents: {lease: 500ms}\n", example)),
            "");
  EXPECT_EQ(ReadText("node: {slots: 10}\n", example).size(), 1u);
}

TEST(SettingsFile, AnUnknownKeyHasASuggestionAndOneGivenTwiceItsFirstPlace) {
  Example example;
  const auto problems = ReadText("node:\n  slot: 3\n  slots: 1\n  slots: 2\n", example);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].message, "unknown key 'node.slot'");
  EXPECT_EQ(problems[0].hint, "did you mean 'node.slots'?");
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_EQ(problems[1].message, "'node.slots' is given twice");
  EXPECT_EQ(problems[1].line, 4);
}

TEST(SettingsFile, TextThatCannotBeUsedIsLocated) {
  Example example;
  const auto problems = ReadText("server:\n  listen: nowhere\n", example);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_EQ(problems[0].column, 11);
  EXPECT_EQ(problems[0].width, 7);
  EXPECT_NE(problems[0].message.find("HOST:PORT"), std::string::npos) << problems[0].message;
}

TEST(SettingsFile, AnotherVersionIsRefused) {
  Example example;
  EXPECT_EQ(ReadText("apiVersion: gp/v2\n", example).size(), 1u);
}

TEST(SettingsEnvironment, SetsEveryKindByTheNameOfItsKey) {
  Example example;
  std::vector<ConfigProblem> warnings;
  const auto problems =
      ReadEnvironment({"GP_EXAMPLE_SERVER_LISTEN=[::1]:7", "GP_EXAMPLE_STATE_DIR=/a: b",
                       "GP_EXAMPLE_NODE_SLOTS=5", "GP_EXAMPLE_LOGS_BYTES_MAX=80000",
                       "GP_EXAMPLE_AGENTS_LEASE=90s", "GP_EXAMPLE_NODE_WORDS=[b, c]"},
                      example, warnings);
  EXPECT_EQ(RenderProblems(problems), "");
  EXPECT_EQ(example,
            (Example{"[::1]:7", "/a: b", 5, 80'000, std::chrono::seconds(90), {"b", "c"}}));
  EXPECT_TRUE(warnings.empty());
}

TEST(SettingsEnvironment, AnEmptyVariableIsAsIfItWereNotThere) {
  Example example;
  std::vector<ConfigProblem> warnings;
  EXPECT_TRUE(
      ReadEnvironment({"GP_EXAMPLE_SERVER_LISTEN=", "GP_EXAMPLE_NODE_SLOTS="}, example, warnings)
          .empty());
  EXPECT_EQ(example, Example());
}

TEST(SettingsEnvironment, AWrongValueIsToldByTheVariableAndTheKey) {
  Example example;
  std::vector<ConfigProblem> warnings;
  const auto problems = ReadEnvironment(
      {"GP_EXAMPLE_NODE_SLOTS=many", "GP_EXAMPLE_NODE_WORDS=[", "GP_EXAMPLE_SERVER_LISTEN=nowhere"},
      example, warnings);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].source, "GP_EXAMPLE_NODE_SLOTS");
  EXPECT_NE(problems[0].message.find("node.slots must be a whole number"), std::string::npos);
  EXPECT_NE(problems[1].message.find("node.words must be a list of text, not '['"),
            std::string::npos);
  EXPECT_NE(problems[2].message.find("HOST:PORT"), std::string::npos);
}

// If a service is called gp-example, Kubernetes sets GP_EXAMPLE_PORT and other variables in every
// container.
TEST(SettingsEnvironment, VariablesOfOthersAreLeftAloneAndNearMissesAreWarnedOf) {
  Example example;
  std::vector<ConfigProblem> warnings;
  const auto problems =
      ReadEnvironment({"PATH=/bin", "GP_EXAMPLE_PORT_7070_TCP=tcp://1.2.3.4:7070",
                       "GP_EXAMPLE_SERVICE_HOST=1.2.3.4", "GP_OTHER_NODE_SLOTS=many",
                       "GP_EXAMPLE_NODE_SLOT=4", "no equals sign"},
                      example, warnings);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(example, Example());
  ASSERT_EQ(warnings.size(), 1u) << RenderProblems(warnings);
  EXPECT_EQ(warnings[0].source, "GP_EXAMPLE_NODE_SLOT");
  EXPECT_EQ(warnings[0].hint, "did you mean 'GP_EXAMPLE_NODE_SLOTS'?");
}

TEST(RequiredSettings, WhatIsMissingSaysHowItCanBeGiven) {
  Example example;
  const auto problems = FindMissingSettings("gp-example", Table(example));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message, "state.dir is required");
  EXPECT_EQ(problems[0].hint,
            "give --state-dir DIR, GP_EXAMPLE_STATE_DIR or state.dir in --config");
  example.dir = "/s";
  EXPECT_TRUE(FindMissingSettings("gp-example", Table(example)).empty());
}

}  // namespace
}  // namespace gp::daemon
