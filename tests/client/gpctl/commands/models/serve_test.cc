// gpctl serve, with a small shell script in the place of gp-gateway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/service/private_gateway.h"
#include "formats/checkpoint_manifest.h"
#include "lib/base/eventually.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;

class ServeTest : public ::testing::Test {
 protected:
  ServeTest() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    checkpoint_ = gpctl_.home() + "/demo/checkpoints/step-00000250-e1-x";
    WriteManifest(checkpoint_, "demo");
  }

  static void WriteManifest(const std::string& directory, const std::string& run) {
    std::filesystem::create_directories(directory);
    std::ofstream(directory + "/manifest.json")
        << formats::FormatManifest({.run_name = run, .step = 250});
  }

  // Writes a stand-in for gp-gateway that runs until SIGTERM and records its end.
  void WriteGateway(const std::string& before = "") {
    const std::string path = gpctl_.home() + "/gp-gateway";
    std::ofstream(path) << "#!/bin/sh\n"
                        << before << "echo \"$@\" >\"$0.arguments\"\necho $$ >\"$0.pid\"\n"
                        << "while [ $# -gt 0 ]; do [ \"$1\" = --address-file ] && file=$2; shift; "
                           "done\n"
                           "trap 'echo stopped >\"$0.stopped\"; exit 0' TERM\n"
                           "echo '{\"address\": \"127.0.0.1:4711\", \"metrics\": \"m\", \"pid\": "
                           "'$$'}' >$file.new\nmv $file.new $file\n"
                           "while :; do sleep 0.02; done\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  std::string Written(const std::string& what) const {
    return ReadFile(gpctl_.home() + "/gp-gateway." + what).value_or("");
  }

  testing::FakeRunService service_;
  testing::GpctlRunner gpctl_;
  std::string checkpoint_;
};

TEST_F(ServeTest, ADirectoryIsServedWithoutAClusterUntilCtrlC) {
  WriteGateway();
  gpctl_.environment.erase("GPCTL_SERVER");
  gpctl_.interrupt_when_out_contains = "Ctrl-C";
  const Outcome outcome = gpctl_.Run(
      {"serve", checkpoint_, "--listen", "127.0.0.1:0", "--threads", "3", "--precision", "bf16"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("playground   http://127.0.0.1:4711/\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("curl http://127.0.0.1:4711/v1/completions -H 'Content-Type: "
                        "application/json' -d "
                        "'{\"model\":\"demo@250\",\"prompt\":\"The \",\"max_tokens\":40}'\n"));
  EXPECT_THAT(Written("arguments"), HasSubstr("--listen 127.0.0.1:0 "));
  EXPECT_THAT(Written("arguments"), HasSubstr("--model demo=" + checkpoint_ + " "));
  EXPECT_THAT(Written("arguments"), HasSubstr("--precision bf16 --threads 3"));
  EXPECT_EQ(Written("stopped"), "stopped\n") << "it could end in peace";
  EXPECT_EQ(outcome.err, "Stopped.\n");
}

TEST_F(ServeTest, ARunsDirectoryGoesByTheRunBecauseItsNewestCheckpointMoves) {
  WriteGateway();
  gpctl_.interrupt_when_out_contains = "Ctrl-C";
  const std::string run = gpctl_.home() + "/demo";
  EXPECT_THAT(gpctl_.Run({"serve", run}).out, HasSubstr("serving      demo   " + run + "\n"));
  EXPECT_THAT(Written("arguments"), HasSubstr("--model demo=" + run + " "));
}

TEST_F(ServeTest, ACheckpointThatNoRunWroteGoesByItsDirectory) {
  WriteGateway();
  gpctl_.interrupt_when_out_contains = "Ctrl-C";
  for (const char* run : {"", "a=b"}) {
    WriteManifest(gpctl_.home() + "/imported", run);
    EXPECT_THAT(gpctl_.Run({"serve", gpctl_.home() + "/imported"}).out,
                HasSubstr("serving      imported@250 "));
  }
}

TEST_F(ServeTest, ADirectoryWithoutACheckpointIsRefused) {
  WriteGateway();
  const std::string empty = gpctl_.home() + "/empty";
  std::filesystem::create_directory(empty);
  const Outcome outcome = gpctl_.Run({"serve", empty + "/"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr(empty));
  EXPECT_THAT(outcome.err, HasSubstr("it holds no checkpoint; expected a checkpoint (a directory "
                                     "with a manifest.json) or a run's directory"));
  const Outcome missing = gpctl_.Run({"serve", empty + "/nothing"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("there is no such directory"));
  std::ofstream(empty + "/manifest.json") << "{";
  EXPECT_EQ(gpctl_.Run({"serve", empty}).code, 9);
  EXPECT_EQ(Written("arguments"), "") << "no gateway was started";
}

TEST_F(ServeTest, ACheckpointOfARunGoesByRunAndStep) {
  WriteGateway();
  service_.AddRun(testing::MakeRun("demo", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));
  v1::Checkpoint checkpoint;
  checkpoint.set_step(250);
  checkpoint.set_best(true);
  checkpoint.set_directory(checkpoint_);
  service_.AddCheckpoint(checkpoint);
  gpctl_.interrupt_when_out_contains = "\"pid\"";
  const Outcome outcome = gpctl_.Run({"serve", "demo@best", "-o", "json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["model"], "demo@250");
  EXPECT_EQ(document["address"], "http://127.0.0.1:4711");
  EXPECT_EQ(document["checkpoint"], checkpoint_);
  EXPECT_THAT(Written("arguments"), HasSubstr("--model demo=" + checkpoint_ + " "));
  EXPECT_EQ(gpctl_.Run({"serve", "demo@7"}).code, 3);
}

TEST_F(ServeTest, ProblemsAreNamed) {
  const Outcome missing = gpctl_.Run({"serve", checkpoint_});
  EXPECT_EQ(missing.code, 5);
  EXPECT_THAT(missing.err, HasSubstr("gp-gateway is missing"));
  WriteGateway("exit 3\n");
  EXPECT_THAT(gpctl_.Run({"serve", checkpoint_}).err, HasSubstr("gp-gateway exited at startup"));
  EXPECT_EQ(gpctl_.Run({"serve", "./nothing"}).code, 3);
  EXPECT_EQ(gpctl_.Run({"serve", checkpoint_, "--listen", "0.0.0.0:0"}).code, 2);
  EXPECT_EQ(gpctl_.Run({"serve", checkpoint_, "--listen", "unix:/s"}).code, 2);
}

TEST_F(ServeTest, AGatewayThatDiesIsToldAndOneThatIsQuietIsQuoted) {
  WriteGateway();
  client::Interruption interruption;
  const PrivateGatewayOptions options{.program = gpctl_.home() + "/gp-gateway",
                                      .model = "m",
                                      .directory = checkpoint_,
                                      .quiet = true};
  auto gateway = PrivateGateway::Start(options, interruption);
  ASSERT_TRUE(gateway.ok()) << gateway.status();
  kill((*gateway)->pid(), SIGKILL);
  EXPECT_EQ((*gateway)->Await(interruption).code(), StatusCode::kInternal);
  WriteGateway("echo 'the port is taken' >&2; exit 1\n");
  EXPECT_THAT(Message(PrivateGateway::Start(options, interruption).status()),
              HasSubstr("the port is taken"));
}

}  // namespace
}  // namespace gp::gpctl
