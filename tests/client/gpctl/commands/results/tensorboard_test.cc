#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TensorBoardTest : public ::testing::Test {
 protected:
  TensorBoardTest() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    gpctl_.environment["PATH"] = gpctl_.home();
  }

  void AddRun(const std::string& name, const std::string& id, bool has_events) {
    v1::Run run = MakeRun(name, id, v1::RUN_STATE_RUNNING);
    run.set_run_directory(gpctl_.home() + "/runs/" + id);
    if (!has_events) run.clear_progress();
    service_.AddRun(run);
    std::filesystem::create_directories(run.run_directory());
    if (has_events) std::ofstream(run.run_directory() + "/events.out.tfevents.1.host") << "events";
  }

  // A stand-in that prints what it was given and what lies in its --logdir.
  void Install(const std::string& end = "exit 0") {
    const std::string path = gpctl_.home() + "/tensorboard";
    std::ofstream(path) << "#!/bin/sh\necho \"$*\"\nfor f in \"$2\"/*/*; do echo \"$f\"; done\n"
                        << end << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(TensorBoardTest, SaysHowToInstallIt) {
  AddRun("tiny", "aaaaaaaaaa", true);
  const Outcome outcome = gpctl_.Run({"tensorboard", "tiny"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("sudo apt install pipx && pipx install tensorboard"));
}

TEST_F(TensorBoardTest, ShowsTheEventFilesOfTheRunsUnderTheirNames) {
  Install();
  AddRun("base", "aaaaaaaaaa", true);
  AddRun("other", "bbbbbbbbbb", true);
  AddRun("third", "cccccccccc", true);
  const Outcome outcome = gpctl_.Run({"tensorboard", "base", "other", "--port", "7007"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("--port 7007"), HasSubstr("/base/events.out.tfevents.1.host"),
                    HasSubstr("/other/events.out.tfevents.1.host")));
  EXPECT_EQ(outcome.out.find("third"), std::string::npos);
  EXPECT_THAT(outcome.err, HasSubstr("http://localhost:7007/"));
  const size_t begin = outcome.out.find("--logdir ") + 9;
  const std::string directory = outcome.out.substr(begin, outcome.out.find(' ', begin) - begin);
  EXPECT_FALSE(FileExists(directory)) << "removed at the end";
  EXPECT_TRUE(FileExists(gpctl_.home() + "/runs/aaaaaaaaaa/events.out.tfevents.1.host"));
}

TEST_F(TensorBoardTest, LetsTensorBoardEndItself) {
  Install("trap 'echo ended in peace; exit 0' TERM\necho serving\nwhile true; do sleep 0.01; done");
  AddRun("tiny", "aaaaaaaaaa", true);
  gpctl_.interrupt_when_out_contains = "serving";
  const Outcome outcome = gpctl_.Run({"tensorboard", "tiny"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("ended in peace"));
  const size_t begin = outcome.out.find("--logdir ") + 9;
  EXPECT_FALSE(FileExists(outcome.out.substr(begin, outcome.out.find(' ', begin) - begin)));
}

TEST_F(TensorBoardTest, ExplainsWhatItCannotShow) {
  Install();
  AddRun("fresh", "aaaaaaaaaa", false);
  const Outcome none = gpctl_.Run({"tensorboard", "fresh"});
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, HasSubstr("fresh has no points yet"));
  v1::Run far = MakeRun("far", "bbbbbbbbbb", v1::RUN_STATE_RUNNING);
  far.set_run_directory("/no/such/mount/runs/bbbbbbbbbb");
  service_.AddRun(far);
  EXPECT_THAT(gpctl_.Run({"tensorboard", "far"}).err, HasSubstr("is not on this machine"));
  EXPECT_EQ(gpctl_.Run({"tensorboard", "missing"}).code, 3);
  Install("exit 9");
  AddRun("tiny", "cccccccccc", true);
  EXPECT_THAT(gpctl_.Run({"tensorboard", "tiny"}).err, HasSubstr("TensorBoard ended with code 9"));
}

}  // namespace
}  // namespace gp::testing
