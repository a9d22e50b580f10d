#include "daemon/program.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::daemon {
namespace {

// A daemon with three settings that records how it is called.
class AnyDaemon : public ::testing::Test {
 protected:
  AnyDaemon() {
    program_ = {.name = "gp-example",
                .summary = "is an example.",
                .version = "1.2.3",
                .settings = {{.field = {.path = "node.name", .doc = "Its name. Any text."},
                              .slot = &name_,
                              .flag = "--name",
                              .value_name = "TEXT"},
                             {.field = {.path = "node.slots", .doc = "How many.", .max = 9},
                              .slot = &slots_,
                              .flag = "--slots",
                              .value_name = "COUNT"},
                             {.field = {.path = "node.labels", .doc = "Some."},
                              .slot = &labels_,
                              .flag = "--label",
                              .value_name = "TEXT"},
                             {.field = {.path = "node.open", .doc = "Whether."},
                              .slot = &open_,
                              .flag = "--open"},
                             {.field = {.path = "state.dir", .doc = "Where it keeps things."},
                              .slot = &dir_,
                              .flag = "--state-dir",
                              .value_name = "DIR",
                              .required = true}},
                .check = [this] { return slots_ == 7 ? verdict_ : OkStatus(); },
                .metrics = [] { return "gp_example 1\n"; },
                .reports = {{"--print-name", "Print the name and leave",
                             [this]() -> StatusOr<std::string> { return name_ + "\n"; }},
                            {"--print-fault", "Fail",
                             []() -> StatusOr<std::string> { return NotFound("no fault"); }}},
                .actions = {{"--greet", "WHOM", "Greet and leave",
                             [this](const std::string& whom) -> StatusOr<std::string> {
                               ++actions_;
                               if (whom == "nobody") return InvalidArgument("nobody to greet");
                               return name_ + " greets " + whom + "\n";
                             }},
                            {"--dismiss", "WHOM", "Dismiss and leave",
                             [this](const std::string& whom) -> StatusOr<std::string> {
                               ++actions_;
                               return name_ + " dismisses " + whom + "\n";
                             }}},
                .run =
                    [this](const Runtime& runtime) {
                      ++runs_;
                      address_file_ = runtime.address_file;
                      return outcome_;
                    }};
  }

  int Run(const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment = {}) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = Main(program_, {arguments, environment, out, err});
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  std::string ConfigFile(const std::string& text) {
    const std::string path = directory_.File("config.yaml");
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }

  TemporaryDirectory directory_;
  std::string name_ = "default";
  int slots_ = 1;
  bool open_ = false;
  std::vector<std::string> labels_;
  std::string dir_;
  Status outcome_ = OkStatus();
  Status verdict_ = InvalidArgument("seven");  // the result of checking seven slots
  int runs_ = 0;
  int actions_ = 0;
  std::string address_file_;
  Program program_;
  std::string out_, err_;
};

TEST_F(AnyDaemon, AFlagOfAListIsGivenOnceForEachElement) {
  EXPECT_EQ(Run({"--state-dir", "/d", "--label", "a=b", "--label", "c: [d], 'e'"}), 0) << err_;
  EXPECT_EQ(labels_, (std::vector<std::string>{"a=b", "c: [d], 'e'"}));
}

TEST_F(AnyDaemon, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  const std::string config = ConfigFile("node: {name: file, slots: 2}\nstate: {dir: /file}\n");
  EXPECT_EQ(Run({"--config", config, "--name", "flag", "--address-file", "/a"},
                {"GP_EXAMPLE_NODE_NAME=environment", "GP_EXAMPLE_NODE_SLOTS=3"}),
            0)
      << err_;
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(name_, "flag");
  EXPECT_EQ(slots_, 3);
  EXPECT_EQ(dir_, "/file");
  EXPECT_EQ(address_file_, "/a");
}

TEST_F(AnyDaemon, TheFlagOfAYesOrNoHasNoValue) {
  EXPECT_EQ(Run({"--open", "--state-dir", "/s"}), 0) << err_;
  EXPECT_TRUE(open_);
  EXPECT_EQ(Run({"--state-dir", "/s"}, {"GP_EXAMPLE_NODE_OPEN=false"}), 0) << err_;
  EXPECT_FALSE(open_);
  EXPECT_EQ(Run({"--state-dir", "/s"}, {"GP_EXAMPLE_NODE_OPEN=1"}), 2);
}

TEST_F(AnyDaemon, ProblemsOfAllSourcesAreToldAtOnceAndExitTwo) {
  const std::string config = ConfigFile("node:\n  slot: 2\n");
  EXPECT_EQ(Run({"--config", config, "--slots", "12"}, {"GP_EXAMPLE_NODE_SLOTS=many"}), 2);
  EXPECT_NE(err_.find("config.yaml:2:3: unknown key 'node.slot'"), std::string::npos) << err_;
  EXPECT_NE(err_.find("error: GP_EXAMPLE_NODE_SLOTS: node.slots must be"), std::string::npos)
      << err_;
  EXPECT_NE(err_.find("error: --slots: must be a whole number, not '12'"), std::string::npos)
      << err_;
  EXPECT_EQ(runs_, 0);
}

TEST_F(AnyDaemon, WhatIsMissingOrDoesNotFitTogetherExitsTwo) {
  EXPECT_EQ(Run({}), 2);
  EXPECT_NE(err_.find("state.dir is required"), std::string::npos) << err_;
  EXPECT_NE(err_.find("--state-dir DIR"), std::string::npos) << err_;
  EXPECT_EQ(Run({"--state-dir", "/s", "--slots", "7"}), 2);
  EXPECT_NE(err_.find("error: seven"), std::string::npos) << err_;
  EXPECT_EQ(runs_, 0);
}

TEST_F(AnyDaemon, AnUnknownFlagOrAConfigFileThatIsNotThereExitsTwo) {
  EXPECT_EQ(Run({"--slotz", "3"}), 2);
  EXPECT_NE(err_.find("--slotz"), std::string::npos) << err_;
  EXPECT_EQ(Run({"--config", "/nonexistent.yaml"}), 2);
  EXPECT_NE(err_.find("/nonexistent.yaml"), std::string::npos) << err_;
}

TEST_F(AnyDaemon, ARunThatFailsIsToldInOneLineAndExitsOne) {
  outcome_ = FailedPrecondition("the port is in use");
  EXPECT_EQ(Run({"--state-dir", "/s"}), 1);
  EXPECT_EQ(err_, "gp-example: the port is in use\n");
}

TEST_F(AnyDaemon, WhatItsSettingsNameAndIsMissingHasTheExitCodeOfThat) {
  verdict_ = NotFound("there is no /model");
  EXPECT_EQ(Run({"--state-dir", "/s", "--slots", "7"}), 3);
  EXPECT_EQ(err_, "error: there is no /model\n");
  EXPECT_EQ(runs_, 0);
}

TEST_F(AnyDaemon, CheckConfigReadsAllSourcesAndDoesNotRun) {
  EXPECT_EQ(Run({"--state-dir", "/s", "--check-config"}), 0);
  EXPECT_EQ(out_, "settings are valid\n");
  EXPECT_EQ(Run({"--check-config"}, {"GP_EXAMPLE_STATE_DIR=/s", "GP_EXAMPLE_NODE_SLOTS=x"}), 2);
  EXPECT_EQ(runs_, 0);
}

TEST_F(AnyDaemon, ReportsNeedOnlyTheSettingsTheyShow) {
  EXPECT_EQ(Run({"--print-metrics"}), 0);
  EXPECT_EQ(out_, "gp_example 1\n");
  EXPECT_EQ(Run({"--print-name"}, {"GP_EXAMPLE_NODE_NAME=ada"}), 0);
  EXPECT_EQ(out_, "ada\n");
  EXPECT_EQ(Run({"--print-fault"}), 1);
  EXPECT_EQ(err_, "gp-example: no fault\n");
  EXPECT_EQ(runs_, 0);
}

TEST_F(AnyDaemon, ActionsGetTheirValueAndNeedOnlyTheSettingsTheyUse) {
  EXPECT_EQ(Run({"--greet", "bob", "--name", "ada"}), 0);
  EXPECT_EQ(out_, "ada greets bob\n");
  EXPECT_EQ(Run({"--greet", "nobody"}), 1);
  EXPECT_EQ(err_, "gp-example: nobody to greet\n");
  EXPECT_EQ(Run({"--greet", ""}), 2);
  EXPECT_EQ(err_, "--greet: the value is empty\nRun with --help for more information.\n");
  EXPECT_EQ(runs_, 0);
}

TEST_F(AnyDaemon, OfFlagsThatDoOneThingOnlyOneMayBeGiven) {
  EXPECT_EQ(Run({"--greet", "bob", "--dismiss", "eve"}), 2);
  EXPECT_EQ(err_, "gp-example: --greet and --dismiss cannot be used together; give one of them\n");
  EXPECT_EQ(Run({"--check-config", "--greet", "bob", "--state-dir", "/s"}), 2);
  EXPECT_EQ(err_,
            "gp-example: --check-config and --greet cannot be used together; give one of them\n");
  EXPECT_EQ(Run({"--print-name", "--print-fault"}), 2);
  EXPECT_EQ(Run({"--explain", "all", "--print-metrics"}), 2);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(actions_, 0);
  EXPECT_EQ(runs_, 0);
}

TEST_F(AnyDaemon, VersionHelpAndExplainAreNoErrors) {
  EXPECT_EQ(Run({"--version"}), 0);
  EXPECT_EQ(out_, "gp-example 1.2.3\n");
  EXPECT_EQ(Run({"--help"}), 0);
  for (const char* part :
       {"is an example.", "--name TEXT", "Its name\n", "--print-name", "GP_EXAMPLE_STATE_DIR"}) {
    EXPECT_NE(out_.find(part), std::string::npos) << part << " not in\n" << out_;
  }
  EXPECT_EQ(Run({"--explain", "all"}), 0);
  EXPECT_NE(out_.find("node.slots"), std::string::npos) << out_;
  EXPECT_EQ(Run({"--explain", "node.slot"}), 2);
  EXPECT_NE(err_.find("did you mean 'node.slots'?"), std::string::npos) << err_;
}

TEST_F(AnyDaemon, ExplainsAKeyWithItsDefaultFlagAndVariable) {
  EXPECT_EQ(Run({"--explain", "node.slots"}, {"GP_EXAMPLE_NODE_SLOTS=5"}), 0);
  EXPECT_EQ(out_,
            "node.slots\n"
            "  How many.\n"
            "  must be   a whole number\n"
            "  default   1\n"
            "  flag      --slots COUNT\n"
            "  variable  GP_EXAMPLE_NODE_SLOTS\n");
}

}  // namespace
}  // namespace gp::daemon
